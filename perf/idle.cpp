// SPDX-License-Identifier: Apache-2.0
// Idle associations: what 1 to 1,000,000 of them occupy, with 65,535 streams negotiated each way
// and two paths, and what their HEARTBEATs cost the worker when each sends one every 30 seconds.
// Negative control: the same with one page more touched for each association must be seen.
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/shared.h"
#include "core/slot.h"
#include "population.h"

namespace signalbox::perf {
namespace {

using namespace std::chrono_literals;

constexpr double kMustBytes = 4096;

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool memory(const Report& report, std::size_t associations) {
    // What is there for any number: rings, caches, the peers' packets.
    const std::size_t base_before = resident_bytes();
    auto base = std::make_unique<Population>(Population::Options{
        .associations = 1, .streams = 65'535, .two_paths = true, .hugepages = false});
    if (!base->connect_all()) return false;
    const std::size_t base_bytes = resident_bytes() - base_before;
    base.reset();

    const std::size_t before = resident_bytes();
    Population gateway(
        {.associations = associations, .streams = 65'535, .two_paths = true, .hugepages = false});
    if (!gateway.connect_all()) return false;
    for (int turn = 0; turn < 200; ++turn) {
        gateway.pass(10ms);
        gateway.control_turn();
    }
    const std::size_t after = resident_bytes();
    const auto& shared = gateway.node().shared();
    const auto n = static_cast<double>(associations);
    const std::size_t pages = shared.pool->total_pages() - shared.pool->free_pages() -
                              shared.per_worker[0]->pages.available();
    const auto table =
        static_cast<double>(shared.table->statistics().buckets * sizeof(table::Bucket));
    const double peers = 12;  // of Population, not of the product
    const double each = (static_cast<double>(after - before) - static_cast<double>(base_bytes)) /
                            std::max(n - 1, 1.0) -
                        peers;
    report.add({"idle.resident_each",
                associations == 1 ? static_cast<double>(base_bytes) : each,
                "B",
                {{"associations", associations},
                 {"streams", 65535},
                 {"paths", 2},
                 {"slot", sizeof(core::Slot)},
                 {"of_it_association", sizeof(sctp::Association)},
                 {"of_it_table_nodes", sizeof(core::Slot::nodes)},
                 {"table_each", table / n},
                 {"pages_each", static_cast<double>(pages * mem::kPageBytes) / n},
                 {"resident_mib", static_cast<double>(after - before) / (1 << 20)}},
                "",
                0});
    if (associations < 10'000) return true;
    if (each > kMustBytes) std::fprintf(stderr, "idle: an association takes more than 4 KiB\n");
    // The control.
    std::vector<std::uint8_t> more(associations * mem::kPageBytes);
    for (std::size_t at = 0; at < more.size(); at += mem::kPageBytes) more[at] = 1;
    keep(more.data());
    const double seen = static_cast<double>(resident_bytes() - after) / n;
    report.add({"control.idle.one_page_more", seen, "B", {{"associations", associations}}, "", 0});
    return each <= kMustBytes && seen > 0.9 * mem::kPageBytes;
}

/// PF-12: 30 s of time with nothing but HEARTBEATs and their answers, one path each.
bool heartbeats(const Report& report, std::size_t associations) {
    Population gateway(
        {.associations = associations, .streams = 65'535, .heartbeat_interval = 30s});
    gateway.counts_per_ns = report.cycles_per_ns();
    if (!gateway.connect_all()) return false;
    std::uint64_t counts = 0, sent = 0, longest = 0;
    const Time from = gateway.now;
    for (Time until = from + 60s; gateway.now < until;) {
        const std::uint64_t turn = gateway.pass(1ms);
        const bool second_round = gateway.now > from + 30s;
        if (second_round) counts += turn;
        if (second_round) sent += gateway.sent().size();
        longest = std::max(longest, turn);
        gateway.answer_heartbeats();
        if (gateway.now.time_since_epoch() % 64ms < 1ms) gateway.control_turn();
    }
    const double ns = report.ns(static_cast<double>(counts));
    const bool alive = gateway.drops(Drop::out_of_the_blue) == 0 &&
                       gateway.node().shared().per_worker[0]->established ==
                           static_cast<std::int64_t>(associations);
    report.add({"idle.heartbeats",
                ns / 30e9 * 100,
                "% of a core",
                {{"associations", associations},
                 {"interval_s", 30},
                 {"heartbeats", sent},
                 {"ns_each", ns / static_cast<double>(std::max<std::uint64_t>(sent, 1))},
                 {"longest_turn_us", report.ns(static_cast<double>(longest)) / 1000}},
                "",
                0});
    if (!alive) std::fprintf(stderr, "idle: associations were lost\n");
    return alive && sent > associations / 2;
}

int run(const Options& options) {
    const Report report("idle", options);
    std::vector<std::size_t> sizes{1, 10'000};
    if (!options.quick) sizes.insert(sizes.end(), {100'000, 1'000'000});
    bool good = true;
    for (const std::size_t size : sizes) good &= memory(report, size);
    for (const std::size_t size : sizes)
        if (size > 1) good &= heartbeats(report, size);
    if (!good) std::fprintf(stderr, "idle: a check failed\n");
    return good ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
