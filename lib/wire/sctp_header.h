// SPDX-License-Identifier: Apache-2.0
// The SCTP common header, RFC 9260 3.1.
//
//   | source port (2) | destination port (2) | verification tag (4) | CRC32c (4) |
//
// The CRC32c is stored least significant byte first (appendix A).
#pragma once
#include "base/numbers.h"
#include "wire/bytes.h"

namespace signalbox::wire {

inline constexpr std::uint8_t kIpProtocolSctp = 132;

struct SctpHeader {
    static constexpr std::size_t kBytes = 12;
    static constexpr std::size_t kChecksumAt = 8;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    VerificationTag tag;
};

struct SctpPacketView {
    SctpHeader header;
    Bytes chunks;  // at least one chunk header's bytes, not yet walked
};

/// P01: no packet without room for one chunk. The checksum is base/crc32c.h's matter.
constexpr std::optional<SctpPacketView> parse_sctp_packet(Bytes packet) {
    const auto r = FixedReader<SctpHeader::kBytes>::over(packet);
    std::optional<SctpPacketView> view;
    if (!r || r->rest().size() < 4) return view;
    view.emplace();
    view->header.source_port = r->u16<0>();
    view->header.destination_port = r->u16<2>();
    view->header.tag = VerificationTag{r->u32<4>()};
    view->chunks = r->rest();
    return view;
}

/// `out` holds at least kBytes; the checksum field becomes 0.
constexpr void write_sctp_header(std::span<std::uint8_t> out, const SctpHeader& header) {
    store_u16(out, 0, header.source_port);
    store_u16(out, 2, header.destination_port);
    store_u32(out, 4, header.tag.value);
    store_u32(out, SctpHeader::kChecksumAt, 0);
}

}  // namespace signalbox::wire
