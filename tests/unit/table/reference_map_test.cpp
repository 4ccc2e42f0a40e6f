// SPDX-License-Identifier: Apache-2.0
// Random operations against a plain map. SIGNALBOX_TABLE_OPERATIONS sets their number (10,000,000
// before a release).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

#include "table_fixture.h"

namespace signalbox::table {
namespace {

constexpr std::uint32_t kPeers = 6000, kLocals = 3, kTags = 2;
constexpr std::uint32_t kNodes = kPeers * kLocals * kTags;

class Reference {
 public:
    explicit Reference(std::uint64_t seed) : random_(seed) {}

    void step(std::uint64_t operation) {
        // Waves: mostly inserts, then mostly removals, so that the table grows and shrinks.
        const bool rising = operation / 50'000 % 2 == 0;
        const auto dice = draw(100);
        if (dice < 20)
            rising ? insert() : remove();
        else if (dice < 25)
            rising ? remove() : insert();
        else if (dice < 40)
            maintain();
        else
            lookup();
    }
    void check_all() {
        std::size_t met = 0;
        fixture_.table.walk([&](const Node& node) {
            ++met;
            REQUIRE(inserted_.count(index_of(node)) == 1);
        });
        REQUIRE(met == inserted_.size());
        REQUIRE(fixture_.table.statistics().entries == inserted_.size());
    }
    TransportTable::Statistics statistics() const { return fixture_.table.statistics(); }

 private:
    std::uint32_t draw(std::uint32_t below) {  // splitmix64
        auto z = random_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return static_cast<std::uint32_t>((z >> 32) * below >> 32);
    }
    static std::uint32_t index_of(const Node& node) { return node.slot / 2; }
    void insert() {
        // Two nodes for each identity: the second must always be refused as a duplicate of the
        // first.
        const auto index = draw(kNodes);
        const auto twin = inserted_.count(index) != 0 ? 1 - inserted_[index] : draw(2);
        auto& node = fixture_.prepare(2 * index + twin, key_of(index / (kLocals * kTags)),
                                      index / kTags % kLocals, index % kTags);
        const auto result = fixture_.table.insert(node);
        if (inserted_.count(index) != 0) {
            REQUIRE(result == InsertResult::duplicate);
        } else if (result != InsertResult::full) {
            REQUIRE(result == InsertResult::inserted);
            inserted_[index] = twin;
        }
    }
    void remove() {
        const auto it = inserted_.lower_bound(draw(kNodes));
        if (it == inserted_.end()) return;
        REQUIRE(fixture_.table.remove(fixture_.arena[2 * it->first + it->second]));
        inserted_.erase(it);
    }
    void maintain() {
        fixture_.table.maintain();
        if (draw(4) == 0) fixture_.qsbr.report(0);
    }
    void lookup() {
        const auto peer = draw(kPeers);
        const auto local = draw(kLocals);
        const auto* node = fixture_.table.lookup(key_of(peer), local_of(local));
        const auto first = peer * kLocals * kTags;
        const auto any = inserted_.lower_bound(first);
        const auto exact = inserted_.lower_bound(first + local * kTags);
        if (any == inserted_.end() || any->first >= first + kLocals * kTags) {
            REQUIRE(node == nullptr);
            return;
        }
        REQUIRE(node != nullptr);
        REQUIRE(node->key == key_of(peer));
        REQUIRE(inserted_.count(index_of(*node)) == 1);
        if (exact != inserted_.end() && exact->first < first + (local + 1) * kTags)
            REQUIRE(node->local == local_of(local));
    }

    std::uint64_t random_;
    Fixture fixture_{2 * kNodes, {.shards = 4, .initial_entries = 64, .max_entries = kNodes}};
    std::map<std::uint32_t, std::uint32_t> inserted_;  // identity to which of its two nodes
};

}  // namespace

TEST_CASE("TAB-2, TAB-5: random operations agree with a plain map") {
    const char* wanted = std::getenv("SIGNALBOX_TABLE_OPERATIONS");
    const std::uint64_t operations = wanted != nullptr ? std::stoull(wanted) : 300'000;
    Reference reference(42);
    for (std::uint64_t i = 0; i < operations; ++i) {
        reference.step(i);
        if (i % 25'000 == 0) reference.check_all();
    }
    reference.check_all();
    CHECK(reference.statistics().growths > 4);
    CHECK(reference.statistics().shrinks > 0);
}

}  // namespace signalbox::table
