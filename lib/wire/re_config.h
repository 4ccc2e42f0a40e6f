// SPDX-License-Identifier: Apache-2.0
// RE-CONFIG, RFC 6525 3 and 4: one or two parameters, each a request with a number of its own or a
// response to one.
//
//   13 outgoing SSN reset | number (4) | number answered (4) | last TSN (4) | N x stream (2) |
//   14 incoming SSN reset | number (4) | N x stream (2) |
//   15 SSN/TSN reset      | number (4) |
//   16 response           | number (4) | result (4) | [sender's next TSN (4) | receiver's (4)] |
//   17 add outgoing, 18 add incoming streams | number (4) | how many (2) | reserved (2) |
#pragma once
#include "base/numbers.h"
#include "wire/parameters.h"

namespace signalbox::wire {

using RequestNumber = SerialNumber<struct RequestNumberTag, std::uint32_t>;

enum class ReconfigResult : std::uint8_t {  // RFC 6525 4.4
    nothing_to_do = 0,
    performed = 1,
    denied = 2,
    wrong_ssn = 3,
    already_in_progress = 4,
    bad_sequence_number = 5,
    in_progress = 6,
};

/// Any of the requests.
struct ReconfigRequest {
    ParameterType type{};
    RequestNumber number;
    RequestNumber answers;    // outgoing reset: the incoming reset request that asked for it
    Tsn last_tsn;             // outgoing reset
    std::uint16_t count = 0;  // of streams to add
    Bytes streams;            // 2 bytes each; none: all

    constexpr std::size_t stream_count() const { return streams.size() / 2; }
    constexpr StreamId stream(std::size_t i) const { return StreamId{load_u16(streams, 2 * i)}; }
};

struct ReconfigResponse {
    RequestNumber number;
    std::uint32_t result = 0;
    bool has_tsns = false;
    Tsn sender_next;    // the one who answers goes on with it
    Tsn receiver_next;  // the one who asked goes on with it
};

/// nullopt: not a request, or of a wrong length.
constexpr std::optional<ReconfigRequest> parse_reconfig_request(const Parameter& p) {
    ReconfigRequest r;
    r.type = static_cast<ParameterType>(p.type);
    if (p.value.size() < 4 || p.value.size() % 2 != 0) return std::nullopt;
    r.number = {load_u32(p.value, 0)};
    switch (r.type) {
        case ParameterType::outgoing_ssn_reset:
            if (p.value.size() < 12) return std::nullopt;
            r.answers = {load_u32(p.value, 4)};
            r.last_tsn = {load_u32(p.value, 8)};
            r.streams = p.value.subspan(12);
            return r;
        case ParameterType::incoming_ssn_reset:
            r.streams = p.value.subspan(4);
            return r;
        case ParameterType::ssn_tsn_reset:
            if (p.value.size() != 4) return std::nullopt;
            return r;
        case ParameterType::add_outgoing_streams:
        case ParameterType::add_incoming_streams:
            if (p.value.size() != 8) return std::nullopt;
            r.count = load_u16(p.value, 4);
            return r;
        default:
            return std::nullopt;
    }
}

constexpr std::optional<ReconfigResponse> parse_reconfig_response(const Parameter& p) {
    if (p.type != code(ParameterType::re_configuration_response)) return std::nullopt;
    if (p.value.size() != 8 && p.value.size() != 16) return std::nullopt;
    ReconfigResponse r;
    r.number = {load_u32(p.value, 0)};
    r.result = load_u32(p.value, 4);
    r.has_tsns = p.value.size() == 16;
    if (r.has_tsns) {
        r.sender_next = {load_u32(p.value, 8)};
        r.receiver_next = {load_u32(p.value, 12)};
    }
    return r;
}

/// Inside an open RE-CONFIG.
constexpr void write_reconfig_request(PacketWriter& out, const ReconfigRequest& r) {
    out.begin_parameter(code(r.type));
    out.u32(r.number.value);
    if (r.type == ParameterType::outgoing_ssn_reset) {
        out.u32(r.answers.value);
        out.u32(r.last_tsn.value);
    }
    if (r.type == ParameterType::add_outgoing_streams ||
        r.type == ParameterType::add_incoming_streams) {
        out.u16(r.count);
        out.u16(0);
    }
    out.bytes(r.streams);
    out.end_parameter();
}

constexpr void write_reconfig_response(PacketWriter& out, const ReconfigResponse& r) {
    out.begin_parameter(code(ParameterType::re_configuration_response));
    out.u32(r.number.value);
    out.u32(r.result);
    if (r.has_tsns) {
        out.u32(r.sender_next.value);
        out.u32(r.receiver_next.value);
    }
    out.end_parameter();
}

}  // namespace signalbox::wire
