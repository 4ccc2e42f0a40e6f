// SPDX-License-Identifier: Apache-2.0
// IPv4, RFC 791.
//
//    0  | version, IHL (1) | DSCP, ECN (1) | total length (2) |
//    4  | identification (2) | 0 DF MF, fragment offset in 8 bytes (2) |
//    8  | time to live (1) | protocol (1) | header checksum (2) |
//   12  | source (4) | destination (4) | options to IHL x 4 |
#pragma once
#include <optional>

#include "base/drop.h"
#include "wire/internet_checksum.h"
#include "wire/ip_packet.h"

namespace signalbox::wire {

inline constexpr std::size_t kIpv4HeaderBytes = 20;

/// Options are stepped over, none is acted on (P07: same result as without). nullopt: `packet` is
/// filled in; else why not.
constexpr std::optional<Drop> read_ipv4(Bytes bytes, IpPacket& packet) {
    const auto r = FixedReader<kIpv4HeaderBytes>::over(bytes);
    if (!r) return Drop::ip_truncated;
    if (r->u8<0>() >> 4 != 4) return Drop::ip_bad_version;
    const std::size_t header = (r->u8<0>() & 0xfu) * 4;
    const std::size_t total = r->u16<2>();
    if (header < kIpv4HeaderBytes || total < header || total > bytes.size())
        return Drop::ip_truncated;
    if (internet_checksum(bytes.first(header)) != 0) return Drop::ip_bad_header_checksum;

    packet.source = IpAddress::v4(r->u32<12>());
    packet.destination = IpAddress::v4(r->u32<16>());
    packet.protocol = r->u8<9>();
    packet.hop_limit = r->u8<8>();
    packet.dscp = static_cast<std::uint8_t>(r->u8<1>() >> 2);
    packet.ecn = static_cast<std::uint8_t>(r->u8<1>() & 3);
    packet.payload = bytes.first(total).subspan(header);
    packet.whole = bytes.first(total);
    const std::size_t offset = (r->u16<6>() & 0x1fffu) * 8;
    const bool more = (r->u16<6>() & 0x2000) != 0;
    packet.fragment.identification = r->u16<4>();
    packet.fragment.offset_bytes = static_cast<std::uint16_t>(offset);
    packet.fragment.more = more;
    // A fragment that is not the last carries whole units of 8, and none reaches past 65,535.
    if (more && packet.payload.size() % 8 != 0) return Drop::ip_fragment_refused;
    if (header + offset + packet.payload.size() > 0xffff) return Drop::ip_fragment_refused;
    return std::nullopt;
}

constexpr std::size_t write_ipv4_header(std::span<std::uint8_t> out, const IpHeader& header,
                                        std::size_t payload_bytes) {
    const std::size_t total = kIpv4HeaderBytes + payload_bytes;
    if (out.size() < kIpv4HeaderBytes || total > 0xffff) return 0;
    const auto h = out.first(kIpv4HeaderBytes);
    h[0] = 0x45;
    h[1] = static_cast<std::uint8_t>(header.dscp << 2);
    store_u16(h, 2, static_cast<std::uint16_t>(total));
    store_u16(h, 4, header.identification);
    store_u16(h, 6, header.dont_fragment ? 0x4000 : 0);
    h[8] = header.hop_limit;
    h[9] = header.protocol;
    store_u16(h, 10, 0);
    store_u32(h, 12, header.source.as_v4());
    store_u32(h, 16, header.destination.as_v4());
    store_u16(h, 10, internet_checksum(h));
    return kIpv4HeaderBytes;
}

}  // namespace signalbox::wire
