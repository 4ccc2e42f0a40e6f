// SPDX-License-Identifier: Apache-2.0
// Blocks of 64 to 4096 bytes carved from pages: one worker's, no lock, constant time, refusal
// instead of waiting. Queued and out-of-order DATA, paths beyond the inline ones and TSN maps live
// here.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "mem/fault_point.h"
#include "mem/page_source.h"

namespace signalbox::mem {

class BlockPool {
 public:
    static constexpr std::size_t kMinBytes = 64;
    static constexpr std::size_t kMaxBytes = kPageBytes;

    explicit BlockPool(PageSource& pages) noexcept : pages_(pages) {}
    ~BlockPool();
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;

    /// At least `bytes` (<= kMaxBytes) bytes, aligned to 64; nullptr when no page is at hand or
    /// bytes > kMaxBytes.
    void* take(std::size_t bytes) noexcept;
    /// `bytes` is what was asked for in take().
    void give(void* block, std::size_t bytes) noexcept;

    /// While it is on, take() may also use what the source keeps back (PageSource::take_kept()).
    /// Such a page holds nothing else and goes back as soon as it is free: what lives long in
    /// blocks of the ordinary kind never sits in one.
    void use_kept(bool on) noexcept { kept_allowed_ = on; }

    /// Blocks out now; 0 when every owner has given all of its blocks back.
    std::size_t blocks_in_use() const noexcept { return in_use_; }
    std::size_t pages_held() const noexcept { return pages_held_; }
    /// Gives back the free page that each class keeps so as not to ask for one at every turn.
    void trim() noexcept;
    FaultPoint& faults() noexcept { return faults_; }

 private:
    static constexpr std::size_t kClasses = 7;  // the last one is whole pages
    struct Page;
    void* take_page(bool kept) noexcept;
    void give_page(void* page) noexcept;
    void link(Page& page) noexcept;
    void unlink(Page& page) noexcept;
    Page* page_with_room(std::size_t size_class) noexcept;
    Page* kept_page_with_room(std::size_t size_class) noexcept;
    Page* fresh_page(std::size_t size_class, bool kept) noexcept;
    Page*& partial(const Page& page) noexcept;
    PageSource& pages_;
    std::array<Page*, kClasses> partial_{};       // pages with blocks out and blocks free, by class
    std::array<Page*, kClasses> spare_{};         // one page with all blocks free, by class
    std::array<Page*, kClasses> kept_partial_{};  // the same as partial_, of pages kept back
    FaultPoint faults_;
    std::size_t in_use_ = 0;
    std::size_t pages_held_ = 0;
    bool kept_allowed_ = false;
};

}  // namespace signalbox::mem
