// SPDX-License-Identifier: Apache-2.0
// A page of blocks: the header takes one line of 64 bytes, so that every block keeps its alignment
// and finds its header by masking. What the header leaves (4032 bytes) sets the sizes from 512 up:
// a page split in two halves less the header holds two blocks of 1984, not one of 2048. Whole pages
// have no header.
#include "mem/block_pool.h"

#include <cassert>
#include <cstring>

#include "mem/poison.h"

namespace signalbox::mem {

struct alignas(64) BlockPool::Page {
    Page* next;
    Page* prev;
    void* free;            // blocks given back, each holding the address of the next
    std::uint16_t in_use;  // blocks out
    std::uint16_t fresh;   // blocks at the end that were never out: a new page is not walked
    std::uint8_t size_class;
    bool kept;  // its source keeps it back for what must not fail
};

namespace {

constexpr std::size_t kHeaderBytes = 64;  // sizeof(Page)
constexpr std::array<std::uint16_t, 7> kBlockBytes{64, 128, 256, 576, 1344, 1984, kPageBytes};
constexpr std::size_t kWholePage = kBlockBytes.size() - 1;

constexpr std::uint16_t blocks_per_page(std::size_t size_class) {
    return static_cast<std::uint16_t>((kPageBytes - kHeaderBytes) / kBlockBytes[size_class]);
}

/// [n] = the smallest class that holds n * 64 bytes.
constexpr auto kClassOfLines = [] {
    std::array<std::uint8_t, kPageBytes / 64 + 1> classes{};
    std::uint8_t size_class = 0;
    for (std::size_t lines = 0; lines < classes.size(); ++lines) {
        while (lines * 64 > kBlockBytes[size_class]) ++size_class;
        classes[lines] = size_class;
    }
    return classes;
}();

constexpr std::size_t class_of(std::size_t bytes) {
    return kClassOfLines[(bytes + 63) / 64];
}

static_assert(blocks_per_page(0) == 63 && blocks_per_page(4) == 3 && blocks_per_page(5) == 2);
static_assert(class_of(0) == 0 && class_of(64) == 0 && class_of(65) == 1);
static_assert(class_of(1984) == 5 && class_of(1985) == kWholePage && class_of(4096) == kWholePage);

}  // namespace

BlockPool::~BlockPool() {
    // Pages with blocks still out stay out: their owners may yet touch them.
    trim();
}

void BlockPool::trim() noexcept {
    for (Page*& spare : spare_) {
        if (spare == nullptr) continue;
        give_page(spare);
        spare = nullptr;
    }
}

void* BlockPool::take_page(bool kept) noexcept {
    void* const page = kept ? pages_.take_kept() : pages_.take();
    if (page == nullptr) return nullptr;
    unpoison(page, kPageBytes);
    ++pages_held_;
    return page;
}

void BlockPool::give_page(void* page) noexcept {
    unpoison(page, kPageBytes);
    --pages_held_;
    pages_.give(page);
}

BlockPool::Page*& BlockPool::partial(const Page& page) noexcept {
    return (page.kept ? kept_partial_ : partial_)[page.size_class];
}

void BlockPool::link(Page& page) noexcept {
    Page*& head = partial(page);
    page.prev = nullptr;
    page.next = head;
    if (head != nullptr) head->prev = &page;
    head = &page;
}

void BlockPool::unlink(Page& page) noexcept {
    if (page.prev != nullptr)
        page.prev->next = page.next;
    else
        partial(page) = page.next;
    if (page.next != nullptr) page.next->prev = page.prev;
}

BlockPool::Page* BlockPool::page_with_room(std::size_t size_class) noexcept {
    if (partial_[size_class] != nullptr) return partial_[size_class];
    Page* const page = spare_[size_class];
    spare_[size_class] = nullptr;
    if (page == nullptr) return fresh_page(size_class, false);
    link(*page);
    return page;
}

BlockPool::Page* BlockPool::kept_page_with_room(std::size_t size_class) noexcept {
    if (kept_partial_[size_class] != nullptr) return kept_partial_[size_class];
    return fresh_page(size_class, true);
}

BlockPool::Page* BlockPool::fresh_page(std::size_t size_class, bool kept) noexcept {
    void* const raw = take_page(kept);
    if (raw == nullptr) return nullptr;
    auto* const page = static_cast<Page*>(raw);
    *page = Page{.next = nullptr,
                 .prev = nullptr,
                 .free = nullptr,
                 .in_use = 0,
                 .fresh = blocks_per_page(size_class),
                 .size_class = static_cast<std::uint8_t>(size_class),
                 .kept = kept};
    poison(page + 1, kPageBytes - kHeaderBytes);
    link(*page);
    return page;
}

void* BlockPool::take(std::size_t bytes) noexcept {
    if (bytes > kMaxBytes || faults_.refuses()) return nullptr;
    const std::size_t size_class = class_of(bytes);
    if (size_class == kWholePage) {
        void* block = take_page(false);
        if (block == nullptr && kept_allowed_) block = take_page(true);
        in_use_ += block != nullptr;
        return block;
    }
    Page* page = page_with_room(size_class);
    if (page == nullptr && kept_allowed_) page = kept_page_with_room(size_class);
    if (page == nullptr) return nullptr;
    void* block = page->free;
    if (block != nullptr) {
        unpoison(block, sizeof page->free);
        std::memcpy(&page->free, block, sizeof page->free);
    } else {
        --page->fresh;
        const std::size_t from_end = (page->fresh + std::size_t{1}) * kBlockBytes[size_class];
        block = reinterpret_cast<std::uint8_t*>(page) + kPageBytes - from_end;
    }
    unpoison(block, bytes);
    ++page->in_use;
    ++in_use_;
    if (page->free == nullptr && page->fresh == 0) unlink(*page);
    return block;
}

void BlockPool::give(void* block, std::size_t bytes) noexcept {
    assert(block != nullptr && bytes <= kMaxBytes && in_use_ > 0);
    --in_use_;
    const std::size_t size_class = class_of(bytes);
    if (size_class == kWholePage) return give_page(block);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    Page* const page = reinterpret_cast<Page*>(address & ~std::uintptr_t{kPageBytes - 1});
    assert(page->size_class == size_class && page->in_use > 0);
    const bool was_full = page->free == nullptr && page->fresh == 0;
    unpoison(block, sizeof page->free);  // the block may have been asked for shorter than a link
    std::memcpy(block, &page->free, sizeof page->free);
    page->free = block;
    poison(block, kBlockBytes[size_class]);
    --page->in_use;
    if (was_full) link(*page);
    if (page->in_use > 0) return;
    unlink(*page);
    if (spare_[size_class] == nullptr && !page->kept)
        spare_[size_class] = page;
    else
        give_page(page);
}

}  // namespace signalbox::mem
