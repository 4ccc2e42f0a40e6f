// SPDX-License-Identifier: Apache-2.0
// The gateway as its users see it: application servers come up over SCTP and M3UA and exchange
// signaling through it.
#include <catch2/catch.hpp>

#include <map>

#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

std::vector<std::uint8_t> numbered(std::uint32_t n) {
    return {static_cast<std::uint8_t>(n >> 24),
            static_cast<std::uint8_t>(n >> 16),
            static_cast<std::uint8_t>(n >> 8),
            static_cast<std::uint8_t>(n),
            0xaa,
            0xbb,
            0xcc};
}

std::uint32_t number_of(const m3ua::Data& d) {
    return std::uint32_t{d.user[0]} << 24 | std::uint32_t{d.user[1]} << 16 |
           std::uint32_t{d.user[2]} << 8 | d.user[3];
}

std::vector<m3ua::Data> data_of(const Asp& asp) {
    std::vector<m3ua::Data> all;
    for (const auto& m : asp.received)
        if (const auto d = m3ua::parse_data(m)) all.push_back(*d);
    return all;
}

/// Sends `count` numbered DATA from server `from` to server `to`, spread over 16 SLS, at most 8 a
/// turn.
void exchange(CoreLab& lab, Asp& a, std::uint32_t rc, std::uint32_t opc, std::uint32_t dpc,
              std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
        const auto sls = static_cast<std::uint8_t>(n % 16);
        lab.send(a, StreamId{static_cast<std::uint16_t>(1 + sls % 15)},
                 m3ua::data(rc, opc, dpc, sls, numbered(n)));
        if (n % 8 == 7) lab.turn();
    }
}

/// Every number once, in order within its SLS.
void require_complete(const std::vector<m3ua::Data>& got, std::uint32_t count) {
    REQUIRE(got.size() == count);
    std::map<std::uint8_t, std::uint32_t> last;
    for (const m3ua::Data& d : got) {
        if (last.contains(d.sls))
            REQUIRE(number_of(d) == last[d.sls] + 16);
        else
            REQUIRE(number_of(d) == d.sls);
        last[d.sls] = number_of(d);
    }
}

struct TwoServers {
    explicit TwoServers(unsigned workers) : lab(one_asp_per_server(2), {.workers = workers}) {
        a = &lab.start(PeerIndex{0});
        z = &lab.start(PeerIndex{1});
        bring_up(lab, *a, 100);
        bring_up(lab, *z, 101);
    }
    CoreLab lab;
    Asp* a;
    Asp* z;
};

}  // namespace

TEST_CASE("two application servers exchange messages both ways through one worker",
          "[mtr-v-001][mtr-v-002]") {
    TwoServers t(1);
    exchange(t.lab, *t.a, 100, 1000, 1001, 2000);
    exchange(t.lab, *t.z, 101, 1001, 1000, 2000);
    t.lab.run(1s);
    require_complete(data_of(*t.z), 2000);
    require_complete(data_of(*t.a), 2000);
    const m3ua::Data first = data_of(*t.z).front();
    CHECK(first.routing_context == 101);
    CHECK(first.opc == 1000);
    CHECK(first.dpc == 1001);
    CHECK(first.si == 3);
    CHECK(first.ni == 2);
    CHECK(t.lab.count(Count::routed_messages) == 4000);
}

TEST_CASE("decision 13: two workers route across, nothing lost, order within an SLS kept") {
    // Some transports hash to the one, some to the other worker: eight servers make both sorts
    // certain enough.
    CoreLab lab(one_asp_per_server(8), {.workers = 2});
    std::vector<Asp*> asps;
    for (std::uint32_t i = 0; i < 8; ++i) asps.push_back(&lab.start(PeerIndex{i}));
    for (std::uint32_t i = 0; i < 8; ++i) bring_up(lab, *asps[i], 100 + i);
    for (std::uint32_t i = 0; i < 8; ++i)
        exchange(lab, *asps[i], 100 + i, 1000 + i, 1000 + (i + 1) % 8, 800);
    lab.run(1s);
    for (std::uint32_t i = 0; i < 8; ++i) require_complete(data_of(*asps[i]), 800);
    CHECK(lab.count(Count::handoff_packets) > 0);
    CHECK(lab.count(Count::handoff_messages) > 0);
    CHECK(lab.node->worker_counters(WorkerIndex{0}).get(Count::associations_up) > 0);
    CHECK(lab.node->worker_counters(WorkerIndex{1}).get(Count::associations_up) > 0);
    // The tag we drew names the owner: every hint is right while nobody forges tags.
    CHECK(lab.count(Count::tag_hint_misses) == 0);
    CHECK(lab.count(Count::tag_hint_hits) > 0);
}

TEST_CASE("decision 3: DATA never leaves on stream 0, and one SLS keeps one stream") {
    TwoServers t(1);
    exchange(t.lab, *t.a, 100, 1000, 1001, 320);
    t.lab.run(500ms);
    std::map<std::uint8_t, std::uint16_t> stream_of;
    for (std::size_t i = 0; i < t.z->received.size(); ++i) {
        const auto d = m3ua::parse_data(t.z->received[i]);
        if (!d) continue;
        const std::uint16_t stream = t.z->received_on[i].value;
        REQUIRE(stream != 0);
        if (stream_of.contains(d->sls)) REQUIRE(stream_of[d->sls] == stream);
        stream_of[d->sls] = stream;
    }
    CHECK(stream_of.size() == 16);
}

TEST_CASE(
    "2,500 associations from 2,500 addresses on one port come up and each carries routed traffic") {
    constexpr std::uint32_t kPeers = 2500;
    CoreLab lab(one_asp_per_server(kPeers), {.workers = 2, .memory_bytes = 256u << 20});
    for (std::uint32_t i = 0; i < kPeers; ++i) lab.start(PeerIndex{i});
    const bool all_up =
        lab.run_until([&] { return lab.count(Count::associations_up) == kPeers; }, 5s);
    INFO(lab.counters());
    REQUIRE(all_up);
    for (std::uint32_t i = 0; i < kPeers; ++i) {
        lab.send(lab.asps[i], StreamId{0}, m3ua::aspup(i + 1));
        lab.send(lab.asps[i], StreamId{0}, m3ua::aspac(100 + i));
    }
    lab.run(100ms);
    for (std::uint32_t i = 0; i < kPeers; ++i)
        lab.send(lab.asps[i], StreamId{1},
                 m3ua::data(100 + i, 1000 + i, 1000 + (i + 1) % kPeers, 5, numbered(i)));
    lab.run(200ms);
    for (std::uint32_t i = 0; i < kPeers; ++i) {
        const auto got = data_of(lab.asps[i]);
        REQUIRE(got.size() == 1);
        REQUIRE(number_of(got[0]) == (i + kPeers - 1) % kPeers);
    }
    CHECK(lab.node->worker_counters(WorkerIndex{1}).get(Count::associations_up) > kPeers / 3);
}

TEST_CASE(
    "an application server without an active ASP: its messages are discarded by name, others "
    "flow") {
    CoreLab lab(one_asp_per_server(3), {});
    Asp& a = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, a, 100);
    bring_up(lab, z, 101);
    lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1002, 0, numbered(1)));  // AS 2 never came up
    lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1001, 0, numbered(2)));
    lab.send(a, StreamId{1}, m3ua::data(100, 1000, 4000, 0, numbered(3)));  // nobody's point code
    lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1, 0, numbered(4)));     // our own
    lab.run(100ms);
    CHECK(data_of(z).size() == 1);
    CHECK(lab.drops(Drop::as_unavailable) == 1);
    CHECK(lab.drops(Drop::mtp3_no_route) == 1);
    CHECK(lab.drops(Drop::mtp3_local_user) == 1);
}

TEST_CASE(
    "decision 15, D15: another payload protocol is dropped by name, with the quirk it is taken") {
    core::Settings settings = one_asp_per_server(2);
    settings.peers[1].m3ua.quirks.ppid_any = true;
    CoreLab lab(std::move(settings), {});
    Asp& a = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, a, 100);
    bring_up(lab, z, 101);
    lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1001, 0, numbered(1)), Ppid{5});
    lab.send(z, StreamId{1}, m3ua::data(101, 1001, 1000, 0, numbered(2)), Ppid{0});
    lab.run(100ms);
    CHECK(lab.drops(Drop::ppid_unexpected) == 1);
    CHECK(data_of(z).empty());
    CHECK(data_of(a).size() == 1);
}

TEST_CASE("HS-3: a stranger's INIT is refused before any work, and leaves no state",
          "[m3ua-field-10]") {
    core::Settings settings = one_asp_per_server(2);
    CoreLab lab(settings, {});
    lab.start(PeerIndex{0});
    lab.asps[0].addresses = {IpAddress::v4(0x0a4dff01)};  // not in the access list
    lab.asps[0].silent = true;
    Asp& stranger = lab.start(PeerIndex{1});
    stranger.addresses = {};
    lab.cut = [](const IpBytes& p, bool to_gateway) {
        if (to_gateway)
            const_cast<IpBytes&>(p)[15] = 0xfe;  // source 10.77.16.254: nobody's; checksum below
        if (to_gateway) {
            auto& b = const_cast<IpBytes&>(p);
            b[10] = b[11] = 0;
            std::uint32_t sum = 0;
            for (int i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(b[i] << 8 | b[i + 1]);
            sum = (sum & 0xffff) + (sum >> 16);
            sum = (sum & 0xffff) + (sum >> 16);
            b[10] = static_cast<std::uint8_t>(~sum >> 8);
            b[11] = static_cast<std::uint8_t>(~sum);
        }
        return false;
    };
    lab.run(50ms);
    CHECK(lab.drops(Drop::init_refused_peer) >= 1);
    CHECK(lab.count(Count::inits_answered) == 0);
}

TEST_CASE(
    "an association that ends by SHUTDOWN gives everything back, and the peer may come again") {
    TwoServers t(1);
    for (int round = 0; round < 3; ++round) {
        auto pages_before = t.lab.node->statistics();
        Asp& again = t.lab.start(
            PeerIndex{0});  // the process restarted on another port: the old one is replaced
        bring_up(t.lab, again, 100);
        t.lab.run(2s);
        exchange(t.lab, *t.z, 101, 1001, 1000, 160);
        t.lab.run(200ms);
        require_complete(data_of(again), 160);
    }
    t.lab.node->drain(t.lab.now);
    REQUIRE(t.lab.run_until([&] { return t.lab.node->drained(); }, 5s));
}
