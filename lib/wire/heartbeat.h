// SPDX-License-Identifier: Apache-2.0
// HEARTBEAT and HEARTBEAT ACK, RFC 9260 3.3.5 and 3.3.6: one parameter, opaque to the receiver.
#pragma once
#include "wire/chunk_writer.h"
#include "wire/parameters.h"

namespace signalbox::wire {

/// The information of the Heartbeat Info parameter; nullopt when the chunk holds anything but that
/// one parameter.
constexpr std::optional<Bytes> parse_heartbeat_info(Bytes value) {
    ParameterWalker walker{value};
    const auto info = walker.next();
    if (!info || info->type != code(ParameterType::heartbeat_info)) return std::nullopt;
    if (walker.next() || walker.malformed()) return std::nullopt;
    return info->value;
}

constexpr void write_heartbeat(PacketWriter& out, Bytes info) {
    out.begin_chunk(ChunkType::heartbeat);
    out.parameter(code(ParameterType::heartbeat_info), info);
    out.end_chunk();
}
/// Gives back the HEARTBEAT's whole value, as it came.
constexpr void write_heartbeat_ack(PacketWriter& out, Bytes heartbeat_value) {
    out.chunk(ChunkType::heartbeat_ack, 0, heartbeat_value);
}

}  // namespace signalbox::wire
