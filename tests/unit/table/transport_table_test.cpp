// SPDX-License-Identifier: Apache-2.0
#include "table/transport_table.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <set>

#include "table_fixture.h"

namespace {
std::atomic<std::size_t> allocations{0};
}

// GCC sees free() meet an inlined operator new and warns; both are ours.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    ++allocations;
    const auto align = static_cast<std::size_t>(alignment);
    if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {  // libstdc++ calls it
    ++allocations;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
#pragma GCC diagnostic pop

namespace signalbox::table {

TEST_CASE("TAB-1: every part of the key takes part in the comparison") {
    Fixture f(1);
    const auto key = key_of(7);
    REQUIRE(f.table.insert(f.prepare(0, key)) == InsertResult::inserted);
    CHECK(f.table.lookup(key, local_of(1)) == &f.arena[0]);
    auto other = key;
    other.network = 2;
    CHECK(f.table.lookup(other, local_of(1)) == nullptr);
    other = key;
    ++other.local_port;
    CHECK(f.table.lookup(other, local_of(1)) == nullptr);
    other = key;
    ++other.remote_port;
    CHECK(f.table.lookup(other, local_of(1)) == nullptr);
    for (auto& byte : {0, 7, 8, 15}) {
        other = key;
        other.remote.bytes[static_cast<std::size_t>(byte)] ^= 1;
        CHECK(f.table.lookup(other, local_of(1)) == nullptr);
    }
}

TEST_CASE("TAB-1: among equal keys the local address decides, then the tag") {
    Fixture f(4);
    const auto key = key_of(7);
    auto& a = f.prepare(0, key, 1, 10);
    auto& b = f.prepare(1, key, 2, 20);
    auto& c = f.prepare(2, key, 2, 21);
    for (auto* node : {&a, &b, &c}) REQUIRE(f.table.insert(*node) == InsertResult::inserted);
    CHECK(f.table.lookup(key, local_of(1)) == &a);
    CHECK(f.table.lookup(key, local_of(2))->local == local_of(2));
    CHECK(f.table.lookup(key, local_of(2), VerificationTag{20}) == &b);
    CHECK(f.table.lookup(key, local_of(2), VerificationTag{21}) == &c);
    // An unknown local address still leads to the peer: the association's own check of addresses
    // follows.
    CHECK(f.table.lookup(key, local_of(9)) != nullptr);
    REQUIRE(f.table.remove(b));
    CHECK(f.table.lookup(key, local_of(2)) == &c);
    CHECK(f.table.lookup(key, local_of(2), VerificationTag{20}) == &c);
}

TEST_CASE("TAB-2: key, local address and tag together are unique, also during growth") {
    Fixture f(2000, {.shards = 1, .initial_entries = 16, .max_entries = 2000});
    REQUIRE(f.table.insert(f.prepare(0, key_of(0), 1, 5)) == InsertResult::inserted);
    CHECK(f.table.insert(f.prepare(1, key_of(0), 1, 5)) == InsertResult::duplicate);
    CHECK(f.table.insert(f.prepare(1, key_of(0), 1, 6)) == InsertResult::inserted);
    std::uint32_t next = 2;
    bool ever_moving = false;
    for (; next < 1900; ++next) {
        REQUIRE(f.table.insert(f.prepare(next, key_of(next))) == InsertResult::inserted);
        ever_moving |= f.table.maintain();
        f.qsbr.report(0);
        REQUIRE(f.table.insert(f.prepare(1950, key_of(0), 1, 5)) == InsertResult::duplicate);
    }
    CHECK(ever_moving);
    CHECK(f.table.statistics().entries == 1900);
}

TEST_CASE("TAB-2: 160 equal keys are all inserted and each is found by its tag") {
    // One endpoint has one association with a peer's address and port; those that ended stay until
    // what they had not delivered is safe. More than this many at once are refused as `full`.
    constexpr std::uint32_t kEqual = kMaxEqualKeys;
    static_assert(kEqual == 160);
    Fixture f(kEqual + 1, {.shards = 1, .initial_entries = 1000, .max_entries = 1000});
    for (std::uint32_t i = 0; i < kEqual; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(7), 1, i)) == InsertResult::inserted);
    CHECK(f.table.insert(f.prepare(kEqual, key_of(7), 1, kEqual)) == InsertResult::full);
    for (std::uint32_t i = 0; i < kEqual; ++i)
        REQUIRE(f.table.lookup(key_of(7), local_of(1), VerificationTag{i}) == &f.arena[i]);
    f.settle();  // deep chains raise the alarm: one new salt, which cannot part equal keys, and
                 // then rest
    CHECK(f.table.statistics().rekeys == 1);
    CHECK(f.table.statistics().max_depth == 16);
    CHECK(f.table.statistics().chains.back() == 1);
    CHECK(f.table.statistics().alarm());
    for (std::uint32_t i = 0; i < kEqual; ++i)
        REQUIRE(f.table.lookup(key_of(7), local_of(1), VerificationTag{i}) == &f.arena[i]);
    for (std::uint32_t i = 0; i < kEqual; ++i) REQUIRE(f.table.remove(f.arena[i]));
    CHECK_FALSE(f.table.statistics().alarm());
    CHECK(f.table.statistics().max_depth == 1);
    CHECK(f.table.lookup(key_of(7), local_of(1)) == nullptr);
    CHECK(f.table.statistics().entries == 0);
}

TEST_CASE("TAB-2: a shard that is held is busy for writers and open for readers") {
    Fixture f(200, {.shards = 1, .initial_entries = 16, .max_entries = 200});
    for (std::uint32_t i = 0; i < 100; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(i))) == InsertResult::inserted);
    bool asked = false;
    f.qsbr.on_begin = [&] {  // the end of the move runs under the shard's lock
        asked = true;
        CHECK(f.table.insert(f.prepare(150, key_of(150))) == InsertResult::busy);
        CHECK_FALSE(f.table.remove(f.arena[3]));
        CHECK(f.table.lookup(key_of(3), local_of(1)) == &f.arena[3]);
    };
    f.settle();
    CHECK(asked);
    CHECK(f.table.statistics().busy % 2 == 0);
    CHECK(f.table.statistics().busy >= 2);
    CHECK(f.table.insert(f.prepare(150, key_of(150))) == InsertResult::inserted);
    CHECK(f.table.remove(f.arena[3]));
}

TEST_CASE("TAB-4: keys chosen against an unkeyed hash do not deepen the chains", "[F01]") {
    // 20,000 keys that one XOR-and-fold hash of ports and address sends into one bucket.
    constexpr std::uint32_t kPeers = 20'000;
    Fixture f(kPeers, {.shards = 4, .initial_entries = kPeers, .max_entries = kPeers});
    for (std::uint32_t i = 0; i < kPeers; ++i) {
        auto key = key_of(1, static_cast<std::uint16_t>(i));
        key.remote = IpAddress::v4(0x0a000000u ^ i);
        REQUIRE((key.remote_port ^ key.remote.as_v4()) == 0x0a000000u);
        REQUIRE(f.table.insert(f.prepare(i, key)) == InsertResult::inserted);
    }
    CHECK(f.table.statistics().max_depth <= TransportTable::kDepthAlarm);
}

TEST_CASE("TAB-5: growth is not seen by readers, with 100,000 nodes") {
    constexpr std::uint32_t kPeers = 100'000;
    Fixture f(kPeers, {.shards = 16, .initial_entries = 64, .max_entries = kPeers});
    for (std::uint32_t i = 0; i < kPeers; ++i) {
        auto result = f.table.insert(f.prepare(i, key_of(i)));
        while (result == InsertResult::full) {  // the control thread gets its turn
            f.table.maintain();
            f.qsbr.report(0);
            result = f.table.insert(f.arena[i]);
        }
        REQUIRE(result == InsertResult::inserted);
        f.table.maintain();
        f.qsbr.report(0);
        for (std::uint64_t probe = 0; probe < 4; ++probe) {
            const auto j = static_cast<std::uint32_t>((i * 2654435761u + probe * 40503u) % (i + 1));
            if (f.table.lookup(key_of(j), local_of(1)) != &f.arena[j]) FAIL("lost " << j);
        }
    }
    f.settle();
    for (std::uint32_t i = 0; i < kPeers; ++i)
        if (f.table.lookup(key_of(i), local_of(1)) != &f.arena[i]) FAIL("lost " << i);
    const auto statistics = f.table.statistics();
    CHECK(statistics.growths >= 16);
    CHECK(statistics.max_depth <= TransportTable::kDepthAlarm);
    CHECK(statistics.buckets * kSlots < 10 * kPeers);
}

TEST_CASE("TAB-5: without the control thread inserts go on, far beyond the planned size") {
    Fixture f(1000, {.shards = 1, .initial_entries = 80, .max_entries = 1000});
    std::uint32_t count = 0;
    while (count < 1000 &&
           f.table.insert(f.prepare(count, key_of(count))) == InsertResult::inserted)
        ++count;
    CHECK(count >= 120);
    CHECK(count < 1000);
    CHECK(f.table.insert(f.arena[count]) == InsertResult::full);
    for (std::uint32_t i = 0; i < count; ++i)
        REQUIRE(f.table.lookup(key_of(i), local_of(1)) == &f.arena[i]);
    f.settle();
    CHECK(f.table.insert(f.arena[count]) == InsertResult::inserted);
}

TEST_CASE("TAB-5, F10: a growth that finds no memory is put off, and nothing else is hurt") {
    Fixture f(1000, {.shards = 1, .initial_entries = 80, .max_entries = 1000});
    f.table.growth_faults().arm(0, 60);
    std::uint32_t count = 0;
    for (; count < 120; ++count) {
        REQUIRE(f.table.insert(f.prepare(count, key_of(count))) == InsertResult::inserted);
        f.table.maintain();
        f.qsbr.report(0);
    }
    CHECK(f.table.statistics().growths_refused > 3);
    CHECK(f.table.statistics().growths == 0);
    for (std::uint32_t i = 0; i < count; ++i)
        REQUIRE(f.table.lookup(key_of(i), local_of(1)) == &f.arena[i]);
    f.settle();  // there is memory again
    CHECK(f.table.statistics().growths_refused == 60);
    CHECK(f.table.statistics().growths == 1);
    for (; count < 400; ++count)
        REQUIRE(f.table.insert(f.prepare(count, key_of(count))) == InsertResult::inserted);
    for (std::uint32_t i = 0; i < count; ++i)
        REQUIRE(f.table.lookup(key_of(i), local_of(1)) == &f.arena[i]);
}

TEST_CASE("TAB-5: an old array stays until the readers have reported") {
    Fixture f(100, {.shards = 1, .initial_entries = 16, .max_entries = 100});
    for (std::uint32_t i = 0; i < 100; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(i))) == InsertResult::inserted);
    for (int i = 0; i < 1000 && f.table.maintain(); ++i) {
    }
    CHECK(f.table.statistics().growths == 1);
    for (std::uint32_t i = 0; i < 95; ++i) REQUIRE(f.table.remove(f.arena[i]));
    CHECK_FALSE(f.table.maintain());  // no second move while the first waits for its grace period
    CHECK(f.table.statistics().shrinks == 0);
    f.settle();
    CHECK(f.table.statistics().shrinks >= 1);
    for (std::uint32_t i = 95; i < 100; ++i)
        CHECK(f.table.lookup(key_of(i), local_of(1)) == &f.arena[i]);
}

TEST_CASE("TAB-5: inserts that come while a shard shrinks leave it room to end, and go on after") {
    constexpr std::uint32_t kPeers = 4000;
    Fixture f(kPeers, {.shards = 1, .initial_entries = 40, .max_entries = kPeers});
    const auto insert_all = [&](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t i = from; i < to; ++i) {
            unsigned waits = 0;
            while (f.table.insert(f.prepare(i, key_of(i))) == InsertResult::full) {
                REQUIRE(++waits < 1000);
                f.table.maintain();
                f.qsbr.report(0);
            }
        }
    };
    insert_all(0, 2000);
    f.settle();
    for (std::uint32_t i = 100; i < 2000; ++i) REQUIRE(f.table.remove(f.arena[i]));
    REQUIRE(f.table.maintain());  // the first shrinking has begun
    REQUIRE(f.table.statistics().shrinks == 1);
    // As many as it takes before the control thread comes again.
    std::uint32_t next = 100;
    while (f.table.insert(f.prepare(next, key_of(next))) == InsertResult::inserted) ++next;
    CHECK(next > 500);
    insert_all(next, kPeers);  // fails when the move cannot end
    f.settle();
    for (std::uint32_t i = 0; i < kPeers; ++i)
        REQUIRE(f.table.lookup(key_of(i), local_of(1)) == &f.arena[i]);
    CHECK(f.table.statistics().resting == 0);
}

TEST_CASE("TAB-4: the depth of chains is counted as they grow and dissolve") {
    constexpr std::uint32_t kPeers = 300;
    Fixture f(kPeers, {.shards = 1, .initial_entries = 80, .max_entries = kPeers});
    for (std::uint32_t i = 0; i < kPeers; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(i))) == InsertResult::inserted);
    auto s = f.table.statistics();
    CHECK(s.homes == 16);
    std::size_t homes = 0, buckets = 0;
    for (std::size_t d = 0; d < s.chains.size(); ++d) {
        homes += s.chains[d];
        buckets += s.chains[d] * (d + 1);
    }
    CHECK(homes == s.homes);
    CHECK(buckets >= kPeers / kSlots);
    CHECK(s.max_depth >= 3);
    for (std::uint32_t i = 0; i < kPeers; ++i) REQUIRE(f.table.remove(f.arena[i]));
    s = f.table.statistics();
    CHECK(s.chains[0] == s.homes);
    CHECK(s.max_depth == 1);
}

TEST_CASE("max_entries is a limit over all shards") {
    Fixture f(101, {.shards = 8, .initial_entries = 1000, .max_entries = 100});
    for (std::uint32_t i = 0; i < 100; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(i))) == InsertResult::inserted);
    CHECK(f.table.insert(f.prepare(100, key_of(100))) == InsertResult::full);
    REQUIRE(f.table.remove(f.arena[0]));
    CHECK(f.table.insert(f.arena[100]) == InsertResult::inserted);
}

TEST_CASE("a burst answers as single lookups do, hits and misses mixed") {
    Fixture f(3000, {.shards = 2, .initial_entries = 900, .max_entries = 3000});
    for (std::uint32_t i = 0; i < 1500; ++i)
        REQUIRE(f.table.insert(f.prepare(i, key_of(i / 2), i % 2, i)) == InsertResult::inserted);
    for (std::uint32_t start = 0; start < 1500; start += 10) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{64}}) {
            std::array<Key, 64> keys;
            std::array<IpAddress, 64> locals;
            std::array<Node*, 64> out{};
            for (std::uint32_t i = 0; i < size; ++i) {
                keys[i] = key_of(start + 3 * i);
                locals[i] = local_of(i % 3);
            }
            f.table.lookup(std::span(keys).first(size), std::span(locals).first(size),
                           std::span(out).first(size));
            for (std::size_t i = 0; i < size; ++i) {
                const auto* one = f.table.lookup(keys[i], locals[i]);
                if (i % 3 == 2 && one != nullptr)
                    REQUIRE(out[i]->key == one->key);
                else
                    REQUIRE(out[i] == one);
            }
        }
        f.table.maintain();
        f.qsbr.report(0);
    }
}

TEST_CASE("TAB-7: a walk meets every node once, in the midst of a move too") {
    Fixture f(5000, {.shards = 2, .initial_entries = 16, .max_entries = 5000});
    for (std::uint32_t i = 0; i < 5000; ++i) {
        while (f.table.insert(f.prepare(i, key_of(i))) == InsertResult::full) {
            f.table.maintain();
            f.qsbr.report(0);
        }
        if (i % 250 != 0) continue;
        f.table.maintain();
        f.qsbr.report(0);
        std::set<std::uint32_t> met;
        f.table.walk([&](const Node& node) { REQUIRE(met.insert(node.slot).second); });
        REQUIRE(met.size() == i + 1);
    }
}

TEST_CASE("insert, remove and lookup do not allocate") {
    Fixture f(100, {.shards = 1, .initial_entries = 16, .max_entries = 100});
    const auto before = allocations.load();
    for (std::uint32_t i = 0; i < 100; ++i) f.table.insert(f.prepare(i, key_of(i)));
    std::size_t found = 0;
    for (std::uint32_t i = 0; i < 100; ++i)
        found += f.table.lookup(key_of(i), local_of(1)) != nullptr;
    for (std::uint32_t i = 0; i < 100; ++i) f.table.remove(f.arena[i]);
    const auto after = allocations.load();
    CHECK(after == before);
    CHECK(found == 100);
}

}  // namespace signalbox::table
