// SPDX-License-Identifier: Apache-2.0
// DATA, RFC 9260 3.3.1; the I bit is RFC 7053.
//
//   | type 0 (1) | res I U B E (1) | length (2) |
//   | TSN (4) | stream (2) | SSN (2) | PPID (4) | user data ... |
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

struct Data {
    static constexpr std::size_t kFixed = 12;
    static constexpr std::size_t kOverhead = kTlvHeader + kFixed;  // 16 bytes before the user data
    static constexpr std::uint8_t kEnd = 0x01;
    static constexpr std::uint8_t kBegin = 0x02;
    static constexpr std::uint8_t kUnordered = 0x04;
    static constexpr std::uint8_t kImmediate = 0x08;

    std::uint8_t flags = kBegin | kEnd;
    Tsn tsn;
    StreamId stream;
    Ssn ssn;
    Ppid ppid;
    Bytes payload;

    constexpr bool begin() const { return (flags & kBegin) != 0; }
    constexpr bool end() const { return (flags & kEnd) != 0; }
    constexpr bool unordered() const { return (flags & kUnordered) != 0; }
    constexpr bool immediate() const { return (flags & kImmediate) != 0; }
};

/// An empty payload parses: the association answers it with ABORT "no user data" (D02), which names
/// the TSN.
constexpr bool read_data(std::uint8_t flags, Bytes value, Data& data) {
    const auto r = FixedReader<Data::kFixed>::over(value);
    if (!r) return false;
    data.flags = flags;
    data.tsn = Tsn{r->u32<0>()};
    data.stream = StreamId{r->u16<4>()};
    data.ssn = Ssn{r->u16<6>()};
    data.ppid = Ppid{r->u32<8>()};
    data.payload = r->rest();
    return true;
}
constexpr std::optional<Data> parse_data(std::uint8_t flags, Bytes value) {
    std::optional<Data> data(std::in_place);
    if (!read_data(flags, value, *data)) data.reset();
    return data;
}
constexpr std::optional<Data> parse_data(const Chunk& chunk) {
    return parse_data(chunk.flags, chunk.value);
}

/// Begins the chunk and writes its fixed part; the caller appends the user data and ends the chunk.
constexpr void begin_data(PacketWriter& out, const Data& data) {
    out.begin_chunk(ChunkType::data, data.flags);
    out.u32(data.tsn.value);
    out.u16(data.stream.value);
    out.u16(data.ssn.value);
    out.u32(data.ppid.value);
}
constexpr void write_data(PacketWriter& out, const Data& data) {
    begin_data(out, data);
    out.bytes(data.payload);
    out.end_chunk();
}

}  // namespace signalbox::wire
