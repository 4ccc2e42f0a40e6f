// SPDX-License-Identifier: Apache-2.0
// CRC32c by the crc32 instruction. It takes three cycles but one may start in each, so three
// adjacent blocks are run side by side, and joined by a carry-less multiplication:
//
//   | block a: n words | block b: n words | block c: n words | up to 2 words and 7 bytes |
//   crc = a * x^(2 * 64 n) + b * x^(64 n) + c   (mod P)
//
// Registers are bit-reflected: the product of two 32-bit ones read as 64 bits is one power of x too
// high, and running it through crc32 multiplies by x^32. A shift by m words is therefore a product
// with x^(64 m - 33).
#include "base/crc32c_implementations.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace signalbox::crc32c_detail {
namespace {

// Longest block in one piece: a packet of 2 KB needs no second round. Twice as many shifts.
constexpr std::size_t kMaxBlockWords = 85;

constexpr std::uint32_t times_x(std::uint32_t r) {
    return (r >> 1) ^ ((r & 1) != 0 ? 0x82f63b78u : 0);
}

/// [m] = x^(64 m - 33) mod P; [0] is not used.
constexpr std::array<std::uint32_t, 2 * kMaxBlockWords + 1> make_shifts() {
    std::array<std::uint32_t, 2 * kMaxBlockWords + 1> shifts{};
    std::uint32_t power = 0x80000000u >> 31;  // x^31
    for (std::size_t m = 1; m < shifts.size(); ++m) {
        shifts[m] = power;
        for (unsigned bit = 0; bit < 64; ++bit) power = times_x(power);
    }
    return shifts;
}
constexpr auto kShifts = make_shifts();

std::uint64_t load_word(const std::uint8_t* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

[[gnu::target("sse4.2,pclmul")]] std::uint64_t shifted(std::uint64_t crc, std::size_t words) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                             _mm_cvtsi32_si128(static_cast<int>(kShifts[words])), 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

[[gnu::target("sse4.2,pclmul")]] std::uint64_t three_blocks(std::uint64_t a, const std::uint8_t* p,
                                                            std::size_t words) {
    const std::uint8_t* const second = p + 8 * words;
    const std::uint8_t* const third = second + 8 * words;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < 8 * words; i += 8) {
        a = _mm_crc32_u64(a, load_word(p + i));
        b = _mm_crc32_u64(b, load_word(second + i));
        c = _mm_crc32_u64(c, load_word(third + i));
    }
    return _mm_crc32_u64(0, shifted(a, 2 * words) ^ shifted(b, words)) ^ c;
}

constexpr std::size_t kWindowOrigin = 23;

/// [kWindowOrigin + i] = i for the 16 bytes of a register, and elsewhere what shuffles a zero in.
constexpr auto kWindow = [] {
    std::array<std::uint8_t, kWindowOrigin + 32> window{};
    for (std::size_t i = 0; i < window.size(); ++i) {
        const bool inside = i >= kWindowOrigin && i < kWindowOrigin + 16;
        window[i] = static_cast<std::uint8_t>(inside ? i - kWindowOrigin : 0x80);
    }
    return window;
}();

/// Shuffle that takes bytes `from` to `from` + 15 of a register, zeros where it has none; -23
/// to 16.
[[gnu::target("sse4.2,pclmul")]] __m128i window(std::size_t from) {
    return _mm_loadu_si128(
        reinterpret_cast<const __m128i*>(kWindow.data() + (kWindowOrigin + from)));
}

/// Sizes of packets follow no pattern, and a mispredicted branch costs as much as 100 bytes of CRC.
/// With the state xor-ed into the first bytes the register starts at 0, and zeros in front change
/// nothing: as many are thought there as make three full blocks, so that no tail is left and one
/// loop alone depends on the size.
[[gnu::target("sse4.2,pclmul")]] std::uint64_t zeros_in_front(std::uint32_t state,
                                                              const std::uint8_t* p,
                                                              std::size_t size) {
    const std::size_t words = (size + 23) / 24;
    const std::size_t zeros = 24 * words - size;
    const auto* const at = reinterpret_cast<const __m128i*>(p);
    const __m128i head =
        _mm_xor_si128(_mm_loadu_si128(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    const __m128i upper = window(16 - zeros);
    const __m128i lower = window(0 - zeros);
    const __m128i a01 = _mm_shuffle_epi8(head, lower);
    const __m128i a23 = _mm_or_si128(_mm_shuffle_epi8(head, upper),
                                     _mm_shuffle_epi8(_mm_loadu_si128(at + 1), lower));

    const std::uint8_t* const second = p + (8 * words - zeros);
    const std::uint8_t* const third = second + 8 * words;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    a = _mm_crc32_u64(a, static_cast<std::uint64_t>(_mm_cvtsi128_si64(a01)));
    a = _mm_crc32_u64(a, static_cast<std::uint64_t>(_mm_extract_epi64(a01, 1)));
    a = _mm_crc32_u64(a, static_cast<std::uint64_t>(_mm_cvtsi128_si64(a23)));
    a = _mm_crc32_u64(a, static_cast<std::uint64_t>(_mm_extract_epi64(a23, 1)));
    for (std::size_t i = 0; i < 32; i += 8) {
        b = _mm_crc32_u64(b, load_word(second + i));
        c = _mm_crc32_u64(c, load_word(third + i));
    }
    for (std::size_t i = 32; i < 8 * words; i += 8) {
        a = _mm_crc32_u64(a, load_word(p + (i - zeros)));
        b = _mm_crc32_u64(b, load_word(second + i));
        c = _mm_crc32_u64(c, load_word(third + i));
    }
    return _mm_crc32_u64(0, shifted(a, 2 * words) ^ shifted(b, words)) ^ c;
}

}  // namespace

[[gnu::target("sse4.2,pclmul")]] std::uint32_t update_sse42(std::uint32_t state,
                                                            const std::uint8_t* bytes,
                                                            std::size_t size) {
    // Four words or more in each block, and no more than the shifts are known for.
    if (size > 3 * 24 && size <= kMaxBlockWords * 24)
        return static_cast<std::uint32_t>(zeros_in_front(state, bytes, size));
    std::uint64_t crc = state;
    // Under 6 words the multiplication costs more than it saves.
    while (size >= 6 * 8) {
        const std::size_t words = std::min(size / (3 * 8), kMaxBlockWords);
        crc = three_blocks(crc, bytes, words);
        bytes += 3 * 8 * words;
        size -= 3 * 8 * words;
    }
    for (; size >= 8; size -= 8, bytes += 8) crc = _mm_crc32_u64(crc, load_word(bytes));
    auto crc32 = static_cast<std::uint32_t>(crc);
    if ((size & 4) != 0) {
        std::uint32_t half;
        std::memcpy(&half, bytes, sizeof half);
        crc32 = _mm_crc32_u32(crc32, half);
        bytes += 4;
    }
    for (size &= 3; size > 0; --size, ++bytes) crc32 = _mm_crc32_u8(crc32, *bytes);
    return crc32;
}

[[gnu::target("sse4.2,pclmul")]] std::uint32_t update_packet_sse42(std::uint32_t state,
                                                                   const std::uint8_t* packet,
                                                                   std::size_t size) {
    const std::uint64_t ports_and_tag = _mm_crc32_u64(state, load_word(packet));
    const std::uint32_t header = _mm_crc32_u32(static_cast<std::uint32_t>(ports_and_tag), 0);
    return update_sse42(header, packet + 12, size - 12);
}

}  // namespace signalbox::crc32c_detail
#endif
