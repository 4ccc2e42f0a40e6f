// SPDX-License-Identifier: Apache-2.0
// Hints to fetch cache lines that will soon be read or written.
#pragma once
#include <cstddef>
#include <cstdint>

// GCC takes a function that does nothing but prefetch for one without effect and drops its calls:
// all that lead here must be inlined by force.
#define SIGNALBOX_ALWAYS_INLINE __attribute__((always_inline))

namespace signalbox {

inline constexpr std::size_t kCacheLine = 64;

/// All lines of [from, to).
SIGNALBOX_ALWAYS_INLINE inline void prefetch_lines(const void* from, const void* to) {
    auto at = reinterpret_cast<std::uintptr_t>(from) / kCacheLine * kCacheLine;
    for (; at < reinterpret_cast<std::uintptr_t>(to); at += kCacheLine)
        __builtin_prefetch(reinterpret_cast<const void*>(at));
}

}  // namespace signalbox
