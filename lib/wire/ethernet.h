// SPDX-License-Identifier: Apache-2.0
// Ethernet II with at most one 802.1Q tag.
//
//   | destination (6) | source (6) | [0x8100 (2) | PCP DEI VID (2)] | ethertype (2) | payload ... |
#pragma once
#include <array>
#include <compare>

#include "base/ip_address.h"
#include "wire/bytes.h"

namespace signalbox::wire {

struct MacAddress {
    std::array<std::uint8_t, 6> bytes{};
    constexpr bool is_group() const { return (bytes[0] & 1) != 0; }
    friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

inline constexpr MacAddress kBroadcastMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// RFC 2464 7: where frames for an IPv6 group go.
constexpr MacAddress multicast_mac(const IpAddress& group) {
    return {{0x33, 0x33, group.bytes[12], group.bytes[13], group.bytes[14], group.bytes[15]}};
}

enum class EtherType : std::uint16_t { ipv4 = 0x0800, arp = 0x0806, vlan = 0x8100, ipv6 = 0x86dd };

struct VlanTag {
    std::uint16_t id = 0;       // 12 bits; 0: priority only
    std::uint8_t priority = 0;  // 3 bits
    friend constexpr bool operator==(VlanTag, VlanTag) = default;
};

struct EthernetFrame {
    MacAddress destination;
    MacAddress source;
    std::optional<VlanTag> vlan;
    std::uint16_t ethertype = 0;
    Bytes payload;
    constexpr bool is(EtherType t) const { return ethertype == static_cast<std::uint16_t>(t); }
};

constexpr MacAddress load_mac(Bytes b, std::size_t at) {
    MacAddress mac;
    for (std::size_t i = 0; i < 6; ++i) mac.bytes[i] = b[at + i];
    return mac;
}

/// nullopt: too short. A second tag stays in front as the ethertype, which nobody serves.
constexpr std::optional<EthernetFrame> parse_ethernet(Bytes bytes) {
    const auto r = FixedReader<14>::over(bytes);
    if (!r) return std::nullopt;
    EthernetFrame frame{load_mac(bytes, 0), load_mac(bytes, 6), {}, r->u16<12>(), r->rest()};
    if (!frame.is(EtherType::vlan)) return frame;
    const auto tag = FixedReader<4>::over(frame.payload);
    if (!tag) return std::nullopt;
    frame.vlan = VlanTag{static_cast<std::uint16_t>(tag->u16<0>() & 0xfff),
                         static_cast<std::uint8_t>(tag->u16<0>() >> 13)};
    frame.ethertype = tag->u16<2>();
    frame.payload = tag->rest();
    return frame;
}

constexpr std::size_t ethernet_header_bytes(bool tagged) {
    return tagged ? 18 : 14;
}

/// Returns the header's length, 0 when `out` is too short. `frame.payload` is the caller's to
/// place.
constexpr std::size_t write_ethernet_header(std::span<std::uint8_t> out,
                                            const EthernetFrame& frame) {
    const std::size_t bytes = ethernet_header_bytes(frame.vlan.has_value());
    if (out.size() < bytes) return 0;
    store_bytes(out, 0, frame.destination.bytes);
    store_bytes(out, 6, frame.source.bytes);
    if (frame.vlan) {
        store_u16(out, 12, static_cast<std::uint16_t>(EtherType::vlan));
        store_u16(out, 14,
                  static_cast<std::uint16_t>((frame.vlan->priority & 7) << 13 |
                                             (frame.vlan->id & 0xfff)));
    }
    store_u16(out, bytes - 2, frame.ethertype);
    return bytes;
}

}  // namespace signalbox::wire
