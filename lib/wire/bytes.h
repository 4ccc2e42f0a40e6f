// SPDX-License-Identifier: Apache-2.0
// Network byte order over spans. The callers have judged the length; none of these reads past it.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace signalbox::wire {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t load_u16(Bytes b, std::size_t at) {
    return static_cast<std::uint16_t>(b[at] << 8 | b[at + 1]);
}
constexpr std::uint32_t load_u32(Bytes b, std::size_t at) {
    return std::uint32_t{load_u16(b, at)} << 16 | load_u16(b, at + 2);
}
constexpr void store_u16(std::span<std::uint8_t> b, std::size_t at, std::uint16_t v) {
    b[at] = static_cast<std::uint8_t>(v >> 8);
    b[at + 1] = static_cast<std::uint8_t>(v);
}
constexpr void store_u32(std::span<std::uint8_t> b, std::size_t at, std::uint32_t v) {
    store_u16(b, at, static_cast<std::uint16_t>(v >> 16));
    store_u16(b, at + 2, static_cast<std::uint16_t>(v));
}
constexpr void store_bytes(std::span<std::uint8_t> b, std::size_t at, Bytes from) {
    for (std::size_t i = 0; i < from.size(); ++i) b[at + i] = from[i];
}
constexpr std::size_t padded_to_4(std::size_t n) {
    return (n + 3) & ~std::size_t{3};
}

/// Fixed fields by template offset: an offset outside the fixed part does not compile.
template <std::size_t Fixed>
class FixedReader {
 public:
    /// nullopt when the bytes are fewer than the fixed part.
    static constexpr std::optional<FixedReader> over(Bytes bytes) {
        if (bytes.size() < Fixed) return std::nullopt;
        return FixedReader{bytes};
    }
    template <std::size_t At>
    constexpr std::uint8_t u8() const {
        static_assert(At + 1 <= Fixed);
        return bytes_[At];
    }
    template <std::size_t At>
    constexpr std::uint16_t u16() const {
        static_assert(At + 2 <= Fixed);
        return load_u16(bytes_, At);
    }
    template <std::size_t At>
    constexpr std::uint32_t u32() const {
        static_assert(At + 4 <= Fixed);
        return load_u32(bytes_, At);
    }
    constexpr Bytes rest() const { return bytes_.subspan(Fixed); }

 private:
    explicit constexpr FixedReader(Bytes bytes) : bytes_(bytes) {}
    Bytes bytes_;
};

}  // namespace signalbox::wire
