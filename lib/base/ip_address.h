// SPDX-License-Identifier: Apache-2.0
// An IPv4 or IPv6 address in 16 bytes, network order. IPv4 is kept as ::ffff:a.b.c.d: such
// addresses are refused on the wire (RFC 4291 2.5.5.2 has no place in a packet), so the form is
// unambiguous inside.
#pragma once
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

constexpr std::uint64_t big_endian(std::uint64_t value) {
    return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};

    // In halves where the compiler lets us: byte by byte an address that was just written is read
    // again before its bytes have come together, and each packet has several.
    using Halves = std::array<std::uint64_t, 2>;
    static constexpr std::uint64_t kV4Prefix = big_endian(0xffff'00000000u);

    static constexpr IpAddress v4(std::uint32_t host_order) {
        return std::bit_cast<IpAddress>(
            Halves{0, kV4Prefix | big_endian(std::uint64_t{host_order})});
    }
    constexpr Halves halves() const { return std::bit_cast<Halves>(bytes); }
    constexpr bool is_v4() const {
        const Halves h = halves();
        return (h[0] | ((h[1] ^ kV4Prefix) & big_endian(0xffffffff'00000000u))) == 0;
    }
    constexpr bool is_v6() const { return !is_v4(); }
    /// Host order; only for is_v4().
    constexpr std::uint32_t as_v4() const {
        return std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 |
               std::uint32_t{bytes[14]} << 8 | bytes[15];
    }
    constexpr bool is_unspecified() const {
        return is_v4() ? as_v4() == 0 : bytes == std::array<std::uint8_t, 16>{};
    }
    constexpr bool is_loopback() const {
        if (is_v4()) return bytes[12] == 127;
        for (unsigned i = 0; i < 15; ++i)
            if (bytes[i] != 0) return false;
        return bytes[15] == 1;
    }
    constexpr bool is_multicast() const {
        return is_v4() ? (bytes[12] & 0xf0) == 0xe0 : bytes[0] == 0xff;
    }
    constexpr bool is_broadcast() const { return is_v4() && as_v4() == 0xffffffffu; }
    constexpr bool is_link_local() const {
        return is_v4() ? bytes[12] == 169 && bytes[13] == 254
                       : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    }
    /// May stand as source or destination of an SCTP packet (RFC 9260 8.4 rule 1).
    constexpr bool is_usable_unicast() const {
        return !is_unspecified() && !is_multicast() && !is_broadcast();
    }
    friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;
    friend constexpr bool operator==(const IpAddress& a, const IpAddress& b) {
        const Halves x = a.halves(), y = b.halves();
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }

    /// Dotted quad or RFC 5952 text; nullopt for anything else (no octal, no zone).
    static std::optional<IpAddress> parse(std::string_view text);
    std::string text() const;  // control plane only: allocates
};

}  // namespace signalbox
