// SPDX-License-Identifier: Apache-2.0
// Tells AddressSanitizer which memory of a pool is nobody's, so that the fuzzers and the simulator
// find a use after give() as they would after free(). Without the sanitizer there is nothing to it.
#pragma once
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIGNALBOX_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SIGNALBOX_POISON 1
#endif

#if defined(SIGNALBOX_POISON)
#include <sanitizer/asan_interface.h>
#endif

namespace signalbox::mem {

#if defined(SIGNALBOX_POISON)
inline void poison(void* at, std::size_t bytes) {
    ASAN_POISON_MEMORY_REGION(at, bytes);
}
inline void unpoison(void* at, std::size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
}
#else
inline void poison(void*, std::size_t) {}
inline void unpoison(void*, std::size_t) {}
#endif

}  // namespace signalbox::mem
