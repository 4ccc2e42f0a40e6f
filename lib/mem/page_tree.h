// SPDX-License-Identifier: Apache-2.0
// Pages by index, 0 .. 262,143, behind mem/paged_array.h. Directories are pages too, and the tree
// is only as deep as the highest index in use wants:
//
//   depth 0: root is page 0        depth 1: root -> 512 pages       depth 2: root -> 512
//   directories -> pages
#pragma once
#include <cstddef>
#include <cstdint>

#include "mem/page_source.h"

namespace signalbox::mem {

/// No destructor: release() before dropping it. Moving the bytes moves the tree.
class PageTree {
 public:
    static constexpr std::size_t kFanout = kPageBytes / sizeof(void*);
    static constexpr std::size_t kMaxIndex = kFanout * kFanout - 1;

    /// The page, or nullptr when it was never taken.
    void* find(std::size_t index) const noexcept;
    /// The page, taken and zeroed on first use; nullptr, and nothing changed, when a page is
    /// refused.
    void* at(PageSource& source, std::size_t index) noexcept;
    /// Takes all missing pages below `count`, or none of them.
    bool ensure(PageSource& source, std::size_t count) noexcept;
    /// Gives back up to max_pages (> 0, < 2^32) pages; true when none is left. Call until then.
    bool release(PageSource& source, std::size_t max_pages) noexcept;
    /// Pages held, directories included.
    std::size_t pages() const noexcept { return pages_; }

 private:
    struct Stock;
    std::size_t missing_for(std::size_t index) const noexcept;
    std::size_t missing_below(std::size_t count) const noexcept;
    void* install(Stock& stock, std::size_t index) noexcept;
    std::size_t release_step(PageSource& source) noexcept;

    void* root_ = nullptr;
    std::uint32_t pages_ = 0;
    std::uint32_t release_from_ = 0;  // index at which release() goes on
    std::uint32_t depth_ = 0;
};

}  // namespace signalbox::mem
