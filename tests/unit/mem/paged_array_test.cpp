// SPDX-License-Identifier: Apache-2.0
#include "mem/paged_array.h"

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "base/random.h"
#include "counting_source.h"

using namespace signalbox;
using namespace signalbox::mem;

namespace {

using Numbers = PagedArray<std::uint64_t>;  // 512 to a page: 128 pages, one directory
struct Line {
    std::array<std::uint64_t, 8> words;
};
using Lines = PagedArray<Line>;  // 64 to a page: 1024 pages, two levels

template <class Array>
void release_all(Array& array, CountingSource& source) {
    while (!array.release(source, 5)) {
    }
    CHECK(array.pages() == 0);
    CHECK(source.wrong_gives == 0);
}

}  // namespace

TEST_CASE("MEM-3: an array that nobody used holds no page, whatever its size") {
    CountingSource source;
    Lines array;
    CHECK(sizeof(array) <= 32);
    CHECK(array.resize(source, 65535));
    CHECK(array.size() == 65535);
    CHECK(array.find(0) == nullptr);
    CHECK(array.find(65534) == nullptr);
    CHECK(source.out() == 0);
    CHECK(array.release(source, 1));
    CHECK_FALSE(array.resize(source, 65537));
    CHECK(array.resize(source, 65536));
}

TEST_CASE("MEM-3, STR-2: pages are taken on first use, zeroed, and elements never move") {
    CountingSource source;
    Numbers array;
    array.resize(source, 65536);
    std::uint64_t* const first = array.at(source, 3);
    REQUIRE(first != nullptr);
    CHECK(source.out() == 1);  // no directory for the first page
    CHECK(*first == 0);
    *first = 77;
    CHECK(*array.at(source, 511) == 0);
    CHECK(source.out() == 1);
    CHECK(*array.at(source, 65535) == 0);
    CHECK(source.out() == 3);
    CHECK(array.pages() == 3);
    CHECK(array.find(3) == first);
    CHECK(*array.find(3) == 77);
    CHECK(array.find(512) == nullptr);
    CHECK(array.find(65536) == nullptr);
    CHECK(array.at(source, 65536) == nullptr);
    release_all(array, source);
    CHECK(source.out() == 0);
}

TEST_CASE("STR-1: no element crosses a page, whatever its index") {
    CountingSource source;
    Lines lines;
    Numbers numbers;
    REQUIRE(lines.ensure(source, 65536));
    REQUIRE(numbers.ensure(source, 65536));
    const auto in_page = [](const void* element) {
        return reinterpret_cast<std::uintptr_t>(element) % kPageBytes;
    };
    for (std::size_t i = 0; i < 65536; ++i) {
        REQUIRE(in_page(lines.find(i)) + sizeof(Line) <= kPageBytes);
        REQUIRE(in_page(numbers.find(i)) + sizeof(std::uint64_t) <= kPageBytes);
    }
    release_all(lines, source);
    release_all(numbers, source);
}

TEST_CASE("MEM-3: elements beyond the logical size are out of reach") {
    CountingSource source;
    Numbers array;
    CHECK(array.at(source, 0) == nullptr);
    array.resize(source, 10);
    CHECK(array.at(source, 9) != nullptr);
    array.resize(source, 9);
    CHECK(array.find(9) == nullptr);
    CHECK(array.at(source, 9) == nullptr);
    release_all(array, source);
}

TEST_CASE("MEM-3: at() that is refused any of its pages changes nothing") {
    for (const std::size_t used : {0u, 1u, 2u}) {  // depth of the tree before
        for (const std::size_t index : {63u, 64u * 511, 64u * 600}) {
            for (std::size_t spare = 0;; ++spare) {
                CountingSource source;
                Lines array;
                array.resize(source, 65536);
                if (used >= 1) array.at(source, 0)->words[0] = 5;
                if (used >= 2) array.at(source, 100)->words[0] = 6;
                const std::size_t before = source.out();
                source.set_limit(before + spare);
                if (Line* const line = array.at(source, index)) {
                    CHECK((line->words[1] == 0 && spare == source.out() - before));
                    source.set_limit(~std::size_t{0});
                    release_all(array, source);
                    break;
                }
                REQUIRE(source.out() == before);
                REQUIRE(array.pages() == before);
                REQUIRE(array.find(index) == nullptr);
                if (used >= 1) REQUIRE(array.find(0)->words[0] == 5);
                if (used >= 2) REQUIRE(array.find(100)->words[0] == 6);
                release_all(array, source);
            }
        }
    }
}

TEST_CASE("MEM-3: ensure() grows to the full size and takes exactly what is missing") {
    CountingSource source;
    Lines array;
    REQUIRE(array.ensure(source, 65536));
    CHECK(array.size() == 65536);
    CHECK(source.out() == 1024 + 2 + 1);
    CHECK(array.ensure(source, 65536));
    CHECK(array.ensure(source, 0));
    CHECK(source.out() == 1027);
    CHECK_FALSE(array.ensure(source, 65537));
    for (std::size_t i = 0; i < 65536; ++i) array.find(i)->words[7] = i;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 65536; ++i)
        wrong += array.find(i)->words[7] != i || array.find(i)->words[0] != 0;
    CHECK(wrong == 0);
    release_all(array, source);
    CHECK(source.out() == 0);
}

TEST_CASE("MEM-3, STR-2: ensure() that is refused any page rolls back and keeps what was there") {
    RandomSource random{31};
    for (int round = 0; round < 200; ++round) {
        CountingSource source;
        Lines array;
        array.resize(source, 65536);
        std::vector<std::size_t> used(random.below(6));
        for (std::size_t& i : used) {
            i = random.below(65536) >> random.below(12);
            array.at(source, i)->words[3] = i;
        }
        array.resize(source, 17);
        const std::size_t before = source.out();
        const std::size_t count = 18 + random.below(65536 - 18);
        source.set_limit(before + random.below(count / 64 + 1));
        if (!array.ensure(source, count)) {
            REQUIRE(source.out() == before);
            REQUIRE(array.size() == 17);
            source.set_limit(~std::size_t{0});
            REQUIRE(array.ensure(source, count));
        }
        REQUIRE(array.size() == count);
        std::size_t missing = 0;
        for (std::size_t i = 0; i < count; ++i) missing += array.find(i) == nullptr;
        REQUIRE(missing == 0);
        array.resize(source, 65536);
        for (const std::size_t i : used) REQUIRE(array.find(i)->words[3] == i);
        release_all(array, source);
        REQUIRE(source.out() == 0);
    }
}

TEST_CASE("MEM-3, STR-3: release() gives no more pages at a time than it may, and ends") {
    CountingSource source;
    Lines array;
    REQUIRE(array.ensure(source, 65536));
    std::size_t calls = 0;
    bool done = false;
    while (!done) {
        const std::size_t before = source.out();
        done = array.release(source, 8);
        REQUIRE(before - source.out() <= 8);
        REQUIRE(array.size() == 0);
        REQUIRE(++calls < 300);
    }
    CHECK(source.out() == 0);
    CHECK(array.release(source, 8));
    // It can be used again, and when used again half-way nothing is forgotten.
    REQUIRE(array.ensure(source, 40000));
    CHECK_FALSE(array.release(source, 100));
    REQUIRE(array.ensure(source, 50));
    CHECK(array.find(7)->words[0] == 0);
    release_all(array, source);
    CHECK(source.out() == 0);
}

TEST_CASE("MEM-3: a sparse array is released in few slices") {
    CountingSource source;
    Lines array;
    array.resize(source, 65536);
    array.at(source, 65535);
    array.at(source, 31 * 64);
    std::size_t calls = 1;
    while (!array.release(source, 8)) ++calls;
    CHECK(calls <= 4);
    CHECK(source.out() == 0);
}

TEST_CASE("MEM-3: an array can be moved by its bytes") {
    CountingSource source;
    Numbers array;
    array.resize(source, 5000);
    *array.at(source, 4000) = 9;
    Numbers elsewhere;
    std::memcpy(&elsewhere, &array, sizeof array);
    CHECK(*elsewhere.find(4000) == 9);
    release_all(elsewhere, source);
    CHECK(source.out() == 0);
}

TEST_CASE("MEM-3: the array does what a map does, over random use and refusals") {
    RandomSource random{41};
    for (int round = 0; round < 20; ++round) {
        CountingSource source;
        Lines array;
        array.resize(source, 65536);
        std::map<std::size_t, std::uint64_t> model;
        for (int i = 0; i < 1000; ++i) {
            if (i % 50 == 0) source.set_limit(random.below(600));
            const std::size_t index = random.below(65536) >> random.below(16);
            Line* const line = array.at(source, index);
            if (line == nullptr) continue;
            REQUIRE(line->words[0] == model[index]);
            line->words[0] = model[index] = random.u64();
        }
        REQUIRE(array.pages() == source.out());
        for (const auto& [index, value] : model) {
            const Line* const line = std::as_const(array).find(index);
            REQUIRE((line == nullptr ? 0 : line->words[0]) == value);
        }
        release_all(array, source);
        REQUIRE(source.out() == 0);
    }
}
