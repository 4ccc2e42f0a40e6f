// SPDX-License-Identifier: Apache-2.0
#include "table/keyed_hash.h"

#include <bit>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "table_fixture.h"

namespace signalbox::table {

TEST_CASE("TAB-4: SipHash-1-3 gives the values of another implementation") {
    // CPython 3.11 hashes bytes with SipHash-1-3; PYTHONHASHSEED=0 is the zero key.
    // hash(bytes(range(22))) and hash(b"\xff" * 22), as unsigned.
    constexpr std::uint64_t kLength = std::uint64_t{22} << 56;
    CHECK(siphash13({{0, 0}}, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u,
                    0x151413121110u | kLength) == 0xf8aeb1066236ccfeu);
    CHECK(siphash13({{0, 0}}, ~0ull, ~0ull, 0xffffffffffffu | kLength) == 0xfb531d9a24bfda97u);
}

TEST_CASE("TAB-4: the hash depends on the secret, and on every bit of the key") {
    for (const auto kind : {KeyedHash::best_kind(), KeyedHash::Kind::siphash}) {
        const KeyedHash hash(kTestKey, kind);
        const KeyedHash other({{1, 2}}, kind);
        const auto key = key_of(7);
        CHECK(hash(key) == KeyedHash(kTestKey, kind)(key));
        CHECK(hash(key) != other(key));
        for (unsigned bit = 0; bit < 8 * sizeof(Key); ++bit) {
            auto changed = key;
            reinterpret_cast<std::uint8_t*>(&changed)[bit / 8] ^=
                static_cast<std::uint8_t>(1u << bit % 8);
            const auto distance = std::popcount(hash(key) ^ hash(changed));
            CHECK(distance >= 12);
            CHECK(distance <= 52);
        }
    }
}

TEST_CASE("TAB-4: a burst hashes as single calls do") {
    const KeyedHash hash(kTestKey);
    std::vector<Key> keys;
    for (std::uint32_t i = 0; i < 37; ++i) keys.push_back(key_of(i));
    std::vector<std::uint64_t> out(keys.size());
    hash.burst(keys, out);
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(out[i] == hash(keys[i]));
}

TEST_CASE("TAB-4: consecutive peers and ports spread over all tags and top bits") {
    for (const auto kind : {KeyedHash::best_kind(), KeyedHash::Kind::siphash}) {
        const KeyedHash hash(kTestKey, kind);
        std::set<std::uint64_t> tags, tops;
        for (std::uint32_t i = 0; i < 65536; ++i) {
            const auto h = hash(key_of(i / 4, static_cast<std::uint16_t>(i % 4)));
            tags.insert(h & 0xffff);
            tops.insert(h >> 48);
        }
        // 65,536 throws into as many bins leave 1 - 1/e of them hit: 41,427, deviation below 100.
        CHECK(tags.size() > 40900);
        CHECK(tags.size() < 41950);
        CHECK(tops.size() > 40900);
        CHECK(tops.size() < 41950);
    }
}

}  // namespace signalbox::table
