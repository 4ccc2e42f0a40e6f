// SPDX-License-Identifier: Apache-2.0
// ARP for IPv4 over Ethernet, RFC 826.
//
//   | hardware 1 (2) | protocol 0x0800 (2) | 6 (1) | 4 (1) | operation (2) |
//   | sender MAC (6) | sender IP (4) | target MAC (6) | target IP (4) |
#pragma once
#include "base/ip_address.h"
#include "wire/ethernet.h"

namespace signalbox::wire {

enum class ArpOperation : std::uint16_t { request = 1, reply = 2 };

struct Arp {
    static constexpr std::size_t kBytes = 28;
    ArpOperation operation{};
    MacAddress sender_mac;
    IpAddress sender;
    MacAddress target_mac;
    IpAddress target;
};

/// nullopt: malformed (Drop::arp_malformed), a group address as the sender's MAC included.
constexpr std::optional<Arp> parse_arp(Bytes bytes) {
    const auto r = FixedReader<Arp::kBytes>::over(bytes);
    if (!r) return std::nullopt;
    if (r->u16<0>() != 1 || r->u16<2>() != 0x0800 || r->u8<4>() != 6 || r->u8<5>() != 4)
        return std::nullopt;
    if (r->u16<6>() != 1 && r->u16<6>() != 2) return std::nullopt;
    const Arp arp{ArpOperation{r->u16<6>()}, load_mac(bytes, 8), IpAddress::v4(r->u32<14>()),
                  load_mac(bytes, 18), IpAddress::v4(r->u32<24>())};
    if (arp.sender_mac.is_group() || arp.sender.is_multicast() || arp.sender.is_broadcast())
        return std::nullopt;
    return arp;
}

/// Returns Arp::kBytes, 0 when `out` is too short.
constexpr std::size_t write_arp(std::span<std::uint8_t> out, const Arp& arp) {
    if (out.size() < Arp::kBytes) return 0;
    store_u16(out, 0, 1);
    store_u16(out, 2, 0x0800);
    out[4] = 6;
    out[5] = 4;
    store_u16(out, 6, static_cast<std::uint16_t>(arp.operation));
    store_bytes(out, 8, arp.sender_mac.bytes);
    store_u32(out, 14, arp.sender.as_v4());
    store_bytes(out, 18, arp.target_mac.bytes);
    store_u32(out, 24, arp.target.as_v4());
    return Arp::kBytes;
}

}  // namespace signalbox::wire
