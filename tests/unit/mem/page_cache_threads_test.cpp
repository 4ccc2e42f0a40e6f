// SPDX-License-Identifier: Apache-2.0
// In an executable of its own, so that it can be run alone under ThreadSanitizer.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "mem/page_cache.h"

using namespace signalbox::mem;

TEST_CASE("MEM-4: a worker and the control thread share a cache without losing a page") {
    constexpr std::size_t kPages = 200;
    std::vector<std::uint8_t> region((kPages + 1) * kPageBytes);
    PagePool pool{region.data(), region.size()};
    REQUIRE(pool.total_pages() >= kPages);
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> spoilt{0};
    {
        PageCache cache{pool, 16};
        std::thread worker{[&] {
            std::vector<std::uint8_t*> held;
            for (unsigned round = 0; round < 20'000; ++round) {
                const bool growing = round % 400 < 200;
                if (growing) {
                    if (void* const page = cache.take()) {
                        held.push_back(static_cast<std::uint8_t*>(page));
                        std::memset(page, static_cast<int>(held.size()), 64);
                    }
                } else if (!held.empty()) {
                    spoilt += held.back()[63] != static_cast<std::uint8_t>(held.size());
                    cache.give(held.back());
                    held.pop_back();
                }
                if (round % 64 == 0) std::this_thread::yield();
            }
            for (std::uint8_t* const page : held) cache.give(page);
            stop = true;
        }};
        while (!stop) {
            cache.top_up();
            std::this_thread::yield();
        }
        worker.join();
    }
    CHECK(spoilt == 0);
    CHECK(pool.free_pages() == pool.total_pages());
}
