// SPDX-License-Identifier: Apache-2.0
// An array whose elements live in pages that are taken on first use: no allocation is larger than a
// page, growth never moves an element, and freeing is cut into slices (design.md, 8).
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mem/page_source.h"
#include "mem/page_tree.h"

namespace signalbox::mem {

/// Not an owner in the sense of a destructor: call release() until it is true, with the page source
/// that at() and ensure() were given. Its bytes may be moved; a copy is the same array, not a
/// second one.
template <class T>
class PagedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(std::has_single_bit(sizeof(T)) && sizeof(T) <= kPageBytes);

 public:
    static constexpr std::size_t kMaxSize = 65536;
    static constexpr std::size_t kPerPage = kPageBytes / sizeof(T);

    std::size_t size() const noexcept { return size_; }
    /// Sets the logical size; takes and gives no page. What lies beyond a smaller size is out of
    /// reach, not cleared. False when n > kMaxSize.
    bool resize(PageSource&, std::size_t n) noexcept {
        if (n > kMaxSize) return false;
        size_ = static_cast<std::uint32_t>(n);
        return true;
    }
    /// Zero bytes on first use; nullptr when i >= size() or the page is refused.
    T* at(PageSource& source, std::size_t i) noexcept {
        if (i >= size_) return nullptr;
        return element(tree_.at(source, i / kPerPage), i);
    }
    /// nullptr when i >= size() or the element's page was never used. Takes no page.
    T* find(std::size_t i) noexcept {
        return i < size_ ? element(tree_.find(i / kPerPage), i) : nullptr;
    }
    const T* find(std::size_t i) const noexcept {
        return i < size_ ? element(tree_.find(i / kPerPage), i) : nullptr;
    }
    /// Grows to at least `count` elements whose pages are all there; false, and nothing changed,
    /// when a page is refused or count > kMaxSize.
    bool ensure(PageSource& source, std::size_t count) noexcept {
        if (count > kMaxSize) return false;
        if (!tree_.ensure(source, (count + kPerPage - 1) / kPerPage)) return false;
        if (count > size_) size_ = static_cast<std::uint32_t>(count);
        return true;
    }
    /// Empties the array, at most max_pages (> 0) pages at a time; true when no page is left.
    bool release(PageSource& source, std::size_t max_pages) noexcept {
        size_ = 0;
        return tree_.release(source, max_pages);
    }
    /// Pages held, directories included.
    std::size_t pages() const noexcept { return tree_.pages(); }

 private:
    static T* element(void* page, std::size_t i) noexcept {
        return page == nullptr ? nullptr : static_cast<T*>(page) + i % kPerPage;
    }
    PageTree tree_;
    std::uint32_t size_ = 0;
};

static_assert(sizeof(PagedArray<std::uint64_t>) <= 32);
static_assert(std::is_trivially_copyable_v<PagedArray<std::uint64_t>>);

}  // namespace signalbox::mem
