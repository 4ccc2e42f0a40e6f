// SPDX-License-Identifier: Apache-2.0
// All pages of the node that nobody holds. It has a lock, so only the control thread and the set-up
// use it; workers have a mem/page_cache.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "mem/page_source.h"

namespace signalbox::mem {

class PagePool {
 public:
    /// Carves the region, which must outlive the pool, into aligned pages; what is left at its ends
    /// is not used. Pages are not touched before they are first taken.
    PagePool(void* region, std::size_t bytes);
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    /// Fills `out` from its start; returns how many pages there were.
    std::size_t take(std::span<void*> out);
    void give(std::span<void* const> pages);
    std::size_t free_pages() const;
    std::size_t total_pages() const { return total_; }

 private:
    mutable std::mutex mutex_;
    std::uint8_t* first_ = nullptr;
    std::size_t total_ = 0;
    std::size_t fresh_from_ = 0;  // under mutex_; pages from here on were never out
    void* given_back_ = nullptr;  // under mutex_; each page holds the address of the next
    std::size_t free_ = 0;        // under mutex_
};

}  // namespace signalbox::mem
