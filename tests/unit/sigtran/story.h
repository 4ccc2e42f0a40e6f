// SPDX-License-Identifier: Apache-2.0
// A gateway and what it says, as text. The decoder is written from RFC 4666 and shares nothing with
// lib/wire.
#pragma once
#include <catch2/catch.hpp>
#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "sigtran/signaling_gateway.h"

namespace signalbox::sigtran::test {

using namespace std::chrono_literals;
using Message = std::vector<std::uint8_t>;
using Said = std::vector<std::string>;

// building blocks of messages, octet by octet
Message parameter(unsigned tag, const Message& value);
Message numbers(unsigned tag, std::initializer_list<std::uint32_t> values);
Message message(unsigned message_class, unsigned type,
                std::initializer_list<Message> parameters = {});
inline Message rc(std::initializer_list<std::uint32_t> values) {
    return numbers(0x0006, values);
}
inline Message mode(std::uint32_t value) {
    return numbers(0x000b, {value});
}
inline Message asp_id(std::uint32_t value) {
    return numbers(0x0011, {value});
}
inline Message na(std::uint32_t value) {
    return numbers(0x0200, {value});
}
inline Message affected(std::initializer_list<std::uint32_t> values) {
    return numbers(0x0012, values);
}
inline Message congestion(std::uint32_t level) {
    return numbers(0x0205, {level});
}

using Parameters = std::initializer_list<Message>;
inline Message aspup(Parameters p = {}) {
    return message(3, 1, p);
}
inline Message aspdn(Parameters p = {}) {
    return message(3, 2, p);
}
inline Message beat(Parameters p = {}) {
    return message(3, 3, p);
}
inline Message aspac(Parameters p = {}) {
    return message(4, 1, p);
}
inline Message aspia(Parameters p = {}) {
    return message(4, 2, p);
}
inline Message daud(Parameters p = {}) {
    return message(2, 3, p);
}
inline Message scon(Parameters p = {}) {
    return message(2, 4, p);
}
inline Message err(std::uint32_t code) {
    return message(0, 0, {numbers(0x000c, {code})});
}

struct Label {
    std::uint32_t opc = 0x11;
    std::uint32_t dpc = 0x22;
    std::uint8_t si = 3;
    std::uint8_t ni = 2;
    std::uint8_t mp = 0;
    std::uint8_t sls = 5;
};
Message protocol_data(const Label& label = {}, const Message& user = {0xde, 0xad, 0xbe, 0xef});
inline Message data(Parameters p) {
    return message(1, 1, p);
}

/// "NTFY status=1/3 asp=7 rc=100,200": name, then the parameters in their order.
std::string text_of(std::span<const std::uint8_t> message);

inline constexpr PeerIndex A{0}, B{1}, C{2}, D{3};

AsSettings server(std::optional<std::uint32_t> context, std::uint32_t dpc,
                  std::initializer_list<PeerIndex> members,
                  TrafficMode traffic_mode = TrafficMode::loadshare);

struct Story {
    explicit Story(std::vector<AsSettings> servers, std::vector<PeerSettings> peers = {});

    /// Feeds one message and returns all that is said then: "<peer> <message>", e.g. "A ASPUP_ACK".
    Said tell(PeerIndex from, const Message& m, std::uint16_t stream = 0);
    Said refuse(PeerIndex from, const Message& m, Drop why, std::uint16_t stream = 1);
    Said associate(PeerIndex peer);
    Said restart(PeerIndex peer);
    Said lose(PeerIndex peer);
    Said wait(Duration time);
    /// Associated and INACTIVE, or ACTIVE in all its AS; nothing of what is said remains.
    void inactive(PeerIndex peer);
    void active(PeerIndex peer);

    AspState asp(PeerIndex peer, std::uint32_t as = 0) const {
        return gateway.asp_state(AsIndex{as}, peer);
    }
    AsState as(std::uint32_t index = 0) const { return gateway.as_state(AsIndex{index}); }
    Said heard();

    Counters counters;
    SignalingGateway gateway;
    Time now{10s};
};

}  // namespace signalbox::sigtran::test

namespace Catch {
template <>
struct StringMaker<signalbox::sigtran::AspState> {
    static std::string convert(signalbox::sigtran::AspState s);
};
template <>
struct StringMaker<signalbox::sigtran::AsState> {
    static std::string convert(signalbox::sigtran::AsState s);
};
}  // namespace Catch
