// SPDX-License-Identifier: Apache-2.0
// Error causes of ABORT and ERROR, RFC 9260 3.3.10. Each is written inside an open ABORT or ERROR
// chunk.
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

enum class Cause : std::uint16_t {
    invalid_stream = 1,
    missing_parameter = 2,
    stale_cookie = 3,
    out_of_resource = 4,
    unresolvable_address = 5,
    unrecognized_chunk = 6,
    invalid_mandatory_parameter = 7,
    unrecognized_parameters = 8,
    no_user_data = 9,
    cookie_while_shutting_down = 10,
    restart_with_new_addresses = 11,
    user_initiated_abort = 12,
    protocol_violation = 13,
    delete_last_address = 160,  // RFC 5061
    refused_resource_shortage = 161,
    delete_source_address = 162,
    illegal_asconf_ack = 163,
    no_authorization = 164,
    unsupported_hmac = 261,  // RFC 4895
};

constexpr std::uint16_t code(Cause cause) {
    return static_cast<std::uint16_t>(cause);
}

/// First cause code of an ABORT or ERROR; 0 when there is none or its length lies.
constexpr std::uint16_t first_cause(Bytes value) {
    const auto cause = ParameterWalker{value}.next();
    return cause ? cause->type : std::uint16_t{0};
}
/// True when a well-formed cause of this code is among them (P13: bounded by the chunk's length).
constexpr bool has_cause(Bytes value, Cause wanted) {
    ParameterWalker walker{value};
    while (const auto cause = walker.next())
        if (cause->type == code(wanted)) return true;
    return false;
}

constexpr void write_cause(PacketWriter& out, Cause cause, Bytes information = {}) {
    out.parameter(code(cause), information);
}
constexpr void write_cause_invalid_stream(PacketWriter& out, StreamId stream) {
    out.begin_parameter(code(Cause::invalid_stream));
    out.u16(stream.value);
    out.u16(0);
    out.end_parameter();
}
constexpr void write_cause_missing_parameter(PacketWriter& out, std::uint16_t parameter_type) {
    out.begin_parameter(code(Cause::missing_parameter));
    out.u32(1);  // number of missing parameters
    out.u16(parameter_type);
    out.end_parameter();
}
/// Measure of staleness in microseconds (3.3.10.3).
constexpr void write_cause_stale_cookie(PacketWriter& out, std::uint32_t staleness_us) {
    out.begin_parameter(code(Cause::stale_cookie));
    out.u32(staleness_us);
    out.end_parameter();
}
constexpr void write_cause_no_user_data(PacketWriter& out, Tsn tsn) {
    out.begin_parameter(code(Cause::no_user_data));
    out.u32(tsn.value);
    out.end_parameter();
}
/// PKT-3: what is quoted back is cut so that the packet fits; 0 to 3 bytes are kept for padding.
constexpr void write_cause_quoting(PacketWriter& out, Cause cause, Bytes quoted) {
    const std::size_t before = padded_to_4(out.size()) - out.size();
    if (out.room() < before + kTlvHeader) return;
    const std::size_t fits = (out.room() - before - kTlvHeader) & ~std::size_t{3};
    write_cause(out, cause, quoted.first(quoted.size() < fits ? quoted.size() : fits));
}

/// A whole ABORT; `reflected_tag` sets T (8.5.1).
constexpr void write_abort(PacketWriter& out, bool reflected_tag) {
    out.chunk(ChunkType::abort, reflected_tag ? kFlagT : std::uint8_t{0});
}
constexpr void write_abort(PacketWriter& out, bool reflected_tag, Cause cause,
                           Bytes information = {}) {
    out.begin_chunk(ChunkType::abort, reflected_tag ? kFlagT : std::uint8_t{0});
    write_cause(out, cause, information);
    out.end_chunk();
}

}  // namespace signalbox::wire
