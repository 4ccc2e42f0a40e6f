// SPDX-License-Identifier: Apache-2.0
// The implementations behind base/crc32c.h, for its choice, its tests and its benchmark. All
// compute the same function: `state` in and out is the shift register itself, without the
// inversions before and after.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace signalbox::crc32c_detail {

struct Implementation {
    std::string_view name;
    bool (*available)();
    std::uint32_t (*update)(std::uint32_t state, const std::uint8_t* bytes, std::size_t size);
};

/// One bit at a time, straight from the polynomial: what the others are checked against.
constexpr std::uint32_t update_bitwise(std::uint32_t state, const std::uint8_t* bytes,
                                       std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        state ^= bytes[i];
        for (unsigned bit = 0; bit < 8; ++bit)
            state = (state >> 1) ^ ((state & 1) != 0 ? 0x82f63b78u : 0);
    }
    return state;
}

std::uint32_t update_table(std::uint32_t state, const std::uint8_t* bytes, std::size_t size);
std::uint32_t update_isal(std::uint32_t state, const std::uint8_t* bytes, std::size_t size);
#if defined(__x86_64__)
std::uint32_t update_sse42(std::uint32_t state, const std::uint8_t* bytes, std::size_t size);
/// An SCTP packet of at least 12 bytes, its checksum field taken as zero.
std::uint32_t update_packet_sse42(std::uint32_t state, const std::uint8_t* packet,
                                  std::size_t size);
#endif

std::span<const Implementation> implementations();

}  // namespace signalbox::crc32c_detail
