// SPDX-License-Identifier: Apache-2.0
// base/bytes.h over spans. The callers have judged the length; none of these reads past it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace signalbox::wire {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t load_u16(Bytes b, std::size_t at) {
    return load_be16(b.subspan(at, 2).data());
}
constexpr std::uint32_t load_u32(Bytes b, std::size_t at) {
    return load_be32(b.subspan(at, 4).data());
}
constexpr void store_u16(std::span<std::uint8_t> b, std::size_t at, std::uint16_t v) {
    store_be16(b.subspan(at, 2).data(), v);
}
constexpr void store_u32(std::span<std::uint8_t> b, std::size_t at, std::uint32_t v) {
    store_be32(b.subspan(at, 4).data(), v);
}
constexpr void store_bytes(std::span<std::uint8_t> b, std::size_t at, Bytes from) {
    for (std::size_t i = 0; i < from.size(); ++i) b[at + i] = from[i];
}
constexpr std::size_t padded_to_4(std::size_t n) {
    return (n + 3) & ~std::size_t{3};
}

}  // namespace signalbox::wire
