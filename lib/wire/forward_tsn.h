// SPDX-License-Identifier: Apache-2.0
// FORWARD TSN, RFC 3758 3.2, and I-FORWARD-TSN, RFC 8260 2.3.1: up to here nothing more comes, and
// which messages of which streams are not awaited any more.
//
//   192 | new cumulative TSN (4) | N x (stream (2), SSN (2)) |
//   194 | new cumulative TSN (4) | N x (stream (2), reserved and U (2), MID (4)) |
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

/// All messages of the stream up to this number: an SSN, or a MID of ordered or unordered ones.
struct Skipped {
    StreamId stream;
    bool unordered = false;
    std::uint32_t number = 0;
};

struct ForwardTsn {
    static constexpr std::size_t kFixed = 4;
    static constexpr std::uint16_t kUnordered = 0x0001;
    Tsn new_cumulative;
    Bytes entries;  // within the chunk
    bool interleaved = false;

    static constexpr std::size_t entry_bytes(bool interleaved) { return interleaved ? 8 : 4; }
    constexpr std::size_t count() const { return entries.size() / entry_bytes(interleaved); }
    constexpr Skipped entry(std::size_t i) const {
        const Bytes e = entries.subspan(i * entry_bytes(interleaved), entry_bytes(interleaved));
        if (!interleaved) return {StreamId{load_u16(e, 0)}, false, load_u16(e, 2)};
        return {StreamId{load_u16(e, 0)}, (load_u16(e, 2) & kUnordered) != 0, load_u32(e, 4)};
    }
};

/// D14: a length that does not hold whole entries condemns the chunk.
constexpr std::optional<ForwardTsn> parse_forward_tsn(Bytes value, bool interleaved) {
    const auto r = FixedReader<ForwardTsn::kFixed>::over(value);
    if (!r || r->rest().size() % ForwardTsn::entry_bytes(interleaved) != 0) return std::nullopt;
    return ForwardTsn{Tsn{r->u32<0>()}, r->rest(), interleaved};
}

constexpr void write_forward_tsn(PacketWriter& out, Tsn new_cumulative,
                                 std::span<const Skipped> skipped, bool interleaved) {
    out.begin_chunk(interleaved ? ChunkType::i_forward_tsn : ChunkType::forward_tsn);
    out.u32(new_cumulative.value);
    for (const Skipped& s : skipped) {
        out.u16(s.stream.value);
        if (interleaved) {
            out.u16(s.unordered ? ForwardTsn::kUnordered : std::uint16_t{0});
            out.u32(s.number);
        } else {
            out.u16(static_cast<std::uint16_t>(s.number));
        }
    }
    out.end_chunk();
}

}  // namespace signalbox::wire
