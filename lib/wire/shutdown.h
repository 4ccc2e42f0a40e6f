// SPDX-License-Identifier: Apache-2.0
// SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE, RFC 9260 3.3.8, 3.3.9 and 3.3.13.
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

/// The cumulative TSN of a SHUTDOWN; the chunk's length is exactly 8.
constexpr std::optional<Tsn> parse_shutdown(Bytes value) {
    if (value.size() != 4) return std::nullopt;
    return Tsn{load_u32(value, 0)};
}
constexpr void write_shutdown(PacketWriter& out, Tsn cumulative) {
    out.begin_chunk(ChunkType::shutdown);
    out.u32(cumulative.value);
    out.end_chunk();
}
constexpr void write_shutdown_ack(PacketWriter& out) {
    out.chunk(ChunkType::shutdown_ack);
}
constexpr void write_shutdown_complete(PacketWriter& out, bool reflected_tag) {
    out.chunk(ChunkType::shutdown_complete, reflected_tag ? kFlagT : std::uint8_t{0});
}

}  // namespace signalbox::wire
