// SPDX-License-Identifier: Apache-2.0
#include "mem/page_pool.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "mem/page_cache.h"

using namespace signalbox::mem;

namespace {

/// One byte behind a page's start: the pool has to skip the rest of that page.
struct Region {
    explicit Region(std::size_t pages)
        : bytes((pages + 2) * kPageBytes), pool(start(), (pages + 1) * kPageBytes - 1) {}
    std::uint8_t* start() {
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data()) % kPageBytes;
        return bytes.data() + (kPageBytes - at) % kPageBytes + 1;
    }
    std::vector<std::uint8_t> bytes;
    PagePool pool;
};

}  // namespace

TEST_CASE("MEM-4: a pool hands out every page of its region once, aligned, and takes them back") {
    Region region{10};
    PagePool& pool = region.pool;
    CHECK(pool.total_pages() == 10);
    CHECK(pool.free_pages() == 10);
    std::array<void*, 16> pages{};
    CHECK(pool.take(std::span{pages}.first(4)) == 4);
    CHECK(pool.take(std::span{pages}.subspan(4)) == 6);
    CHECK(pool.free_pages() == 0);
    std::set<void*> distinct;
    for (std::size_t i = 0; i < 10; ++i) {
        CHECK(reinterpret_cast<std::uintptr_t>(pages[i]) % kPageBytes == 0);
        std::memset(pages[i], static_cast<int>(i), kPageBytes);
        distinct.insert(pages[i]);
    }
    CHECK(distinct.size() == 10);
    CHECK(pool.take(pages) == 0);
    pool.give(std::span{pages}.first(10));
    CHECK(pool.free_pages() == 10);
    CHECK(pool.take(pages) == 10);
    pool.give(std::span{pages}.first(10));
}

TEST_CASE("MEM-4: a region without room for a page makes an empty pool") {
    std::array<std::uint8_t, 100> small{};
    PagePool pool{small.data(), small.size()};
    std::array<void*, 1> page{};
    CHECK(pool.total_pages() == 0);
    CHECK(pool.take(page) == 0);
}

TEST_CASE("MEM-4: a cache refuses until it is topped up, and counts that") {
    Region region{100};
    PageCache cache{region.pool, 20};
    CHECK(cache.take() == nullptr);
    CHECK(cache.refusals() == 1);
    CHECK(cache.top_up() == 20);
    CHECK(cache.available() == 20);
    CHECK(region.pool.free_pages() == 80);
    CHECK(cache.top_up() == 0);
    for (int i = 0; i < 20; ++i) CHECK(cache.take() != nullptr);
    CHECK(cache.take() == nullptr);
    CHECK(cache.refusals() == 2);
    CHECK(cache.top_up() == 20);
}

TEST_CASE("MEM-4: what a worker gives beyond the target goes back to the pool") {
    Region region{100};
    std::vector<void*> pages;
    PageCache cache{region.pool, 10};
    while (pages.size() < 90) {
        cache.top_up();
        while (void* const page = cache.take()) pages.push_back(page);
    }
    for (void* const page : pages) cache.give(page);
    CHECK(cache.available() >= 10);
    for (int i = 0; i < 10; ++i) cache.top_up();
    // More came in one heap than the surplus ring (16) holds; the rest goes a ring's worth a turn.
    CHECK(region.pool.free_pages() + cache.available() == 100);
    CHECK(cache.available() > 20);
    for (int i = 0; i < 6; ++i) {
        cache.shed();
        cache.top_up();
    }
    CHECK(cache.available() == 10);
    CHECK(region.pool.free_pages() == 90);
}

TEST_CASE("MEM-4: a cache gives all its pages back when it ends, and an empty pool is no error") {
    Region region{5};
    {
        PageCache a{region.pool, 8};
        PageCache b{region.pool, 8};
        CHECK(a.top_up() == 5);
        CHECK(b.top_up() == 0);
        void* const page = a.take();
        CHECK(b.take() == nullptr);
        a.give(page);
    }
    CHECK(region.pool.free_pages() == 5);
}
