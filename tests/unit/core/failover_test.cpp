// SPDX-License-Identifier: Apache-2.0
// What happens when an ASP dies, a path is cut, an application server is away for a while.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

std::vector<std::uint8_t> one_byte(std::uint8_t n) {
    return {n, 0, 0, 0};
}

std::set<std::uint8_t> sls_seen(const Asp& asp, std::size_t from) {
    std::set<std::uint8_t> seen;
    for (std::size_t i = from; i < asp.received.size(); ++i)
        if (const auto d = m3ua::parse_data(asp.received[i])) seen.insert(d->sls);
    return seen;
}

std::size_t data_count(const Asp& asp) {
    std::size_t n = 0;
    for (const auto& m : asp.received) n += m3ua::parse_data(m).has_value();
    return n;
}

/// Server 1 has two ASPs: peers 1 and 2.
core::Settings two_in_loadshare() {
    core::Settings s = one_asp_per_server(3);
    s.servers.pop_back();
    s.servers[1].members = {{PeerIndex{1}, 1}, {PeerIndex{2}, 1}};
    return s;
}

void one_of_each_sls(CoreLab& lab, Asp& from) {
    for (std::uint8_t sls = 0; sls < 16; ++sls)
        lab.send(from, StreamId{1}, m3ua::data(100, 1000, 1001, sls, one_byte(sls)));
}

}  // namespace

TEST_CASE(
    "decision 5: when one ASP of two dies the other takes over its SLS values, and only those "
    "move") {
    CoreLab lab(two_in_loadshare(), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& one = lab.start(PeerIndex{1});
    Asp& two = lab.start(PeerIndex{2});
    bring_up(lab, source, 100);
    bring_up(lab, one, 101);
    bring_up(lab, two, 101);
    lab.run(100ms);
    one_of_each_sls(lab, source);
    lab.run(100ms);
    const std::set<std::uint8_t> ones = sls_seen(one, 0);
    const std::set<std::uint8_t> twos = sls_seen(two, 0);
    REQUIRE(ones.size() == 8);
    REQUIRE(twos.size() == 8);

    two.silent = true;  // SIGKILL
    const std::size_t before = one.received.size();
    one_of_each_sls(lab, source);  // these wake the retransmission timer
    // sigtran-lan, one path, 4 path and 8 association retransmissions of at most 400 ms: min of
    // both limits rules (PATH-2).
    const bool lost = lab.run_until([&] { return lab.count(Count::associations_lost) == 1; }, 5s);
    INFO(lab.counters());
    REQUIRE(lost);
    lab.run(100ms);
    one_of_each_sls(lab, source);
    lab.run(100ms);
    CHECK(sls_seen(one, before).size() == 16);

    // It comes back: its own values return to it, the other's have never moved.
    Asp& again = lab.start(PeerIndex{2});
    bring_up(lab, again, 101);
    lab.run(100ms);
    const std::size_t mark = one.received.size();
    one_of_each_sls(lab, source);
    lab.run(100ms);
    CHECK(sls_seen(one, mark) == ones);
    CHECK(sls_seen(again, 0) == twos);
}

TEST_CASE("AS-PENDING: messages wait for T(r), then go out in order before new ones") {
    CoreLab lab(one_asp_per_server(2), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& only = lab.start(PeerIndex{1});
    bring_up(lab, source, 100);
    bring_up(lab, only, 101);
    lab.send(only, StreamId{0}, m3ua::aspia(101));
    lab.run(50ms);
    for (std::uint8_t n = 0; n < 50; ++n)
        lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, one_byte(n)));
    lab.run(500ms);
    CHECK(data_count(only) == 0);
    lab.send(only, StreamId{0}, m3ua::aspac(101));
    lab.run(100ms);
    for (std::uint8_t n = 50; n < 60; ++n)
        lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, one_byte(n)));
    lab.run(200ms);
    std::uint8_t expected = 0;
    for (const auto& m : only.received)
        if (const auto d = m3ua::parse_data(m)) REQUIRE(d->user[0] == expected++);
    CHECK(expected == 60);
}

TEST_CASE(
    "AS-PENDING: when T(r) is over the waiting messages are discarded, counted, and no new ones "
    "kept") {
    core::Settings settings = one_asp_per_server(2);
    settings.servers[1].recovery_timer = 300ms;
    settings.servers[1].recovery_queue_messages = 20;
    CoreLab lab(std::move(settings), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& only = lab.start(PeerIndex{1});
    bring_up(lab, source, 100);
    bring_up(lab, only, 101);
    lab.send(only, StreamId{0}, m3ua::aspia(101));
    lab.run(50ms);
    for (std::uint8_t n = 0; n < 30; ++n)
        lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, one_byte(n)));
    lab.run(100ms);
    CHECK(lab.drops(Drop::as_pending_full) == 10);
    lab.run(500ms);
    CHECK(lab.drops(Drop::as_pending_expired) == 20);
    lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, one_byte(99)));
    lab.run(100ms);
    CHECK(lab.drops(Drop::as_unavailable) == 1);
    CHECK(data_count(only) == 0);
}

TEST_CASE(
    "PATH-4: one address of a two-path association is cut: traffic moves to the other and nothing "
    "is lost") {
    core::Settings settings = one_asp_per_server(2);
    settings.listeners[0].addresses.push_back(IpAddress::v4(0x0a4e0003));
    settings.peers[1].addresses.push_back(IpAddress::v4(0x0a4e0011));
    CoreLab lab(std::move(settings), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, source, 100);
    bring_up(lab, z, 101);
    lab.run(3s);  // both paths are confirmed by HEARTBEAT
    const IpAddress dead = z.addresses[0];
    lab.cut = [&](const IpBytes& p, bool) {
        const auto parsed = wire::parse_ip(p);
        const auto& ip = std::get<wire::IpPacket>(parsed);
        return ip.source == dead || ip.destination == dead;
    };
    for (std::uint8_t n = 0; n < 200; ++n) {
        lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, one_byte(n)));
        lab.turn();
    }
    lab.run(3s);
    INFO(lab.counters());
    std::uint8_t expected = 0;
    for (const auto& m : z.received)
        if (const auto d = m3ua::parse_data(m)) REQUIRE(d->user[0] == expected++);
    CHECK(expected == 200);
    CHECK(lab.count(Count::associations_lost) == 0);
    CHECK(lab.count(Count::paths_failed) >= 1);
}

TEST_CASE("decision 14: a slow ASP closes the sender's window instead of losing messages") {
    core::Settings settings = one_asp_per_server(2);
    settings.profiles[1].values.send_buffer_bytes = 16 * 1024;
    settings.profiles[1].values.receive_window_bytes = 32 * 1024;
    CoreLab lab(std::move(settings), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& slow = lab.start(PeerIndex{1});
    bring_up(lab, source, 100);
    bring_up(lab, slow, 101);
    bool stalled = true;
    lab.cut = [&](const IpBytes& p, bool) {
        const auto parsed = wire::parse_ip(p);
        return stalled && std::get<wire::IpPacket>(parsed).destination == slow.addresses[0];
    };
    for (std::uint32_t n = 0; n < 2000; ++n)
        lab.send(source, StreamId{1},
                 m3ua::data(100, 1000, 1001, 3,
                            std::vector<std::uint8_t>(100, static_cast<std::uint8_t>(n))));
    lab.run(300ms);
    stalled = false;
    lab.run(4s);
    INFO(lab.counters());
    CHECK(data_count(slow) == 2000);
    CHECK(lab.drops(Drop::send_buffer_full) == 0);
    CHECK(lab.drops(Drop::peer_congested) == 0);
}

TEST_CASE("what control must know waits for room in its ring and keeps its cause") {
    CoreLab lab(one_asp_per_server(6), {});
    Asp& loud = lab.start(PeerIndex{0});
    bring_up(lab, loud, 100);
    Asp& second = lab.start(PeerIndex{1});
    bring_up(lab, second, 101);
    core::EventRecord event;
    while (lab.node->next_event(event)) {
    }

    // BEATs until the ring of 1 MiB is full, and nobody takes them out: long ones first, then the
    // shortest, so that no report fits behind them.
    lab.control_paused = true;
    std::vector<std::uint8_t> beat{1, 0, 3, 3, 0, 0, 0xea, 0x68, 0, 9, 0xea, 0x60};
    beat.resize(60008);
    for (int i = 0; i < 17; ++i) {
        lab.send(loud, StreamId{0}, beat);
        lab.run(20ms);
    }
    const std::vector<std::uint8_t> short_beat{1, 0, 3, 3, 0, 0, 0, 8};
    for (int i = 0; i < 1000; ++i) {
        lab.send(loud, StreamId{0}, short_beat);
        if (i % 50 == 0) lab.run(20ms);
    }
    std::deque<Asp*> late;
    for (std::uint32_t i = 2; i < 6; ++i) late.push_back(&lab.start(PeerIndex{i}));
    lab.run(500ms);
    for (const Asp* asp : late) REQUIRE(asp->association->state() == sctp::State::established);
    lab.abort(second, 12);
    lab.run(500ms);

    lab.control_paused = false;
    lab.run(2s);
    std::vector<std::uint32_t> up;
    std::vector<std::uint32_t> aborted;
    while (lab.node->next_event(event)) {
        if (event.kind == core::EventKind::association_up) up.push_back(event.peer.value);
        if (event.kind != core::EventKind::association_aborted) continue;
        aborted.push_back(event.peer.value);
        REQUIRE(event.detail == 12);  // the cause that the ASP gave
    }
    std::sort(up.begin(), up.end());
    REQUIRE(up == std::vector<std::uint32_t>{2, 3, 4, 5});
    REQUIRE(aborted == std::vector<std::uint32_t>{1});
    for (std::uint32_t i = 2; i < 6; ++i) bring_up(lab, *late[i - 2], 100 + i);
}

TEST_CASE("REL-01: management messages wait for control as long as it takes; none is discarded") {
    CoreLab lab(one_asp_per_server(40), {});
    Asp& loud = lab.start(PeerIndex{0});
    bring_up(lab, loud, 100);
    std::deque<Asp*> others;
    for (std::uint32_t p = 1; p < 40; ++p) others.push_back(&lab.start(PeerIndex{p}));
    lab.run(300ms);

    lab.control_paused = true;
    std::vector<std::uint8_t> beat{1, 0, 3, 3, 0, 0, 0xea, 0x68, 0, 9, 0xea, 0x60};
    beat.resize(60008);
    for (int i = 0; i < 20; ++i) {
        lab.send(loud, StreamId{0}, beat);
        lab.run(20ms);
    }
    for (Asp* asp : others) {
        lab.send(*asp, StreamId{0}, m3ua::aspup(asp->peer.value + 1));
        lab.send(*asp, StreamId{0}, m3ua::aspac(100 + asp->peer.value));
    }
    lab.run(8s, 5ms);  // longer than DATA is held
    lab.control_paused = false;
    lab.run(3s, 5ms);
    INFO(lab.counters());
    CHECK(lab.drops(Drop::peer_congested) == 0);
    for (const Asp* asp : others) {
        const auto is_ack = [](const auto& m) { return m3ua::is(m, 4, 3); };
        CHECK(std::any_of(asp->received.begin(), asp->received.end(), is_ack));
    }
}

TEST_CASE("DAT-1, STR-2: a gateway whose pages run out for a while loses no message") {
    // The pages of a worker come from control: when that does not get to run, none come.
    CoreLab lab(one_asp_per_server(2), {.memory_bytes = 2u << 20});
    Asp& near = lab.start(PeerIndex{0});
    Asp& far = lab.start(PeerIndex{1});
    bring_up(lab, near, 100);
    bring_up(lab, far, 101);
    lab.run(100ms);

    lab.control_paused = true;
    lab.cut = [&](const IpBytes& packet, bool to_gateway) {
        return !to_gateway && packet[19] == 2;  // 10.77.16.2, the far one
    };
    std::vector<std::uint8_t> user(250);
    std::uint32_t sent = 0;
    for (; lab.drops(Drop::data_no_memory) == 0 && sent < 20'000; ++sent) {
        store_be32(user.data(), sent);
        lab.send(near, StreamId{1}, m3ua::data(100, 1000, 1001, 3, user));
        if (sent % 8 == 7) lab.turn();
    }
    INFO(lab.counters());
    REQUIRE(lab.drops(Drop::data_no_memory) > 0);
    lab.cut = nullptr;
    lab.control_paused = false;
    lab.run(5s);
    INFO(lab.counters());
    REQUIRE(lab.drops(Drop::peer_congested) == 0);
    std::uint32_t next = 0;
    for (const auto& message : far.received)
        if (const auto d = m3ua::parse_data(message)) REQUIRE(load_be32(d->user.data()) == next++);
    REQUIRE(next == sent);
}
