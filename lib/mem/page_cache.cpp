// SPDX-License-Identifier: Apache-2.0
#include "mem/page_cache.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace signalbox::mem {
namespace {

// Pages moved under one hold of the pool's lock.
constexpr std::size_t kBatch = 64;

}  // namespace

PageCache::PageCache(PagePool& pool, std::size_t target_pages)
    : pool_(pool), target_(target_pages), fresh_(target_pages), surplus_(target_pages) {}

PageCache::~PageCache() {
    const auto back = [this](void* page) { pool_.give({&page, 1}); };
    while (void* const page = pop_own()) back(page);
    while (void* const page = fresh_.pop()) back(page);
    while (void* const page = surplus_.pop()) back(page);
}

void* PageCache::pop_own() noexcept {
    void* const page = own_first_;
    if (page == nullptr) return nullptr;
    std::memcpy(&own_first_, page, sizeof own_first_);
    own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return page;
}

void* PageCache::take() noexcept {
    return take_leaving(kept_back_);
}

void* PageCache::take_kept() noexcept {
    return take_leaving(0);
}

void* PageCache::take_leaving(std::size_t kept_back) noexcept {
    void* page = nullptr;
    if (!faults_.refuses() && (kept_back == 0 || available() > kept_back)) {
        page = pop_own();
        if (page == nullptr) page = fresh_.pop();
    }
    if (page == nullptr)
        refusals_.store(refusals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return page;
}

void PageCache::give(void* page) noexcept {
    const std::size_t own = own_.load(std::memory_order_relaxed);
    if (own >= target_ && surplus_.push(page)) return;
    // A full surplus ring is no reason to wait: shed() goes on with it.
    std::memcpy(page, &own_first_, sizeof own_first_);
    own_first_ = page;
    own_.store(own + 1, std::memory_order_relaxed);
}

void PageCache::shed() noexcept {
    while (own_.load(std::memory_order_relaxed) > target_) {
        if (surplus_.size() == surplus_.capacity()) return;
        surplus_.push(pop_own());
    }
}

std::size_t PageCache::top_up() {
    std::array<void*, kBatch> batch;
    std::size_t n = 0;
    // No more than the ring holds at one time, lest a busy worker keep this loop going.
    for (std::size_t left = surplus_.capacity(); left > 0; --left) {
        void* const page = surplus_.pop();
        if (page != nullptr) batch[n++] = page;
        if (n == kBatch || page == nullptr) {
            pool_.give(std::span{batch}.first(n));
            n = 0;
        }
        if (page == nullptr) break;
    }
    pool_.give(std::span{batch}.first(n));

    std::size_t moved = 0;
    const std::size_t held = available();
    std::size_t missing = held < target_ ? target_ - held : 0;
    missing = std::min(missing, fresh_.capacity() - fresh_.size());
    while (missing > 0) {
        const std::size_t got = pool_.take(std::span{batch}.first(std::min(missing, kBatch)));
        if (got == 0) break;
        for (std::size_t i = 0; i < got; ++i) fresh_.push(batch[i]);
        moved += got;
        missing -= got;
    }
    return moved;
}

}  // namespace signalbox::mem
