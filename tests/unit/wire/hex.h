// SPDX-License-Identifier: Apache-2.0
// Packets as hexadecimal text, usable in constant expressions.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace signalbox::wire {

template <std::size_t Room>
struct HexBytes {
    std::array<std::uint8_t, Room> bytes{};
    std::size_t size = 0;
    constexpr operator std::span<const std::uint8_t>() const {  // NOLINT: reads like the bytes
        return std::span{bytes}.first(size);
    }
    constexpr std::span<const std::uint8_t> span() const { return *this; }
};

constexpr unsigned hex_digit(char c) {
    return static_cast<unsigned>(c >= 'a' ? c - 'a' + 10 : c - '0');
}

/// Lower case digits in pairs; blanks between pairs.
template <std::size_t N>
constexpr HexBytes<N / 2 + 1> hex(const char (&text)[N]) {
    HexBytes<N / 2 + 1> out;
    for (std::size_t i = 0; i + 1 < N; ++i) {
        if (text[i] == ' ') continue;
        out.bytes[out.size++] =
            static_cast<std::uint8_t>(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
        ++i;
    }
    return out;
}

/// A copy that ends where its allocation ends, so that a sanitizer sees a read past it.
inline std::vector<std::uint8_t> exact(std::span<const std::uint8_t> bytes) {
    std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    copy.shrink_to_fit();
    return copy;
}

/// Calls fn with every prefix of the bytes, the whole included, each in an allocation of its own
/// size.
template <class Fn>
void for_every_prefix(std::span<const std::uint8_t> bytes, Fn&& fn) {
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
        const std::vector<std::uint8_t> prefix = exact(bytes.first(n));
        fn(std::span<const std::uint8_t>{prefix});
    }
}

}  // namespace signalbox::wire
