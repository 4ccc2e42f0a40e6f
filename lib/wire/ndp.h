// SPDX-License-Identifier: Apache-2.0
// Neighbour solicitation and advertisement, RFC 4861 4.3, 4.4 and 7.1.
//
//   | type 135 or 136 (1) | 0 (1) | checksum (2) | R S O, reserved (4) | target (16) | options ...
//   | option | type (1) | length in 8 bytes (1) | ... |    1: source, 2: target link-layer address
#pragma once
#include "wire/ethernet.h"
#include "wire/internet_checksum.h"
#include "wire/ipv6.h"

namespace signalbox::wire {

inline constexpr std::uint8_t kNeighbourSolicitation = 135;
inline constexpr std::uint8_t kNeighbourAdvertisement = 136;

struct NeighbourMessage {
    static constexpr std::size_t kFixed = 24;
    static constexpr std::size_t kMaxBytes = kFixed + 8;  // as we write it
    bool advertisement = false;
    bool router = false;  // advertisement only, as the next two
    bool solicited = false;
    bool override_flag = false;
    IpAddress target;
    std::optional<MacAddress>
        link_layer;  // source's in a solicitation, target's in an advertisement
};

/// ff02::1:ffXX:XXXX, RFC 4291 2.7.1.
constexpr IpAddress solicited_node(const IpAddress& address) {
    IpAddress group;
    group.bytes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0};
    for (std::size_t i = 13; i < 16; ++i) group.bytes[i] = address.bytes[i];
    return group;
}

namespace detail {

/// Options of length 0 make the message malformed (RFC 4861 4.6); each step takes at least 8 bytes.
constexpr bool take_link_layer_option(Bytes options, NeighbourMessage& message) {
    const std::uint8_t wanted = message.advertisement ? 2 : 1;
    while (!options.empty()) {
        if (options.size() < 8) return false;
        const std::size_t bytes = std::size_t{options[1]} * 8;
        if (bytes == 0 || bytes > options.size()) return false;
        if (options[0] == wanted && bytes == 8) message.link_layer = load_mac(options, 2);
        options = options.subspan(bytes);
    }
    return true;
}

constexpr bool neighbour_message_plausible(const IpPacket& packet,
                                           const NeighbourMessage& message) {
    if (message.target.is_multicast()) return false;
    if (message.link_layer && message.link_layer->is_group()) return false;
    if (message.advertisement) return !(message.solicited && packet.destination.is_multicast());
    if (!packet.source.is_unspecified()) return true;
    // Duplicate address detection: to the solicited-node group and without our link-layer address
    // (7.1.1).
    return packet.destination == solicited_node(message.target) && !message.link_layer;
}

}  // namespace detail

/// The packet is ICMPv6. nullopt: neither of the two, or malformed (Drop::arp_malformed), hop limit
/// other than 255 included (N01: it came through a router).
constexpr std::optional<NeighbourMessage> parse_neighbour_message(const IpPacket& packet) {
    const auto r = FixedReader<NeighbourMessage::kFixed>::over(packet.payload);
    if (!r || packet.fragment.is_fragment()) return std::nullopt;
    if (r->u8<0>() != kNeighbourSolicitation && r->u8<0>() != kNeighbourAdvertisement)
        return std::nullopt;
    if (packet.hop_limit != 255 || r->u8<1>() != 0) return std::nullopt;
    if (ipv6_checksum(packet.source, packet.destination, packet.protocol, packet.payload) != 0)
        return std::nullopt;
    NeighbourMessage message{.advertisement = r->u8<0>() == kNeighbourAdvertisement,
                             .router = (r->u8<4>() & 0x80) != 0,
                             .solicited = (r->u8<4>() & 0x40) != 0,
                             .override_flag = (r->u8<4>() & 0x20) != 0,
                             .target = detail::load_ipv6(packet.payload, 8),
                             .link_layer = {}};
    if (!detail::take_link_layer_option(r->rest(), message)) return std::nullopt;
    if (!detail::neighbour_message_plausible(packet, message)) return std::nullopt;
    return message;
}

/// Writes the ICMPv6 message (not the IPv6 header: hop limit 255 there); returns its length, 0 when
/// `out` is short.
constexpr std::size_t write_neighbour_message(std::span<std::uint8_t> out, const IpAddress& source,
                                              const IpAddress& destination,
                                              const NeighbourMessage& message) {
    const std::size_t bytes = NeighbourMessage::kFixed + (message.link_layer ? 8 : 0);
    if (out.size() < bytes) return 0;
    out[0] = message.advertisement ? kNeighbourAdvertisement : kNeighbourSolicitation;
    out[1] = 0;
    store_u16(out, 2, 0);
    const unsigned flags = message.advertisement
                               ? unsigned{message.router} << 7 | unsigned{message.solicited} << 6 |
                                     unsigned{message.override_flag} << 5
                               : 0;
    store_u32(out, 4, flags << 24);
    store_bytes(out, 8, message.target.bytes);
    if (message.link_layer) {
        out[24] = message.advertisement ? 2 : 1;
        out[25] = 1;
        store_bytes(out, 26, message.link_layer->bytes);
    }
    store_u16(out, 2,
              ipv6_checksum(source, destination, static_cast<std::uint8_t>(IpProtocol::icmpv6),
                            out.first(bytes)));
    return bytes;
}

}  // namespace signalbox::wire
