// SPDX-License-Identifier: Apache-2.0
#include "mem/page_pool.h"

#include <cassert>
#include <cstring>
#include <memory>

namespace signalbox::mem {

PagePool::PagePool(void* region, std::size_t bytes) {
    void* start = region;
    if (std::align(kPageBytes, kPageBytes, start, bytes) == nullptr) return;
    first_ = static_cast<std::uint8_t*>(start);
    total_ = bytes / kPageBytes;
    free_ = total_;
}

std::size_t PagePool::take(std::span<void*> out) {
    const std::lock_guard lock{mutex_};
    std::size_t n = 0;
    for (; n < out.size() && free_ > 0; ++n, --free_) {
        if (given_back_ != nullptr) {
            out[n] = given_back_;
            std::memcpy(&given_back_, given_back_, sizeof given_back_);
        } else {
            out[n] = first_ + kPageBytes * fresh_from_++;
        }
    }
    return n;
}

void PagePool::give(std::span<void* const> pages) {
    const std::lock_guard lock{mutex_};
    for (void* const page : pages) {
        assert(page >= first_ && page < first_ + total_ * kPageBytes);
        std::memcpy(page, &given_back_, sizeof given_back_);
        given_back_ = page;
        ++free_;
    }
    assert(free_ <= total_);
}

std::size_t PagePool::free_pages() const {
    const std::lock_guard lock{mutex_};
    return free_;
}

}  // namespace signalbox::mem
