// SPDX-License-Identifier: Apache-2.0
// ICMP (RFC 792, 1191) and ICMPv6 (RFC 4443): echo, and errors as far as RFC 9260 section 10 needs
// them.
//
//   | type (1) | code (1) | checksum (2) | identifier, sequence or MTU (4) | echo data or quoted
//   packet |
#pragma once
#include "base/numbers.h"
#include "wire/internet_checksum.h"
#include "wire/ip_packet.h"
#include "wire/sctp_header.h"

namespace signalbox::wire {

enum class IcmpKind : std::uint8_t {
    echo_request,
    echo_reply,
    unreachable,           // network, host, administratively: one path error
    protocol_unreachable,  // also IPv6 "unrecognized next header": ends the association (PATH-8)
    port_unreachable,
    too_big,
    other,
};

/// About a packet that we sent.
constexpr bool is_error(IcmpKind kind) {
    return kind == IcmpKind::unreachable || kind == IcmpKind::protocol_unreachable ||
           kind == IcmpKind::port_unreachable || kind == IcmpKind::too_big;
}

struct Icmp {
    static constexpr std::size_t kHeader = 8;
    IcmpKind kind = IcmpKind::other;
    std::uint32_t mtu_bytes = 0;  // too_big: as it says, not to be believed below the floor (V06)
    Bytes quoted;                 // errors: the packet that caused it, as much as there is
    Bytes message;                // whole
};

namespace detail {

constexpr IcmpKind icmp4_kind(std::uint8_t type, std::uint8_t code) {
    if (type == 8 && code == 0) return IcmpKind::echo_request;
    if (type == 0 && code == 0) return IcmpKind::echo_reply;
    if (type != 3) return IcmpKind::other;
    switch (code) {
        case 2:
            return IcmpKind::protocol_unreachable;
        case 3:
            return IcmpKind::port_unreachable;
        case 4:
            return IcmpKind::too_big;
        default:
            return IcmpKind::unreachable;
    }
}
constexpr IcmpKind icmp6_kind(std::uint8_t type, std::uint8_t code) {
    switch (type) {
        case 1:
            return code == 4 ? IcmpKind::port_unreachable : IcmpKind::unreachable;
        case 2:
            return IcmpKind::too_big;
        case 4:
            return code == 1 ? IcmpKind::protocol_unreachable : IcmpKind::other;
        case 128:
            return code == 0 ? IcmpKind::echo_request : IcmpKind::other;
        case 129:
            return code == 0 ? IcmpKind::echo_reply : IcmpKind::other;
        default:
            return IcmpKind::other;
    }
}

}  // namespace detail

/// The packet's protocol is ICMP or ICMPv6 of its family. nullopt: short, a fragment, or a wrong
/// checksum.
constexpr std::optional<Icmp> parse_icmp(const IpPacket& packet) {
    const Bytes m = packet.payload;
    if (m.size() < Icmp::kHeader || packet.fragment.is_fragment()) return std::nullopt;
    const bool v4 = packet.source.is_v4();
    if (!packet.is(v4 ? IpProtocol::icmp : IpProtocol::icmpv6)) return std::nullopt;
    const std::uint16_t sum =
        v4 ? internet_checksum(m)
           : ipv6_checksum(packet.source, packet.destination, packet.protocol, m);
    if (sum != 0) return std::nullopt;
    Icmp icmp{v4 ? detail::icmp4_kind(m[0], m[1]) : detail::icmp6_kind(m[0], m[1]), 0,
              m.subspan(Icmp::kHeader), m};
    if (icmp.kind == IcmpKind::too_big) icmp.mtu_bytes = v4 ? load_u16(m, 6) : load_u32(m, 4);
    return icmp;
}

/// What an error quotes of a packet that we sent: source is ours, destination the peer's.
struct QuotedSctp {
    IpAddress source;
    IpAddress destination;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    VerificationTag tag;
    std::optional<VerificationTag> initiate_tag;  // when the quote reaches into an INIT chunk
};

/// We send no extension headers, so a quote that has them is none of ours. nullopt: not SCTP, or
/// too short for the tag.
constexpr std::optional<QuotedSctp> parse_quoted_sctp(Bytes quoted) {
    if (quoted.empty()) return std::nullopt;
    const bool v4 = quoted[0] >> 4 == 4;
    if (!v4 && quoted[0] >> 4 != 6) return std::nullopt;
    const std::size_t header = v4 ? (quoted[0] & 0xfu) * 4 : 40;
    if (header < 20 || quoted.size() < header + 8) return std::nullopt;
    if (quoted[v4 ? 9 : 6] != kIpProtocolSctp) return std::nullopt;
    if (v4 && (load_u16(quoted, 6) & 0x1fff) != 0) return std::nullopt;  // not the first fragment
    const Bytes sctp = quoted.subspan(header);
    QuotedSctp q{.source = {},
                 .destination = {},
                 .source_port = load_u16(sctp, 0),
                 .destination_port = load_u16(sctp, 2),
                 .tag = VerificationTag{load_u32(sctp, 4)},
                 .initiate_tag = {}};
    if (v4) {
        q.source = IpAddress::v4(load_u32(quoted, 12));
        q.destination = IpAddress::v4(load_u32(quoted, 16));
    } else {
        for (std::size_t i = 0; i < 16; ++i) q.source.bytes[i] = quoted[8 + i];
        for (std::size_t i = 0; i < 16; ++i) q.destination.bytes[i] = quoted[24 + i];
    }
    if (sctp.size() >= 20 && sctp[12] == 1) q.initiate_tag = VerificationTag{load_u32(sctp, 16)};
    return q;
}

namespace detail {

constexpr void finish_icmp(std::span<std::uint8_t> message, const IpAddress& source,
                           const IpAddress& destination) {
    store_u16(message, 2, 0);
    const auto icmpv6 = static_cast<std::uint8_t>(IpProtocol::icmpv6);
    store_u16(message, 2,
              source.is_v4() ? internet_checksum(message)
                             : ipv6_checksum(source, destination, icmpv6, message));
}

}  // namespace detail

/// Echo reply to a request: identifier, sequence and data as they came. Returns the ICMP message's
/// length, 0 when `out` is too short.
constexpr std::size_t write_echo_reply(std::span<std::uint8_t> out, const IpPacket& request) {
    const Bytes m = request.payload;
    if (m.size() < Icmp::kHeader || out.size() < m.size()) return 0;
    store_bytes(out, 0, m);
    out[0] = request.source.is_v4() ? 0 : 129;
    detail::finish_icmp(out.first(m.size()), request.destination, request.source);
    return m.size();
}

/// Error about a received packet, quoted as far as the minimum MTU allows (RFC 1812 4.3.2.3, RFC
/// 4443 2.4 c). `source` is our address. The caller answers no ICMP error, no group address, and
/// keeps to its budget.
constexpr std::size_t write_icmp_error(std::span<std::uint8_t> out, const IpAddress& source,
                                       const IpPacket& about, std::uint8_t type, std::uint8_t code,
                                       std::uint32_t word) {
    const std::size_t most = source.is_v4() ? 576 - 20 - Icmp::kHeader : 1280 - 40 - Icmp::kHeader;
    const Bytes quote = about.whole.first(about.whole.size() < most ? about.whole.size() : most);
    const std::size_t bytes = Icmp::kHeader + quote.size();
    if (out.size() < bytes) return 0;
    out[0] = type;
    out[1] = code;
    store_u32(out, 4, word);
    store_bytes(out, Icmp::kHeader, quote);
    detail::finish_icmp(out.first(bytes), source, about.source);
    return bytes;
}

}  // namespace signalbox::wire
