// SPDX-License-Identifier: Apache-2.0
// IPv6, RFC 8200.
//
//    0  | version, traffic class, flow label (4) | payload length (2) | next header (1) | hops (1)
//    | 8  | source (16) | destination (16) | extension headers ... | payload ... |
//
//   extension header  | next header (1) | length in 8 bytes, first 8 not counted (1) | ... |
//   fragment header   | next header (1) | 0 (1) | offset (13 bits) 0 M (2) | identification (4) |
#pragma once
#include <optional>

#include "base/drop.h"
#include "wire/internet_checksum.h"
#include "wire/ip_packet.h"

namespace signalbox::wire {

inline constexpr std::size_t kIpv6HeaderBytes = 40;
inline constexpr unsigned kMaxExtensionHeaders = 8;  // RFC 8200 4.1 recommends at most 7

namespace detail {

/// Options of hop-by-hop and destination options: every one not known must say "skip over" (RFC
/// 8200 4.2).
constexpr bool options_skippable(Bytes options) {
    while (!options.empty()) {
        const std::uint8_t type = options[0];
        if (type == 0) {  // Pad1 has no length
            options = options.subspan(1);
            continue;
        }
        if ((type & 0xc0) != 0) return false;
        if (options.size() < 2 || options.size() < 2u + options[1]) return false;
        options = options.subspan(2u + options[1]);
    }
    return true;
}

/// One step of the chain: takes the header off packet.payload. False: malformed, or not for us.
constexpr bool take_extension(IpPacket& packet) {
    const Bytes at = packet.payload;
    if (at.size() < 8) return false;
    const std::size_t bytes = packet.is(IpProtocol::fragment) ? 8 : (std::size_t{at[1]} + 1) * 8;
    if (bytes > at.size()) return false;
    if (packet.is(IpProtocol::routing)) {
        if (at[3] != 0) return false;  // segments left: we are no intermediate node (RFC 5095)
    } else if (packet.is(IpProtocol::fragment)) {
        const std::uint16_t field = load_u16(at, 2);
        packet.fragment = {load_u32(at, 4), static_cast<std::uint16_t>(field & 0xfff8),
                           (field & 1) != 0};
    } else if (!options_skippable(at.subspan(2, bytes - 2))) {
        return false;
    }
    packet.protocol = at[0];
    packet.payload = at.subspan(bytes);
    return true;
}

constexpr bool is_extension(const IpPacket& packet) {
    return packet.is(IpProtocol::hop_by_hop) || packet.is(IpProtocol::routing) ||
           packet.is(IpProtocol::destination_options) || packet.is(IpProtocol::fragment);
}

constexpr IpAddress load_ipv6(Bytes b, std::size_t at) {
    IpAddress address;
    for (std::size_t i = 0; i < 16; ++i) address.bytes[i] = b[at + i];
    return address;
}

}  // namespace detail

/// Jumbograms (payload length 0 with a hop-by-hop header) are refused: no port of ours carries
/// them. nullopt: `packet` is filled in; else why not.
constexpr std::optional<Drop> read_ipv6(Bytes bytes, IpPacket& packet) {
    const auto r = FixedReader<kIpv6HeaderBytes>::over(bytes);
    if (!r) return Drop::ip_truncated;
    if (r->u8<0>() >> 4 != 6) return Drop::ip_bad_version;
    const std::size_t total = kIpv6HeaderBytes + r->u16<4>();
    if (total > bytes.size()) return Drop::ip_truncated;
    const auto traffic_class = static_cast<std::uint8_t>(r->u16<0>() >> 4);
    packet.source = detail::load_ipv6(bytes, 8);
    packet.destination = detail::load_ipv6(bytes, 24);
    packet.protocol = r->u8<6>();
    packet.hop_limit = r->u8<7>();
    packet.dscp = static_cast<std::uint8_t>(traffic_class >> 2);
    packet.ecn = static_cast<std::uint8_t>(traffic_class & 3);
    packet.payload = bytes.first(total).subspan(kIpv6HeaderBytes);
    packet.whole = bytes.first(total);
    // IPv4-mapped addresses have no place on the wire (base/ip_address.h keeps IPv4 in that form).
    if (packet.source.is_v4()) return Drop::ip_bad_source;
    if (packet.destination.is_v4()) return Drop::ip_bad_destination;

    for (unsigned n = 0; detail::is_extension(packet); ++n) {
        const bool first = n == 0;
        if (n == kMaxExtensionHeaders) return Drop::ip_bad_extension;
        if (packet.is(IpProtocol::hop_by_hop) && !first) return Drop::ip_bad_extension;
        if (!detail::take_extension(packet)) return Drop::ip_bad_extension;
        if (packet.fragment.is_fragment()) break;  // the rest of the chain is in the first fragment
    }
    if (packet.fragment.more && packet.payload.size() % 8 != 0) return Drop::ip_fragment_refused;
    if (packet.fragment.offset_bytes + packet.payload.size() > 0xffff)
        return Drop::ip_fragment_refused;
    return std::nullopt;
}

constexpr std::size_t write_ipv6_header(std::span<std::uint8_t> out, const IpHeader& header,
                                        std::size_t payload_bytes) {
    if (out.size() < kIpv6HeaderBytes || payload_bytes > 0xffff) return 0;
    const auto h = out.first(kIpv6HeaderBytes);
    store_u32(h, 0, 6u << 28 | static_cast<std::uint32_t>(header.dscp & 0x3f) << 22);
    store_u16(h, 4, static_cast<std::uint16_t>(payload_bytes));
    h[6] = header.protocol;
    h[7] = header.hop_limit;
    store_bytes(h, 8, header.source.bytes);
    store_bytes(h, 24, header.destination.bytes);
    return kIpv6HeaderBytes;
}

inline constexpr std::size_t kIpv6FragmentHeaderBytes = 8;

/// RFC 8200 4.5: behind the IPv6 header, whose next header is 44. Returns its length, 0 when `out`
/// is too short.
constexpr std::size_t write_ipv6_fragment_header(std::span<std::uint8_t> out,
                                                 std::uint8_t next_header,
                                                 const IpFragment& fragment) {
    if (out.size() < kIpv6FragmentHeaderBytes) return 0;
    out[0] = next_header;
    out[1] = 0;
    store_u16(
        out, 2,
        static_cast<std::uint16_t>((fragment.offset_bytes & 0xfff8u) | (fragment.more ? 1 : 0)));
    store_u32(out, 4, fragment.identification);
    return kIpv6FragmentHeaderBytes;
}

}  // namespace signalbox::wire
