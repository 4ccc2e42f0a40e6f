// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the integers on the wire, byte by byte: any alignment, constexpr, and one
// instruction each when compiled.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace signalbox {

constexpr std::uint16_t load_be16(const std::uint8_t* p) {
    return static_cast<std::uint16_t>((p[0] << 8) | p[1]);
}
constexpr std::uint32_t load_be32(const std::uint8_t* p) {
    return (std::uint32_t{p[0]} << 24) | (std::uint32_t{p[1]} << 16) | (std::uint32_t{p[2]} << 8) |
           std::uint32_t{p[3]};
}
constexpr std::uint64_t load_be64(const std::uint8_t* p) {
    return (std::uint64_t{load_be32(p)} << 32) | load_be32(p + 4);
}
constexpr std::uint16_t load_le16(const std::uint8_t* p) {
    return static_cast<std::uint16_t>((p[1] << 8) | p[0]);
}
constexpr std::uint32_t load_le32(const std::uint8_t* p) {
    return (std::uint32_t{p[3]} << 24) | (std::uint32_t{p[2]} << 16) | (std::uint32_t{p[1]} << 8) |
           std::uint32_t{p[0]};
}
constexpr std::uint64_t load_le64(const std::uint8_t* p) {
    return (std::uint64_t{load_le32(p + 4)} << 32) | load_le32(p);
}

constexpr void store_be16(std::uint8_t* p, std::uint16_t v) {
    p[0] = static_cast<std::uint8_t>(v >> 8);
    p[1] = static_cast<std::uint8_t>(v);
}
constexpr void store_be32(std::uint8_t* p, std::uint32_t v) {
    p[0] = static_cast<std::uint8_t>(v >> 24);
    p[1] = static_cast<std::uint8_t>(v >> 16);
    p[2] = static_cast<std::uint8_t>(v >> 8);
    p[3] = static_cast<std::uint8_t>(v);
}
constexpr void store_be64(std::uint8_t* p, std::uint64_t v) {
    store_be32(p, static_cast<std::uint32_t>(v >> 32));
    store_be32(p + 4, static_cast<std::uint32_t>(v));
}
constexpr void store_le16(std::uint8_t* p, std::uint16_t v) {
    p[0] = static_cast<std::uint8_t>(v);
    p[1] = static_cast<std::uint8_t>(v >> 8);
}
constexpr void store_le32(std::uint8_t* p, std::uint32_t v) {
    p[0] = static_cast<std::uint8_t>(v);
    p[1] = static_cast<std::uint8_t>(v >> 8);
    p[2] = static_cast<std::uint8_t>(v >> 16);
    p[3] = static_cast<std::uint8_t>(v >> 24);
}
constexpr void store_le64(std::uint8_t* p, std::uint64_t v) {
    store_le32(p, static_cast<std::uint32_t>(v));
    store_le32(p + 4, static_cast<std::uint32_t>(v >> 32));
}

/// The fixed part of a wire object: one length check, then fields by offset, checked when compiled.
template <std::size_t N>
class FixedReader {
 public:
    static constexpr std::size_t kBytes = N;

    /// nullopt when the span is shorter than the fixed part.
    static constexpr std::optional<FixedReader> over(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < N) return std::nullopt;
        return FixedReader{bytes};
    }
    template <std::size_t Offset>
    constexpr std::uint8_t u8() const {
        static_assert(Offset + 1 <= N);
        return bytes_[Offset];
    }
    template <std::size_t Offset>
    constexpr std::uint16_t u16() const {
        static_assert(Offset + 2 <= N);
        return load_be16(bytes_.data() + Offset);
    }
    template <std::size_t Offset>
    constexpr std::uint32_t u32() const {
        static_assert(Offset + 4 <= N);
        return load_be32(bytes_.data() + Offset);
    }
    template <std::size_t Offset>
    constexpr std::uint64_t u64() const {
        static_assert(Offset + 8 <= N);
        return load_be64(bytes_.data() + Offset);
    }
    /// What follows the fixed part.
    constexpr std::span<const std::uint8_t> rest() const { return bytes_.subspan(N); }

 private:
    explicit constexpr FixedReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    std::span<const std::uint8_t> bytes_;
};

}  // namespace signalbox
