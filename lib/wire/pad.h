// SPDX-License-Identifier: Apache-2.0
// PAD, RFC 4820 3: makes a packet longer; its value means nothing.
//
//   | type 132 (1) | flags 0 (1) | length (2) | padding ... |
#pragma once
#include "wire/chunk_writer.h"

namespace signalbox::wire {

/// Fills the packet up to `bytes`; what is too little for a chunk header stays unfilled.
constexpr void write_pad_up_to(PacketWriter& out, std::size_t bytes) {
    if (bytes < out.size() + kTlvHeader) return;
    const std::size_t value = bytes - out.size() - kTlvHeader;
    out.begin_chunk(ChunkType::pad);
    for (std::uint8_t& byte : out.claim(value)) byte = 0;
    out.end_chunk();
}

}  // namespace signalbox::wire
