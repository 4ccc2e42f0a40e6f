// SPDX-License-Identifier: Apache-2.0
// Hash flooding (adversarial F01): an attacker who chooses addresses and ports knows the source,
// but not the key drawn at start. Counted here: what a lookup has to read. perf/ measures the time.
#include <catch2/catch.hpp>
#include <memory>

#include "table_fixture.h"

namespace signalbox::table {
namespace {

constexpr std::uint32_t kChosen = 1'000'000;
constexpr TransportTable::Settings kRoom{
    .shards = 64, .initial_entries = 4096, .max_entries = kChosen};

/// Peers have 2^32 addresses and 2^16 ports to choose from: the n-th candidate.
Key candidate(std::uint64_t n) {
    Key key{.network = 0, .local_port = 2905, .remote_port = 0, .remote = {}};
    key.remote_port = static_cast<std::uint16_t>(1024 + n % 60000);
    key.remote = IpAddress::v4(static_cast<std::uint32_t>(0x0b000000u + n / 60000));
    return key;
}

/// Inserts the keys that `chosen` makes of 0, 1, 2 ...; lets the control thread work.
template <class Chosen>
TransportTable::Statistics flood(Fixture& f, Chosen&& chosen) {
    for (std::uint32_t i = 0; i < kChosen; ++i) {
        auto& node = f.prepare(i, chosen(i));
        for (unsigned waits = 0; f.table.insert(node) == InsertResult::full; ++waits) {
            if (waits == 100'000) FAIL("a chosen key found no room");
            f.table.maintain();
            f.qsbr.report(0);
        }
        if (i % 4 == 0) {  // no faster than core's control turns
            f.table.maintain();
            f.qsbr.report(0);
        }
    }
    f.settle();
    return f.table.statistics();
}

/// Buckets read by lookups of all keys, each found at the end of its chain: no less than is read.
std::size_t buckets_read(const TransportTable::Statistics& s) {
    std::size_t sum = 0;
    for (std::size_t d = 0; d < s.chains.size(); ++d) sum += s.chains[d] * (d + 1);
    return sum;
}

void judge(const TransportTable::Statistics& s) {
    CHECK(s.entries == kChosen);
    CHECK(s.max_depth <= TransportTable::kDepthAlarm);  // F01: at most 8
    CHECK_FALSE(s.alarm());
    CHECK(buckets_read(s) < s.homes + s.homes / 3);  // as with random keys: few homes overflow
    CHECK(s.resting == 0);
}

}  // namespace

TEST_CASE("F01: a million keys of one bucket of an unkeyed hash make no chain deeper than 4") {
    const auto f = std::make_unique<Fixture>(kChosen, kRoom);
    // Ports and address folded to 16 bits by XOR: all of these fall into one bucket of the 65,536.
    judge(flood(*f, [](std::uint32_t i) {
        const std::uint32_t address = 0x0b000000u + i;
        Key key{.network = 0, .local_port = 2905, .remote_port = 0, .remote = {}};
        key.remote = IpAddress::v4(address);
        key.remote_port = static_cast<std::uint16_t>(address ^ address >> 16 ^ key.local_port);
        return key;
    }));
}

TEST_CASE("F01: a million keys chosen with our source and another key do no better") {
    const auto f = std::make_unique<Fixture>(kChosen, kRoom);
    // The attacker's guess at the key: with it all of these would fall into 8 shards of the 64.
    const KeyedHash guess(HashKey{{0x1111111111111111u, 0x2222222222222222u}});
    std::uint64_t n = 0;
    judge(flood(*f, [&](std::uint32_t) {
        while (guess(candidate(n)) >> 61 != 0) ++n;
        return candidate(n++);
    }));
}

TEST_CASE("F01: with the key known one shard takes them all, yet lookups stay bounded") {
    constexpr std::uint32_t kKnown = 3000;
    Fixture f(kKnown, {.shards = 4, .initial_entries = 64, .max_entries = kKnown});
    const KeyedHash known(kTestKey);
    std::uint64_t n = 0;
    std::uint32_t inserted = 0;
    for (std::uint32_t i = 0; i < kKnown; ++i, ++n) {
        while (known(candidate(n)) >> 56 != 0) ++n;
        inserted += f.table.insert(f.prepare(i, candidate(n))) == InsertResult::inserted;
    }
    CHECK(inserted < kKnown);  // one shard alone took them all
    f.settle();
    CHECK(f.table.statistics().growths > 0);
    CHECK(f.table.statistics().max_depth <= kMaxDepth);
}

}  // namespace signalbox::table
