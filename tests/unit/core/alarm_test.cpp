// SPDX-License-Identifier: Apache-2.0
// What the control thread watches and tells once: memory that becomes low, chains of the transport
// table that become deep; and how often a tag's hint was right.
#include <catch2/catch.hpp>

#include "core/shared.h"
#include "core/slot.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;
using core::EventKind;

namespace {

std::vector<core::EventRecord> events_of(CoreLab& lab, EventKind one, EventKind other) {
    std::vector<core::EventRecord> all;
    lab.node->take_events(10'000, [&](const core::EventRecord& e) {
        if (e.kind == one || e.kind == other) all.push_back(e);
    });
    return all;
}

}  // namespace

TEST_CASE("MEM-4: low memory is told once, and its end once, with a distance between the two") {
    CoreLab lab(one_asp_per_server(2), {.memory_bytes = 8u << 20});
    auto& shared = lab.node->shared();
    const auto heard = [&] {
        return events_of(lab, EventKind::memory_low, EventKind::memory_recovered);
    };
    lab.run(1100ms);
    CHECK(heard().empty());
    const auto statistics = lab.node->statistics();
    const std::size_t mark = statistics->pages_low_water;
    REQUIRE(mark >= 2 * core::kKeptBackPages);
    REQUIRE(statistics->pages_total > 4 * mark);
    CHECK_FALSE(statistics->memory_low);
    CHECK(statistics->pages_in_pool + statistics->worker_pages[0].at_hand ==
          statistics->pages_free);

    std::vector<void*> taken;
    const auto take = [&](std::size_t left) {
        taken.resize(shared.free_pages() - left);
        const std::size_t n = shared.pool->take(taken);
        for (std::size_t i = n; i < taken.size(); ++i) {
            taken[i] = shared.per_worker[0]->pages.take();
            REQUIRE(taken[i] != nullptr);
        }
    };
    take(mark);
    lab.run(5ms);
    CHECK(heard().empty());
    shared.pool->give(taken);
    take(mark - 1);
    lab.run(1100ms);
    const auto low = heard();
    REQUIRE(low.size() == 1);
    CHECK(low[0].kind == EventKind::memory_low);
    CHECK(low[0].detail == mark - 1);
    CHECK(lab.node->statistics()->memory_low);
    CHECK(lab.node->statistics()->memory_alarms == 1);
    // To and fro about the mark says nothing more.
    shared.pool->give(std::span{taken}.first(mark / 2));
    lab.run(5ms);
    CHECK(heard().empty());
    shared.pool->give(std::span{taken}.subspan(mark / 2));
    lab.run(1100ms);
    const auto over = heard();
    REQUIRE(over.size() == 1);
    CHECK(over[0].kind == EventKind::memory_recovered);
    CHECK_FALSE(lab.node->statistics()->memory_low);
}

TEST_CASE("TAB-4: a deep chain is told once, with its depth, and its end once") {
    CoreLab lab(one_asp_per_server(2), {});
    auto& shared = lab.node->shared();
    const auto heard = [&] {
        return events_of(lab, EventKind::transport_table_deep, EventKind::transport_table_flat);
    };
    lab.run(1100ms);
    CHECK(heard().empty());
    std::vector<table::Node*> nodes;
    for (std::size_t i = 0; i < 60; ++i) {  // equal keys, which no new hash key can part
        table::Node& node = shared.slots[i].nodes[0];
        node = {};
        node.key = {.network = 0, .local_port = 1, .remote_port = 2, .remote = IpAddress::v4(3)};
        node.local_tag = VerificationTag{static_cast<std::uint32_t>(i + 1)};
        REQUIRE(shared.table->insert(node) == table::InsertResult::inserted);
        nodes.push_back(&node);
    }
    lab.run(3s);
    const auto deep = heard();
    REQUIRE(deep.size() == 1);
    CHECK(deep[0].kind == EventKind::transport_table_deep);
    CHECK(deep[0].detail == 6);
    const auto statistics = lab.node->statistics();
    std::size_t entries = 0, deepest = 0;
    for (const auto& group : statistics->table.groups) {
        entries += group.entries;
        deepest = std::max(deepest, group.max_depth);
    }
    CHECK(statistics->table.groups.size() == 8);
    CHECK(entries == statistics->table.entries);
    CHECK(deepest == 6);
    for (table::Node* node : nodes) REQUIRE(shared.table->remove(*node));
    lab.run(1100ms);
    const auto flat = heard();
    REQUIRE(flat.size() == 1);
    CHECK(flat[0].kind == EventKind::transport_table_flat);
}

TEST_CASE(
    "tag steering: with two workers every tag hint of live traffic is right, and is counted") {
    CoreLab lab(one_asp_per_server(8), {.workers = 2});
    for (std::uint32_t p = 0; p < 8; ++p) {
        lab.start(PeerIndex{p});
        bring_up(lab, lab.asps[p], 100 + p);
    }
    const std::vector<std::uint8_t> user(40);
    for (int n = 0; n < 100; ++n) {
        lab.send(lab.asps[1], StreamId{1}, m3ua::data(101, 1001, 1002, 0, user));
        lab.turn();
    }
    CHECK(lab.count(Count::tag_hint_hits) > 100);
    CHECK(lab.count(Count::tag_hint_misses) == 0);
    // A tag that is not ours hints at nobody in particular: the table decides all the same.
    CoreLab forged(one_asp_per_server(2), {.workers = 2});
    forged.cut = [n = 0u](const IpBytes& packet, bool to_gateway) mutable {
        IpBytes& p = const_cast<IpBytes&>(packet);
        if (!to_gateway || p[32] == 1 || p[32] == 10) return false;  // INIT, COOKIE ECHO
        for (std::size_t i = 24; i < 28; ++i)
            p[i] = static_cast<std::uint8_t>(++n * 2654435761u >> 20);
        sctp_checksum_store(std::span{p}.subspan(20));
        return false;
    };
    forged.start(PeerIndex{0});
    forged.start(PeerIndex{1});
    forged.run(3s);
    CHECK(forged.count(Count::tag_hint_misses) > 0);
    CHECK(forged.count(Count::tag_hint_hits) > 0);
    CHECK(forged.drops(Drop::bad_tag) ==
          forged.count(Count::tag_hint_misses) + forged.count(Count::tag_hint_hits));
}
