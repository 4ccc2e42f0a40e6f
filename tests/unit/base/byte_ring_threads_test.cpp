// SPDX-License-Identifier: Apache-2.0
// In an executable of its own, so that it can be run alone under ThreadSanitizer.
#include <catch2/catch.hpp>
#include <thread>

#include "base/byte_ring.h"

using namespace signalbox;

namespace {

std::size_t size_of(std::uint64_t n) {
    return 1 + n * 7919 % 500;
}
std::uint8_t byte_of(std::uint64_t n, std::size_t i) {
    return static_cast<std::uint8_t>(n + i);
}

void produce(ByteRing& ring, std::uint64_t records) {
    for (std::uint64_t n = 0; n < records; ++n) {
        auto room = ring.reserve(size_of(n));
        while (room.empty()) {
            std::this_thread::yield();
            room = ring.reserve(size_of(n));
        }
        for (std::size_t i = 0; i < room.size(); ++i) room[i] = byte_of(n, i);
        ring.commit(room.size());
    }
}

/// Number of wrong records.
std::uint64_t consume(ByteRing& ring, std::uint64_t records) {
    std::uint64_t wrong = 0;
    for (std::uint64_t n = 0; n < records; ++n) {
        auto record = ring.front();
        while (record.empty()) {
            std::this_thread::yield();
            record = ring.front();
        }
        bool good = record.size() == size_of(n);
        for (std::size_t i = 0; i < record.size() && good; ++i) good = record[i] == byte_of(n, i);
        wrong += !good;
        ring.pop();
    }
    return wrong;
}

}  // namespace

TEST_CASE("RING-1: two threads pass records through a ring without loss, change or reordering") {
    constexpr std::uint64_t kRecords = 50'000;
    ByteRing ring{4096};
    std::thread producer{[&] { produce(ring, kRecords); }};
    const std::uint64_t wrong = consume(ring, kRecords);
    producer.join();
    CHECK(wrong == 0);
    CHECK(ring.front().empty());
}
