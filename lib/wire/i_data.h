// SPDX-License-Identifier: Apache-2.0
// I-DATA, RFC 8260 2.1: messages may be interleaved, for each fragment says which message it is of.
//
//   | type 64 (1) | res I U B E (1) | length (2) |
//   | TSN (4) | stream (2) | reserved (2) | MID (4) | PPID or FSN (4) | user data ... |
//
// The first fragment (B) has the PPID and is number 0, the others have their number (FSN).
#pragma once
#include "wire/data.h"

namespace signalbox::wire {

struct IData {
    static constexpr std::size_t kFixed = 16;
    static constexpr std::size_t kOverhead = kTlvHeader + kFixed;  // 20 bytes before the user data

    std::uint8_t flags = Data::kBegin | Data::kEnd;  // as of DATA
    Tsn tsn;
    StreamId stream;
    Mid mid;
    std::uint32_t ppid_or_fsn = 0;
    Bytes payload;

    constexpr bool begin() const { return (flags & Data::kBegin) != 0; }
    constexpr Ppid ppid() const { return Ppid{begin() ? ppid_or_fsn : 0}; }
    constexpr std::uint32_t fsn() const { return begin() ? 0 : ppid_or_fsn; }
};

constexpr std::optional<IData> parse_i_data(const Chunk& chunk) {
    const auto r = FixedReader<IData::kFixed>::over(chunk.value);
    if (!r) return std::nullopt;
    return IData{chunk.flags,      Tsn{r->u32<0>()}, StreamId{r->u16<4>()},
                 Mid{r->u32<8>()}, r->u32<12>(),     r->rest()};
}

/// Begins the chunk and writes its fixed part; the caller appends the user data and ends the chunk.
constexpr void begin_i_data(PacketWriter& out, const IData& data) {
    out.begin_chunk(ChunkType::i_data, data.flags);
    out.u32(data.tsn.value);
    out.u16(data.stream.value);
    out.u16(0);
    out.u32(data.mid.value);
    out.u32(data.ppid_or_fsn);
}

}  // namespace signalbox::wire
