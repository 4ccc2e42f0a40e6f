// SPDX-License-Identifier: Apache-2.0
// An endpoint in each of the seven states that have an association, and packets to it.
#pragma once
#include <array>
#include <string_view>

#include "crafted.h"

namespace signalbox::sctp::test {

inline constexpr std::array kOpenStates{State::cookie_wait,      State::cookie_echoed,
                                        State::established,      State::shutdown_pending,
                                        State::shutdown_sent,    State::shutdown_received,
                                        State::shutdown_ack_sent};

constexpr std::string_view name_of(State state) {
    constexpr std::array<std::string_view, 8> names{
        "CLOSED",           "COOKIE-WAIT",   "COOKIE-ECHOED",     "ESTABLISHED",
        "SHUTDOWN-PENDING", "SHUTDOWN-SENT", "SHUTDOWN-RECEIVED", "SHUTDOWN-ACK-SENT"};
    return names[static_cast<std::size_t>(state)];
}

/// `a`, the client, is in the wanted state; what it sent on the way is off the wire, in `said`.
struct InState : Pair {
    explicit InState(State wanted, Profile profile = {}, std::vector<IpAddress> at_a = {kA1},
                     std::vector<IpAddress> at_z = {kZ1})
        : Pair(31, profile, std::move(at_a), std::move(at_z)) {
        a.listening = false;
        a.connect({kZ1}, kPortA, kPortZ);
        if (wanted == State::cookie_wait) {
            said = capture();
            return;
        }
        if (wanted == State::cookie_echoed) {
            deliver(capture().at(0));
            deliver(capture().at(0));
            said = capture();
            return;
        }
        exchange();
        switch (wanted) {
            case State::shutdown_pending:
                a.send(0, "unacknowledged");
                said = capture();
                a.shutdown();
                break;
            case State::shutdown_sent:
                a.shutdown();
                break;
            case State::shutdown_received:
                a.send(0, "unacknowledged");
                said = capture();
                [[fallthrough]];
            case State::shutdown_ack_sent:
                z.shutdown();
                deliver(capture().at(0));
                break;
            default:
                break;
        }
        for (InFlight& packet : capture()) said.push_back(std::move(packet));
    }
    std::uint32_t own_tag() const { return a.association->local_tag().value; }
    std::uint32_t peer_tag() const { return a.association->remote_tag().value; }
    /// From z to a, without chunks.
    InFlight packet(std::uint32_t tag) const {
        InFlight p{kZ1, kA1, std::vector<std::uint8_t>(12)};
        wire::write_sctp_header(p.bytes, {kPortZ, kPortA, VerificationTag{tag}});
        return p;
    }
    /// One chunk under the right tag; what a says to it.
    std::vector<InFlight> chunk(std::uint8_t type, std::uint8_t flags = 0,
                                const std::vector<std::uint8_t>& value = {}) {
        InFlight p = packet(own_tag());
        append_chunk(p, type, flags, value);
        a.input(p);
        return capture();
    }
    std::vector<InFlight> said;
};

/// All that an association is, byte for byte: between two equal ones nothing changed.
inline std::vector<std::uint8_t> picture(const Endpoint& e) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&*e.association);
    return {bytes, bytes + sizeof(Association)};
}

/// The value of the first chunk of this type; empty when there is none.
inline std::vector<std::uint8_t> value_of(const InFlight& packet, std::uint8_t type) {
    wire::ChunkWalker walker{std::span{packet.bytes}.subspan(12)};
    while (const auto chunk = walker.next())
        if (chunk->type == type) return {chunk->value.begin(), chunk->value.end()};
    return {};
}

using Types = std::vector<std::uint8_t>;

}  // namespace signalbox::sctp::test
