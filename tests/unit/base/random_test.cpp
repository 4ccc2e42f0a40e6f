// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

using namespace signalbox;

TEST_CASE("a seed replays byte for byte, however the bytes are asked for") {
    RandomSource whole{42};
    RandomSource pieces{42};
    std::vector<std::uint8_t> expected(5000);
    whole.fill(expected);
    std::vector<std::uint8_t> got(5000);
    std::size_t at = 0;
    for (std::size_t n = 1; at < got.size(); n = n * 3 % 701 + 1) {
        const std::size_t take = std::min(n, got.size() - at);
        pieces.fill(std::span{got}.subspan(at, take));
        at += take;
    }
    CHECK(got == expected);
    CHECK(RandomSource{43}.u64() != RandomSource{42}.u64());
}

TEST_CASE(
    "the stream is AES-256 in counter mode from counter zero (FIPS 197 C.3 key, zero input)") {
    // openssl enc -aes-256-ctr -K 000102..1f -iv 0 < 32 zero bytes
    RandomSource::Seed key;
    for (unsigned i = 0; i < 32; ++i) key[i] = static_cast<std::uint8_t>(i);
    RandomSource random{key};
    std::array<std::uint8_t, 16> first{};
    random.fill(first);
    const std::array<std::uint8_t, 16> expected{0xf2, 0x90, 0x00, 0xb6, 0x2a, 0x49, 0x9f, 0xd0,
                                                0xa9, 0xf3, 0x9a, 0x6a, 0xdd, 0x2e, 0x77, 0x80};
    CHECK(first == expected);
}

TEST_CASE("a moved source goes on with its stream") {
    RandomSource reference{7};
    RandomSource a{7};
    CHECK(a.u32() == reference.u32());
    RandomSource b{std::move(a)};
    CHECK(b.u64() == reference.u64());
    RandomSource c{8};
    c = std::move(b);
    CHECK(c.u32() == reference.u32());
}

TEST_CASE("numbers below a bound stay below it and are even") {
    RandomSource random{5};
    for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                      std::uint64_t{1} << 63, ~std::uint64_t{0}})
        for (int i = 0; i < 1000; ++i) REQUIRE(random.below(bound) < bound);
    std::array<int, 10> seen{};
    for (int i = 0; i < 100'000; ++i) ++seen[random.below(10)];
    for (const int n : seen) CHECK((n > 9'500 && n < 10'500));
}
