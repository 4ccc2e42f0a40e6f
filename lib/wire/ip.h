// SPDX-License-Identifier: Apache-2.0
// The IP packet that both families are parsed into; writing of headers. IPv4: RFC 791, IPv6: RFC
// 8200.
#pragma once
#include <variant>

#include "base/drop.h"
#include "base/ip_address.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace signalbox::wire {

/// Judges lengths, IPv4 header checksum and IPv6 extension headers. Whose the addresses are is the
/// caller's matter. What follows the IP packet in the buffer (Ethernet padding) is left out of the
/// payload (P15).
constexpr std::variant<IpPacket, Drop> parse_ip(Bytes bytes) {
    std::variant<IpPacket, Drop> result;  // made in place: read at once by each packet's judge
    std::optional<Drop> why = Drop::ip_bad_version;
    if (bytes.empty())
        why = Drop::ip_truncated;
    else if (bytes[0] >> 4 == 4)
        why = read_ipv4(bytes, std::get<IpPacket>(result));
    else if (bytes[0] >> 4 == 6)
        why = read_ipv6(bytes, std::get<IpPacket>(result));
    if (why) result = *why;
    return result;
}

constexpr std::size_t ip_header_bytes(const IpAddress& either_end) {
    return either_end.is_v4() ? kIpv4HeaderBytes : kIpv6HeaderBytes;
}

/// Writes the header of the addresses' family before a payload of that length; returns the header's
/// length, 0 when `out` is too short, the families differ, or the length does not fit its field.
constexpr std::size_t write_ip_header(std::span<std::uint8_t> out, const IpHeader& header,
                                      std::size_t payload_bytes) {
    if (header.source.is_v4() != header.destination.is_v4()) return 0;
    return header.source.is_v4() ? write_ipv4_header(out, header, payload_bytes)
                                 : write_ipv6_header(out, header, payload_bytes);
}

}  // namespace signalbox::wire
