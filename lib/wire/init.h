// SPDX-License-Identifier: Apache-2.0
// INIT and INIT ACK, RFC 9260 3.3.2 and 3.3.3: one layout.
//
//   | initiate tag (4) | a_rwnd (4) | streams out (2) | streams in (2) | initial TSN (4) |
//   | parameters ... |
#pragma once
#include "base/numbers.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

struct Init {
    static constexpr std::size_t kFixed = 16;
    VerificationTag tag;
    std::uint32_t a_rwnd_bytes = 0;
    std::uint16_t streams_out = 0;
    std::uint16_t streams_in = 0;
    Tsn initial_tsn;
    Bytes parameters;  // still in the packet, walked on demand
};

/// Judged by the listener, not here: tag 0 is discarded silently; no streams or a_rwnd < 1500 get
/// ABORT (3.3.2).
constexpr std::optional<Init> parse_init(Bytes value) {
    const auto r = FixedReader<Init::kFixed>::over(value);
    if (!r) return std::nullopt;
    return Init{VerificationTag{r->u32<0>()},
                r->u32<4>(),
                r->u16<8>(),
                r->u16<10>(),
                Tsn{r->u32<12>()},
                r->rest()};
}

/// The fixed part; the caller has begun the chunk and appends the parameters.
constexpr void write_init_fixed(PacketWriter& out, const Init& init) {
    out.u32(init.tag.value);
    out.u32(init.a_rwnd_bytes);
    out.u16(init.streams_out);
    out.u16(init.streams_in);
    out.u32(init.initial_tsn.value);
}

}  // namespace signalbox::wire
