// SPDX-License-Identifier: Apache-2.0
// Packets that no endpoint of ours would send.
#pragma once
#include "pair.h"
#include "wire/sack.h"

namespace signalbox::sctp::test {

inline constexpr std::uint32_t kCraftedTag = 0x11223344;

struct InitFields {
    std::uint32_t initiate_tag = kCraftedTag;
    std::uint32_t a_rwnd = 100000;
    std::uint16_t streams_out = 10;
    std::uint16_t streams_in = 10;
    std::uint32_t tsn = 1000;
};

inline void append_chunk(InFlight& packet, std::uint8_t type, std::uint8_t flags,
                         const std::vector<std::uint8_t>& value) {
    const std::size_t length = 4 + value.size();
    packet.bytes.insert(packet.bytes.end(), {type, flags, static_cast<std::uint8_t>(length >> 8),
                                             static_cast<std::uint8_t>(length)});
    packet.bytes.insert(packet.bytes.end(), value.begin(), value.end());
    while (packet.bytes.size() % 4 != 0) packet.bytes.push_back(0);
}
inline void set_tag(InFlight& packet, std::uint32_t tag) {
    wire::store_u32(packet.bytes, 4, tag);
}
inline std::uint32_t tag_of(const InFlight& packet) {
    return wire::load_u32(packet.bytes, 4);
}
/// From a to z, without chunks.
inline InFlight packet_to_z(std::uint32_t tag) {
    InFlight packet{kA1, kZ1, std::vector<std::uint8_t>(12)};
    wire::write_sctp_header(packet.bytes, {kPortA, kPortZ, VerificationTag{tag}});
    return packet;
}
/// With the tag that z expects.
inline InFlight packet_to_z(const Pair& pair) {
    return packet_to_z(pair.z.association->local_tag().value);
}
inline std::vector<std::uint8_t> be32(std::initializer_list<std::uint32_t> words) {
    std::vector<std::uint8_t> bytes;
    for (const std::uint32_t w : words)
        for (unsigned shift = 32; shift != 0; shift -= 8)
            bytes.push_back(static_cast<std::uint8_t>(w >> (shift - 8)));
    return bytes;
}
inline InFlight init_packet(const std::vector<std::uint8_t>& parameters, InitFields f = {}) {
    InFlight packet = packet_to_z(std::uint32_t{0});
    std::vector<std::uint8_t> value =
        be32({f.initiate_tag, f.a_rwnd, std::uint32_t{f.streams_out} << 16 | f.streams_in, f.tsn});
    value.insert(value.end(), parameters.begin(), parameters.end());
    append_chunk(packet, 1, 0, value);
    return packet;
}
/// The COOKIE ECHO that answers an INIT ACK to init_packet().
inline InFlight cookie_echo_for(const InFlight& init_ack) {
    InFlight packet = packet_to_z(wire::load_u32(init_ack.bytes, 16));
    wire::ParameterWalker walker{std::span{init_ack.bytes}.subspan(32)};
    while (const auto parameter = walker.next())
        if (parameter->type == 7)
            append_chunk(packet, 10, 0, {parameter->value.begin(), parameter->value.end()});
    return packet;
}
/// A DATA chunk; flags: 1 end, 2 begin, 4 unordered, 8 immediate.
inline void append_data(InFlight& packet, std::uint32_t tsn, std::uint16_t stream,
                        std::uint16_t ssn, std::uint8_t flags, std::string_view data) {
    std::vector<std::uint8_t> value = be32({tsn, std::uint32_t{stream} << 16 | ssn, 3});
    value.insert(value.end(), data.begin(), data.end());
    append_chunk(packet, 0, flags, value);
}

/// z is up with a crafted peer: DATA starts at TSN 1000, the peer never moves by itself.
struct Crafted : Pair {
    explicit Crafted(Profile profile = {}, const std::vector<std::uint8_t>& init_parameters = {},
                     InitFields fields = {})
        : Pair(77, profile) {
        z.input(init_packet(init_parameters, fields));
        const InFlight echo = cookie_echo_for(z.sink.sent[0]);
        z.sink.sent.clear();
        z.input(echo);
        capture();
        my_tsn = 0;
    }
    void data(std::uint32_t tsn, std::uint16_t stream, std::uint16_t ssn, std::uint8_t flags,
              std::string_view text) {
        InFlight packet = packet_to_z(*this);
        append_data(packet, tsn, stream, ssn, flags, text);
        z.input(packet);
    }
    void chunk(std::uint8_t type, std::uint8_t flags, const std::vector<std::uint8_t>& value) {
        InFlight packet = packet_to_z(*this);
        append_chunk(packet, type, flags, value);
        z.input(packet);
    }
    /// The last SACK that z sends now.
    std::optional<wire::Sack> sack() {
        kept = capture();
        for (auto p = kept.rbegin(); p != kept.rend(); ++p) {
            wire::ChunkWalker walker{std::span{p->bytes}.subspan(12)};
            while (const auto c = walker.next())
                if (c->type == 3) return wire::parse_sack(c->value);
        }
        return std::nullopt;
    }
    std::uint32_t my_tsn;
    std::vector<InFlight> kept;
};

}  // namespace signalbox::sctp::test
