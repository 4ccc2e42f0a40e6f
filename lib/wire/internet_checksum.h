// SPDX-License-Identifier: Apache-2.0
// The Internet checksum (RFC 1071) and the pseudo-header of IPv6 (RFC 8200 8.1).
#pragma once
#include "base/ip_address.h"
#include "wire/bytes.h"

namespace signalbox::wire {

/// One's complement sum so far; feed pieces of even length, only the last may be odd.
struct InternetSum {
    std::uint64_t sum = 0;

    constexpr void add(Bytes bytes) {
        std::size_t at = 0;
        for (; at + 2 <= bytes.size(); at += 2) sum += load_u16(bytes, at);
        if (at < bytes.size()) sum += std::uint64_t{bytes[at]} << 8;
    }
    constexpr void add_u32(std::uint32_t v) { sum += (v >> 16) + (v & 0xffff); }
    constexpr std::uint16_t checksum() const {
        std::uint64_t s = sum;
        while (s >> 16 != 0) s = (s & 0xffff) + (s >> 16);
        return static_cast<std::uint16_t>(~s);
    }
};

constexpr std::uint16_t internet_checksum(Bytes bytes) {
    InternetSum sum;
    sum.add(bytes);
    return sum.checksum();
}

/// Over the pseudo-header and the message; 0 when the message holds a right checksum.
constexpr std::uint16_t ipv6_checksum(const IpAddress& source, const IpAddress& destination,
                                      std::uint8_t next_header, Bytes message) {
    InternetSum sum;
    sum.add(source.bytes);
    sum.add(destination.bytes);
    sum.add_u32(static_cast<std::uint32_t>(message.size()));
    sum.add_u32(next_header);
    sum.add(message);
    return sum.checksum();
}

}  // namespace signalbox::wire
