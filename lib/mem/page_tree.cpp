// SPDX-License-Identifier: Apache-2.0
#include "mem/page_tree.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace signalbox::mem {
namespace {

// Looking at an empty slot is cheap beside giving a page; so many looks are worth one page of a
// slice.
constexpr std::size_t kLooksPerPage = 64;

void** entries(void* directory) {
    return static_cast<void**>(directory);
}

constexpr std::uint32_t depth_for(std::size_t index) {
    if (index == 0) return 0;
    return index < PageTree::kFanout ? 1 : 2;
}

}  // namespace

/// Pages taken before anything is changed, so that a refusal half-way leaves no trace.
struct PageTree::Stock {
    void* first = nullptr;

    static bool fill(PageSource& source, std::size_t n, Stock& stock) {
        for (; n > 0; --n) {
            void* const page = source.take();
            if (page == nullptr) {
                stock.drain(source);
                return false;
            }
            std::memcpy(page, &stock.first, sizeof stock.first);
            stock.first = page;
        }
        return true;
    }
    void drain(PageSource& source) {
        while (first != nullptr) {
            void* const page = first;
            std::memcpy(&first, page, sizeof first);
            source.give(page);
        }
    }
    void* pop_zeroed() {
        void* const page = first;
        assert(page != nullptr);
        std::memcpy(&first, page, sizeof first);
        std::memset(page, 0, kPageBytes);
        return page;
    }
};

void* PageTree::find(std::size_t index) const noexcept {
    if (depth_for(index) > depth_) return nullptr;
    if (depth_ == 0) return root_;
    void** directory = entries(root_);
    if (depth_ == 2) directory = entries(directory[index / kFanout]);
    return directory == nullptr ? nullptr : directory[index % kFanout];
}

/// Pages that at(index) has to take.
std::size_t PageTree::missing_for(std::size_t index) const noexcept {
    if (find(index) != nullptr) return 0;
    if (root_ == nullptr) return 1 + depth_for(index);  // the page and its directories
    const std::uint32_t wanted = depth_for(index);
    if (wanted > depth_) {
        // New roots above the old one; from depth 0 or 1 to 2 a second directory for the new page.
        return wanted - depth_ + 1 + (wanted == 2 ? 1 : 0);
    }
    const bool directory_there = depth_ < 2 || entries(root_)[index / kFanout] != nullptr;
    return directory_there ? 1 : 2;
}

/// Puts a page, which is not there, at the index. `stock` holds missing_for(index) pages or more.
void* PageTree::install(Stock& stock, std::size_t index) noexcept {
    const auto fresh = [&] {
        ++pages_;
        return stock.pop_zeroed();
    };
    const std::uint32_t wanted = depth_for(index);
    if (root_ == nullptr) {
        if (wanted > 0) root_ = fresh();
        depth_ = wanted;
    }
    for (; depth_ < wanted; ++depth_) {
        void* const above = fresh();
        entries(above)[0] = root_;
        root_ = above;
    }
    release_from_ = 0;
    if (depth_ == 0) return root_ = fresh();
    void** directory = entries(root_);
    if (depth_ == 2) {
        void*& below = directory[index / kFanout];
        if (below == nullptr) below = fresh();
        directory = entries(below);
    }
    return directory[index % kFanout] = fresh();
}

void* PageTree::at(PageSource& source, std::size_t index) noexcept {
    if (void* const page = find(index)) return page;
    if (index > kMaxIndex) return nullptr;
    Stock stock;
    if (!Stock::fill(source, missing_for(index), stock)) return nullptr;
    void* const page = install(stock, index);
    assert(stock.first == nullptr);
    return page;
}

/// Pages that ensure(count) has to take: data pages, then the directories above them.
std::size_t PageTree::missing_below(std::size_t count) const noexcept {
    std::size_t missing = 0;
    for (std::size_t index = 0; index < count; ++index) missing += find(index) == nullptr;
    if (missing == 0) return 0;
    const std::uint32_t wanted =
        root_ == nullptr ? depth_for(count - 1) : std::max(depth_, depth_for(count - 1));
    const std::uint32_t have = root_ == nullptr ? 0 : depth_;
    if (wanted >= 1 && have == 0) ++missing;  // the only or the first directory
    if (wanted < 2) return missing;
    if (have < 2) ++missing;  // the root above it
    const std::size_t directories = (count + kFanout - 1) / kFanout;
    for (std::size_t d = 1; d < directories; ++d)
        missing += have < 2 || entries(root_)[d] == nullptr;
    missing += have == 2 && entries(root_)[0] == nullptr;
    return missing;
}

bool PageTree::ensure(PageSource& source, std::size_t count) noexcept {
    if (count > kMaxIndex + 1) return false;
    Stock stock;
    if (!Stock::fill(source, missing_below(count), stock)) return false;
    for (std::size_t index = 0; index < count; ++index)
        if (find(index) == nullptr) install(stock, index);
    assert(stock.first == nullptr);
    return true;
}

/// Gives one page or looks at one slot; returns what that costs, in looks.
std::size_t PageTree::release_step(PageSource& source) noexcept {
    const auto give = [&](void*& page) {
        source.give(page);
        page = nullptr;
        --pages_;
        return kLooksPerPage;
    };
    if (pages_ == 1) {  // the root, and nothing below it
        const std::size_t cost = give(root_);
        *this = PageTree{};
        return cost;
    }
    void** directory = entries(root_);
    const std::size_t place = release_from_ % kFanout;
    if (depth_ == 2) {
        const std::size_t top = release_from_ / kFanout;
        if (place == 0 && top > 0 && directory[top - 1] != nullptr) return give(directory[top - 1]);
        assert(top < kFanout);
        if (directory[top] == nullptr) {
            release_from_ += kFanout;
            return 1;
        }
        directory = entries(directory[top]);
    }
    ++release_from_;
    return directory[place] == nullptr ? 1 : give(directory[place]);
}

bool PageTree::release(PageSource& source, std::size_t max_pages) noexcept {
    assert(max_pages > 0);
    std::size_t looks = max_pages * kLooksPerPage;
    while (root_ != nullptr && looks > 0) looks -= std::min(looks, release_step(source));
    return root_ == nullptr;
}

}  // namespace signalbox::mem
