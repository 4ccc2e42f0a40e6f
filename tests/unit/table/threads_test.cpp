// SPDX-License-Identifier: Apache-2.0
// Two readers, two writers and the control thread on one table; an executable of its own, to be
// built with ThreadSanitizer too. The threads stop after a number of operations, not by a clock:
// SIGNALBOX_STRESS_OPERATIONS, lookups, inserts and removals of all threads together.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "table_fixture.h"

namespace signalbox::table {
namespace {

constexpr std::uint32_t kPermanent = 400, kChurnPerWriter = 4000, kWriters = 2, kReaders = 2;
constexpr std::uint32_t kNodes = kPermanent + kWriters * kChurnPerWriter;
constexpr std::uint64_t kOperationsInSuite = 1'000'000;
constexpr int kWavesMin = 12;  // however fast the readers are: the table shall grow and shrink

std::uint64_t operations_wanted() {
    const char* wanted = std::getenv("SIGNALBOX_STRESS_OPERATIONS");
    return wanted != nullptr ? std::stoull(wanted) : kOperationsInSuite;
}

struct Scene {
    std::vector<Node> arena{kNodes};
    QsbrDouble qsbr{kReaders + kWriters + 1};
    TransportTable table{
        {.shards = 4, .initial_entries = 64, .max_entries = kNodes}, kTestKey, arena.data(), qsbr};
    std::atomic<unsigned> writers_left{kWriters};
    std::atomic<unsigned> workers_left{kWriters + kReaders};
    std::atomic<std::uint64_t> lost{0}, wrong{0}, looked_up{0}, written{0}, walked{0};
    std::atomic<std::uint64_t> walk_short{0};
    const std::uint64_t wanted = operations_wanted();

    std::uint64_t operations() const { return looked_up + written; }

    void prepare(std::uint32_t index) {
        auto& node = arena[index];
        node.key = key_of(index);
        node.local = local_of(1);
        node.slot = index;
    }
};

// Permanent keys must be found each time; churned ones give their own node or none.
void read(Scene& scene, unsigned reader) {
    std::uint32_t at = reader * 977;
    std::array<Key, 32> keys;
    std::array<IpAddress, 32> locals;
    std::array<Node*, 32> out{};
    locals.fill(local_of(1));
    while (scene.writers_left.load(std::memory_order_acquire) != 0) {
        for (std::uint32_t i = 0; i < 32; ++i)
            keys[i] = key_of(i % 2 == 0 ? (at + i * 61) % kPermanent
                                        : kPermanent + (at + i * 67) % (kNodes - kPermanent));
        scene.table.lookup(keys, locals, out);
        for (std::size_t i = 0; i < 32; ++i) {
            if (out[i] == nullptr)
                scene.lost += i % 2 == 0;
            else
                scene.wrong += out[i]->key != keys[i];
        }
        const auto one = at % kPermanent;
        scene.lost += scene.table.lookup(key_of(one), local_of(1)) != &scene.arena[one];
        scene.looked_up += 33;
        at += 33;
        scene.qsbr.report(reader);
    }
    scene.qsbr.leave(reader);
    --scene.workers_left;
}

// Fills its range, then removes it, and uses a node again only after a grace period, with another
// content.
void write(Scene& scene, unsigned writer) {
    const auto id = kReaders + writer;
    const auto first = kPermanent + writer * kChurnPerWriter;
    for (int wave = 0; wave < kWavesMin || scene.operations() < scene.wanted; ++wave) {
        for (std::uint32_t i = first; i < first + kChurnPerWriter; ++i) {
            scene.prepare(i);
            for (;;) {
                const auto result = scene.table.insert(scene.arena[i]);
                if (result == InsertResult::inserted) break;
                scene.wrong += result == InsertResult::duplicate;
                scene.qsbr.report(id);
                std::this_thread::yield();
            }
        }
        for (std::uint32_t i = first; i < first + kChurnPerWriter; ++i) {
            while (!scene.table.remove(scene.arena[i])) {
                scene.qsbr.report(id);
                std::this_thread::yield();
            }
        }
        scene.written += 2 * kChurnPerWriter;
        const auto token = scene.qsbr.begin();
        while (!scene.qsbr.done(token)) {
            scene.qsbr.report(id);
            std::this_thread::yield();
        }
    }
    scene.qsbr.leave(id);
    --scene.writers_left;
    --scene.workers_left;
}

void maintain(Scene& scene) {
    constexpr auto kId = kReaders + kWriters;
    while (scene.workers_left.load(std::memory_order_acquire) != 0) {
        for (int i = 0; i < 20; ++i) {
            if (!scene.table.maintain()) std::this_thread::yield();
            scene.qsbr.report(kId);
        }
        std::uint32_t permanent = 0;
        scene.table.walk([&](const Node& node) {
            permanent += node.key == key_of(node.slot) && node.slot < kPermanent;
        });
        scene.walk_short += permanent != kPermanent;
        ++scene.walked;
        scene.qsbr.report(kId);
    }
    scene.qsbr.leave(kId);
}

}  // namespace

TEST_CASE("TAB-5, TAB-7: readers, writers, growth and walks at once lose no entry that stays") {
    Scene scene;
    for (std::uint32_t i = 0; i < kPermanent; ++i) {
        scene.prepare(i);
        while (scene.table.insert(scene.arena[i]) != InsertResult::inserted) {
            scene.table.maintain();
            for (std::size_t reader = 0; reader < kReaders + kWriters + 1; ++reader)
                scene.qsbr.report(reader);
        }
    }
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kReaders; ++i) threads.emplace_back(read, std::ref(scene), i);
    for (unsigned i = 0; i < kWriters; ++i) threads.emplace_back(write, std::ref(scene), i);
    threads.emplace_back(maintain, std::ref(scene));
    for (auto& thread : threads) thread.join();
    CHECK(scene.lost == 0);
    CHECK(scene.wrong == 0);
    CHECK(scene.walk_short == 0);
    CHECK(scene.looked_up > 0);
    CHECK(scene.operations() >= scene.wanted);
    CHECK(scene.walked > 0);
    CHECK(scene.table.statistics().entries == kPermanent);
    const auto statistics = scene.table.statistics();
    CHECK(statistics.growths > 2);
    CHECK(statistics.shrinks > 2);
    if (scene.wanted > kOperationsInSuite)
        WARN(scene.looked_up << " lookups, " << scene.written << " inserts and removals, "
                             << scene.walked << " walks, " << statistics.growths << " growths, "
                             << statistics.shrinks << " shrinkages");
}

}  // namespace signalbox::table
