// SPDX-License-Identifier: Apache-2.0
// A received IP packet of either family as a view, and what a sent one needs.
#pragma once
#include "base/ip_address.h"
#include "wire/bytes.h"

namespace signalbox::wire {

enum class IpProtocol : std::uint8_t {
    hop_by_hop = 0,
    icmp = 1,
    udp = 17,
    routing = 43,
    fragment = 44,
    icmpv6 = 58,
    no_next_header = 59,
    destination_options = 60,
    sctp = 132,
};

/// Where a fragment belongs; a whole packet has offset 0 and nothing more to come.
struct IpFragment {
    std::uint32_t identification = 0;
    std::uint16_t offset_bytes = 0;
    bool more = false;
    constexpr bool is_fragment() const { return more || offset_bytes != 0; }
};

struct IpPacket {
    IpAddress source;
    IpAddress destination;
    std::uint8_t protocol =
        0;  // behind all extension headers; of a fragment: behind the fragment header
    std::uint8_t hop_limit = 0;
    std::uint8_t dscp = 0;
    std::uint8_t ecn = 0;
    IpFragment fragment;
    Bytes payload;
    Bytes whole;  // header, extension headers and payload, without what follows in the frame

    constexpr bool is(IpProtocol p) const { return protocol == static_cast<std::uint8_t>(p); }
};

struct IpHeader {
    IpAddress source;
    IpAddress destination;
    std::uint8_t protocol = static_cast<std::uint8_t>(IpProtocol::sctp);
    std::uint8_t hop_limit = 64;
    std::uint8_t dscp = 0;
    bool dont_fragment = true;         // IPv4
    std::uint16_t identification = 0;  // IPv4; free to be 0 with dont_fragment (RFC 6864)
};

}  // namespace signalbox::wire
