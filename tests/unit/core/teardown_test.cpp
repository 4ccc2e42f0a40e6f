// SPDX-License-Identifier: Apache-2.0
// Associations with 65,535 + 65,535 streams come and go, by SHUTDOWN, by ABORT and by restarts of
// their peers, while others carry traffic (STR-3, L03): the work of a turn is bounded, nothing is
// lost, and the workers make no system call, take no lock and no memory from the heap. perf/ has
// the ten thousand rounds and how long a turn takes.
#include <catch2/catch.hpp>

#include "base/bytes.h"
#include "core/shared.h"
#include "core/slot.h"
#include "core/worker_state.h"
#include "support/core_lab.h"
#include "watch.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr std::uint32_t kSteady = 4;  // peers that go on all the time; peer 0 hears of the others
constexpr std::uint32_t kComers = 3;  // one for each way to end
constexpr std::uint32_t kWidestStreams = 65535;
constexpr std::uint32_t kStreamsPerPage = 1024;  // of the receiving half
constexpr std::size_t kPagesUsed = 64;
constexpr int kRounds = 40;

enum class Ending { shutdown, abort, restart };

core::Settings widest(std::size_t peers) {
    core::Settings s = one_asp_per_server(peers);
    for (core::NamedProfile& p : s.profiles)
        p.values.streams_out = p.values.streams_in = kWidestStreams;
    return s;
}

sctp::Profile widest_asp() {
    sctp::Profile p = sctp::kProfileSigtranLan;
    p.streams_out = p.streams_in = kWidestStreams;
    return p;
}

/// Pages that a worker gives back in one of its turns, and streams that it looks up beyond one for
/// each chunk in and out and each message queued: those of associations that end, were they
/// touched.
struct PagesPerTurn {
    explicit PagesPerTurn(CoreLab& in) : lab(in) {
        lab.around_workers = [this](bool entering) {
            if (!entering) watch(false);
            for (std::size_t w = 0; w < lab.workers.size(); ++w) look(w, entering);
            if (entering) watch(true);
        };
    }
    ~PagesPerTurn() { lab.around_workers = nullptr; }
    PagesPerTurn(const PagesPerTurn&) = delete;
    PagesPerTurn& operator=(const PagesPerTurn&) = delete;

    void look(std::size_t w, bool entering) {
        const mem::PageCache& pages = lab.node->shared().per_worker[w]->pages;
        const std::size_t now = pages.available() + pages.returning();
        const Counters& counters = lab.workers[w]->counters();
        const std::uint64_t used = counters.get(Count::rx_data_chunks) +
                                   counters.get(Count::tx_data_chunks) +
                                   counters.get(Count::tx_messages);
        const auto beyond = static_cast<std::int64_t>(counters.get(Count::stream_lookups) - used);
        if (entering) {
            before[w] = now;
            beyond_before[w] = beyond;
            return;
        }
        if (now > before[w]) most = std::max(most, now - before[w]);
        most_streams = std::max(most_streams, beyond - beyond_before[w]);
    }
    CoreLab& lab;
    std::array<std::size_t, 8> before{};
    std::array<std::int64_t, 8> beyond_before{};
    std::size_t most = 0;
    std::int64_t most_streams = 0;
};

struct Traffic {
    Traffic() : lab(widest(kSteady + kComers), {.workers = 2, .asp_profile = widest_asp()}) {
        for (std::uint32_t p = 0; p < kSteady; ++p) {
            lab.start(PeerIndex{p});
            bring_up(lab, lab.asps[p], 100 + p);
        }
        lab.run(100ms);
    }
    void send(Asp& from, std::uint32_t to, StreamId stream) {
        std::vector<std::uint8_t> user(100);
        store_be32(user.data(), sent++);
        const std::uint32_t own = from.peer.value;
        lab.send(from, stream, m3ua::data(100 + own, 1000 + own, 1000 + to, 0, user));
    }
    /// Live traffic of the others, all the while.
    void turns(int n) {
        for (; n > 0; --n) {
            for (std::uint32_t p = 1; p < kSteady; ++p) {
                send(lab.asps[p], 0, StreamId{1});
                send(lab.asps[p], 1 + p % (kSteady - 1), StreamId{2});
            }
            lab.turn();
        }
    }
    void turns_until(const std::function<bool()>& holds) {
        for (int n = 0; !holds() && n < 5000; ++n) turns(1);
        INFO(lab.counters());
        REQUIRE(holds());
    }
    /// The peer comes, takes its AS and uses a stream of every page.
    Asp& come(std::uint32_t peer) {
        Asp& asp = lab.start(PeerIndex{peer}, 2905);
        const auto has = [&asp](std::uint8_t message_class, std::uint8_t type) {
            return std::any_of(asp.received.begin(), asp.received.end(),
                               [=](const auto& m) { return m3ua::is(m, message_class, type); });
        };
        turns_until([&] { return asp.association->state() == sctp::State::established; });
        lab.send(asp, StreamId{0}, m3ua::aspup(peer + 1));
        turns_until([&] { return has(3, 4); });
        lab.send(asp, StreamId{0}, m3ua::aspac(100 + peer));
        turns_until([&] { return has(4, 3); });
        for (std::uint32_t stream = 1; stream < kWidestStreams; stream += kStreamsPerPage) {
            send(asp, 0, StreamId{static_cast<std::uint16_t>(stream)});
            if (stream % 8 == 1) turns(1);
        }
        turns_until([&] { return asp.association->queued_bytes() == 0; });
        return asp;
    }
    std::size_t delivered() const {
        std::size_t n = 0;
        for (const Asp& asp : lab.asps)
            for (const auto& m : asp.received) n += m3ua::parse_data(m).has_value();
        return n;
    }
    std::size_t pages_out() {
        const auto& shared = lab.node->shared();
        std::size_t there = shared.pool->free_pages();
        for (const auto& w : shared.per_worker)
            there += w->pages.available() + w->pages.returning();
        return shared.pool->total_pages() - there;
    }

    CoreLab lab;
    std::uint32_t sent = 0;
};

}  // namespace

TEST_CASE(
    "STR-3, L03: 65,535 + 65,535 streams come and go in live traffic, with bounded work a turn") {
    const bool dispatch = dispatch_available();
    Traffic t;
    const std::size_t idle = t.pages_out();
    t.lab.measure_only_workers = true;
    t.turns(1);
    allocations = locks = system_calls = 0;
    std::size_t most = 0;
    std::int64_t most_streams = 0;
    {
        PagesPerTurn count(t.lab);
        for (int round = 0; round < kRounds; ++round)
            for (const Ending how : {Ending::shutdown, Ending::abort, Ending::restart}) {
                const std::uint32_t peer = kSteady + static_cast<std::uint32_t>(how);
                Asp* asp = &t.come(peer);
                CHECK(t.pages_out() >= idle + kPagesUsed);
                if (how == Ending::restart) {
                    asp->silent = true;  // its process is gone, and another one starts
                    asp = &t.come(peer);
                }
                if (how == Ending::abort)
                    t.lab.abort(*asp, 12);
                else
                    t.lab.shutdown(*asp);
                t.turns_until([&] { return t.pages_out() < idle + 16; });
                asp->silent = true;
            }
        most = count.most;
        most_streams = count.most_streams;
    }
    t.lab.run(500ms);
    INFO(t.lab.counters());
    CHECK(t.lab.count(Count::associations_restarted) == kRounds);
    CHECK(t.lab.count(Count::associations_closed) == 2 * kRounds);
    CHECK(t.lab.count(Count::associations_aborted) == kRounds);
    CHECK(t.delivered() == t.sent);
    // In pages; each holds the state of 512 streams. Freed by SHUTDOWN or ABORT, and by restarts.
    CHECK(most <= core::kFreedPerTurn + 8);
    CHECK(most > sctp::kRetiredPerTurn / 2);
    CHECK(most_streams == 0);  // setting up and taking down look at none
    CHECK(allocations == 0);
    CHECK(locks == 0);
    if (dispatch) CHECK(system_calls == 0);
}

namespace {
constexpr std::uint32_t kMany = 30;

/// Many associations that use a stream of every page.
struct ManyBusy {
    ManyBusy()
        : lab(widest(kMany),
              {.workers = 1, .memory_bytes = 128u << 20, .asp_profile = widest_asp()}) {
        for (std::uint32_t p = 0; p < kMany; ++p) {
            lab.start(PeerIndex{p}, 2905);
            bring_up(lab, lab.asps[p], 100 + p);
        }
        const std::vector<std::uint8_t> user(40);
        for (std::uint32_t stream = 1; stream < kWidestStreams; stream += kStreamsPerPage) {
            for (Asp& asp : lab.asps) {
                const std::uint32_t own = asp.peer.value;
                lab.send(asp, StreamId{static_cast<std::uint16_t>(stream)},
                         m3ua::data(100 + own, 1000 + own, 1000 + (own + 1) % kMany, 0, user));
            }
            lab.turn();
        }
        lab.run(200ms);
    }
    CoreLab lab;
};
}  // namespace

TEST_CASE("STR-3, L03: thirty associations that end in one turn share its bound") {
    ManyBusy many;
    CoreLab& lab = many.lab;
    PagesPerTurn count(lab);
    for (Asp& asp : lab.asps) lab.abort(asp, 12);
    lab.run(300ms);
    INFO(lab.counters());
    CHECK(lab.count(Count::associations_aborted) == kMany);
    CHECK(lab.node->shared().per_worker[0]->slots_used.load() == 0);
    CHECK(count.most <= core::kFreedPerTurn + 16);
    CHECK(count.most > core::kFreedPerTurn / 2);
    CHECK(count.most_streams == 0);
}

TEST_CASE("STR-3, L03: thirty associations that restart in one turn share a bound too") {
    ManyBusy many;
    CoreLab& lab = many.lab;
    PagesPerTurn count(lab);
    for (std::uint32_t p = 0; p < kMany; ++p) {
        lab.asps[p].silent = true;
        lab.start(PeerIndex{p}, 2905);
    }
    lab.run(500ms);
    INFO(lab.counters());
    CHECK(lab.count(Count::associations_restarted) == kMany);
    // Half of the bound is for those that end.
    CHECK(count.most <= core::kFreedPerTurn / 2 + 16);
    CHECK(count.most > core::kFreedPerTurn / 4);
    CHECK(count.most_streams == 0);
    const auto& shared = lab.node->shared();
    std::size_t there = shared.pool->free_pages();
    for (const auto& w : shared.per_worker) there += w->pages.available() + w->pages.returning();
    CHECK(shared.pool->total_pages() - there < 4 * kMany);
}
