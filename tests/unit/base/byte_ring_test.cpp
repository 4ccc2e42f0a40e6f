// SPDX-License-Identifier: Apache-2.0
#include "base/byte_ring.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "base/random.h"

using namespace signalbox;

namespace {

bool put(ByteRing& ring, const std::vector<std::uint8_t>& record) {
    const auto room = ring.reserve(record.size());
    if (room.empty()) return false;
    std::copy(record.begin(), record.end(), room.begin());
    ring.commit(record.size());
    return true;
}

std::vector<std::uint8_t> get(ByteRing& ring) {
    const auto record = ring.front();
    std::vector<std::uint8_t> out(record.begin(), record.end());
    if (!out.empty()) ring.pop();
    return out;
}

}  // namespace

TEST_CASE("RING-1: a record comes out as it went in, whole and aligned") {
    ByteRing ring{4096};
    CHECK(ring.front().empty());
    CHECK(put(ring, {1, 2, 3}));
    CHECK(put(ring, {4}));
    CHECK(ring.front().size() == 3);
    CHECK(reinterpret_cast<std::uintptr_t>(ring.front().data()) % 8 == 0);
    CHECK(get(ring) == std::vector<std::uint8_t>{1, 2, 3});
    CHECK(get(ring) == std::vector<std::uint8_t>{4});
    CHECK(get(ring).empty());
}

TEST_CASE("RING-1: a reservation is published only by commit, and may be cut") {
    ByteRing ring{4096};
    const auto room = ring.reserve(100);
    REQUIRE(room.size() == 100);
    CHECK(ring.front().empty());
    room[0] = 9;
    ring.commit(1);
    CHECK(get(ring) == std::vector<std::uint8_t>{9});
    CHECK(ring.reserve(50).size() == 50);  // abandoned
    CHECK(put(ring, {7}));
    CHECK(get(ring) == std::vector<std::uint8_t>{7});
}

TEST_CASE("RING-1: a full ring refuses and takes again once there is room") {
    ByteRing ring{4096};
    const std::vector<std::uint8_t> record(56, 5);  // 64 with its header
    std::size_t n = 0;
    while (put(ring, record)) ++n;
    CHECK(n == 64);
    CHECK(get(ring) == record);
    CHECK(put(ring, record));
    CHECK_FALSE(put(ring, {1}));
}

TEST_CASE("RING-1: empty records and records larger than the ring are refused") {
    ByteRing ring{4096};
    CHECK(ring.reserve(0).empty());
    CHECK(ring.reserve(4089).empty());
    CHECK(ring.reserve(~std::size_t{0}).empty());
    CHECK(ring.reserve(4088).size() == 4088);
}

TEST_CASE("RING-1: a record as large as the ring fits from any place in the end") {
    for (std::size_t before = 1; before < 4000; before += 333) {
        ByteRing ring{4096};
        REQUIRE(put(ring, std::vector<std::uint8_t>(before, 1)));
        CHECK_FALSE(put(ring, std::vector<std::uint8_t>(4088, 2)));
        CHECK(get(ring).size() == before);
        CHECK(get(ring).empty());
        CHECK(put(ring, std::vector<std::uint8_t>(4088, 2)));
        CHECK(get(ring) == std::vector<std::uint8_t>(4088, 2));
    }
}

TEST_CASE("RING-1: the ring does what a queue does, over random records") {
    ByteRing ring{4096};
    std::deque<std::vector<std::uint8_t>> model;
    RandomSource random{11};
    std::size_t refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        if (random.below(2) == 0) {
            std::vector<std::uint8_t> record(1 + random.below(random.below(20) == 0 ? 4088 : 300));
            random.fill(record);
            if (put(ring, record))
                model.push_back(record);
            else
                ++refused;
        } else if (model.empty()) {
            REQUIRE(get(ring).empty());
        } else {
            REQUIRE(get(ring) == model.front());
            model.pop_front();
        }
    }
    CHECK(refused > 100);
}
