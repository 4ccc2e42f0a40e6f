// SPDX-License-Identifier: Apache-2.0
// SACK, RFC 9260 3.3.4.
//
//   | cumulative TSN (4) | a_rwnd (4) | gap blocks N (2) | duplicates M (2) |
//   | N x (start (2), end (2)) | M x TSN (4) |
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

/// Offsets from the cumulative TSN, both ends included.
struct GapBlock {
    std::uint16_t start = 0;
    std::uint16_t end = 0;
    friend constexpr bool operator==(GapBlock, GapBlock) = default;
};

struct Sack {
    static constexpr std::size_t kFixed = 12;
    Tsn cumulative_tsn;
    std::uint32_t a_rwnd_bytes = 0;
    Bytes gap_bytes;        // 4 each, within the chunk
    Bytes duplicate_bytes;  // 4 each, within the chunk

    constexpr std::size_t gap_count() const { return gap_bytes.size() / 4; }
    constexpr std::size_t duplicate_count() const { return duplicate_bytes.size() / 4; }
    constexpr GapBlock gap(std::size_t i) const {
        return {load_u16(gap_bytes, 4 * i), load_u16(gap_bytes, 4 * i + 2)};
    }
    constexpr Tsn duplicate(std::size_t i) const { return Tsn{load_u32(duplicate_bytes, 4 * i)}; }
    /// Every block starts behind the cumulative TSN and ends where it starts or later. Order is not
    /// asked of the peer.
    constexpr bool blocks_possible() const {
        for (std::size_t i = 0; i < gap_count(); ++i)
            if (gap(i).start == 0 || gap(i).end < gap(i).start) return false;
        return true;
    }
};

/// PKT-4: both counts must be exactly what the chunk's own length holds.
constexpr std::optional<Sack> parse_sack(Bytes value) {
    const auto r = FixedReader<Sack::kFixed>::over(value);
    if (!r) return std::nullopt;
    const std::size_t gaps = r->u16<8>();
    const std::size_t duplicates = r->u16<10>();
    if (r->rest().size() != 4 * (gaps + duplicates)) return std::nullopt;
    return Sack{Tsn{r->u32<0>()}, r->u32<4>(), r->rest().first(4 * gaps),
                r->rest().subspan(4 * gaps)};
}

constexpr void write_sack(PacketWriter& out, Tsn cumulative, std::uint32_t a_rwnd_bytes,
                          std::span<const GapBlock> gaps, std::span<const Tsn> duplicates) {
    out.begin_chunk(ChunkType::sack);
    out.u32(cumulative.value);
    out.u32(a_rwnd_bytes);
    out.u16(static_cast<std::uint16_t>(gaps.size()));
    out.u16(static_cast<std::uint16_t>(duplicates.size()));
    for (const GapBlock& gap : gaps) {
        out.u16(gap.start);
        out.u16(gap.end);
    }
    for (const Tsn tsn : duplicates) out.u32(tsn.value);
    out.end_chunk();
}

}  // namespace signalbox::wire
