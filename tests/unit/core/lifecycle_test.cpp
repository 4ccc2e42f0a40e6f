// SPDX-License-Identifier: Apache-2.0
// An association ends while packets, look-ups, timers and hand-offs for it are under way (L01):
// what still comes is dropped by name, its slot goes to others without harm, and nothing acts on
// what is gone. (The sanitizers' builds see what is used after it was given back.)
#include <catch2/catch.hpp>

#include "core/shared.h"
#include "core/slot.h"
#include "hostile.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr std::uint8_t kData = 0, kAbort = 6;

/// Peer 1 of a Target with an association that the test speaks for.
struct Spoken {
    explicit Spoken(Target& target) : t(target) {
        answer = t.feed(t.init(t.peer(1))).at(0);
        t.feed(t.cookie_echo(answer, t.peer(1)));
        t.flush();
        tag = wire::load_u32(std::span{answer}.subspan(20), 16);
    }
    IpBytes data() {
        Target::Value value(12);
        wire::store_u32(value, 0, next_tsn++);
        value[7] = 1;   // stream
        value[11] = 9;  // a protocol that is not ours: counted and done with
        value.push_back(1);
        return t.chunk(t.peer(1), kData, tag, value);
    }
    IpBytes abort() const { return t.chunk(t.peer(1), kAbort, tag); }
    /// The chunks of both in one packet.
    static IpBytes joined(const IpBytes& first, const IpBytes& second) {
        IpBytes sctp(first.begin() + 20, first.end());
        sctp.insert(sctp.end(), second.begin() + 32, second.end());
        const auto parsed = wire::parse_ip(first);
        const auto& from = *std::get_if<wire::IpPacket>(&parsed);
        return Target::sealed(Target::ip(from.source, from.destination, sctp));
    }
    void burst(const std::vector<IpBytes>& packets) {
        std::vector<core::PacketView> views;
        for (const IpBytes& p : packets) views.push_back({.ip = p});
        PacketSink sink;
        t.lab.workers[0]->receive(views, t.lab.now, sink);
        said = std::move(sink.packets);
    }

    Target& t;
    IpBytes answer;
    std::uint32_t tag = 0;
    std::uint32_t next_tsn = 1000;  // as Target::init() says
    std::vector<IpBytes> said;
};

}  // namespace

TEST_CASE("L01: after an ABORT the rest of its packet and of its burst is dropped by name") {
    Target t;
    Spoken s(t);
    REQUIRE(t.lab.count(Count::associations_up) == 1);
    const IpBytes before = s.data(), with = s.data(), after = s.data(), last = s.data();
    // The burst's look-up found the association for each of them.
    s.burst({before, Spoken::joined(s.abort(), with), after, last, s.abort()});
    CHECK(t.lab.count(Count::rx_data_chunks) == 1);
    CHECK(t.lab.count(Count::associations_aborted) == 1);
    CHECK(t.lab.drops(Drop::after_close) == 4);  // one chunk and three packets
    CHECK(s.said.empty());
    CHECK(t.flush().empty());
    // Its timers are gone with it: the next look is a minute later.
    t.lab.now += 60s;
    PacketSink sink;
    t.lab.workers[0]->advance(t.lab.now, sink);
    CHECK(t.flush().empty());
    t.lab.run(1s);
    CHECK(t.lab.node->shared().per_worker[0]->slots_used.load() == 0);
    s.burst({after});
    CHECK(t.lab.drops(Drop::out_of_the_blue) == 1);  // a known peer: answered
    CHECK(s.said.size() == 1);
}

TEST_CASE("L01: a time-out that is due in the turn in which its association ends does nothing") {
    Target t;
    Spoken s(t);
    t.lab.now += 10s;  // HEARTBEATs are due on both paths
    s.burst({s.abort()});
    PacketSink sink;
    t.lab.workers[0]->advance(t.lab.now, sink);
    while (t.lab.workers[0]->flush(t.lab.now, sink)) {
    }
    CHECK(sink.packets.empty());
    CHECK(t.lab.count(Count::heartbeats_sent) == 0);
    CHECK(t.lab.count(Count::associations_lost) == 0);
}

TEST_CASE("L01: what waits in a ring for an association that ended meanwhile is dropped by name") {
    CoreLab lab(one_asp_per_server(8), {.workers = 2});
    Asp* there = nullptr;  // one of worker 1's
    for (std::uint32_t p = 0; p < 8; ++p) {
        Asp& asp = lab.start(PeerIndex{p});
        bring_up(lab, asp, 100 + p);
    }
    lab.run(1100ms);
    const auto statistics = lab.node->statistics();
    for (Asp& asp : lab.asps)
        if (statistics->peer_workers[asp.peer.value].value == 1) there = &asp;
    REQUIRE(there != nullptr);
    // Its DATA comes to worker 0, which finds it in the table and hands it over; the ABORT comes to
    // worker 1 itself, which takes it first.
    const std::vector<std::uint8_t> user(40);
    const std::uint32_t own = there->peer.value;
    for (int n = 0; n < 20; ++n)
        lab.send(*there, StreamId{1},
                 m3ua::data(100 + own, 1000 + own, 1000 + (own + 1) % 8, 0, user));
    std::vector<IpBytes> late;
    lab.cut = [&](const IpBytes& packet, bool to_gateway) {
        if (to_gateway) late.push_back(packet);
        return to_gateway;
    };
    lab.flush(*there);
    lab.turn();
    const std::size_t data_packets = late.size();
    lab.abort(*there, 12);
    lab.turn();
    lab.cut = nullptr;
    REQUIRE(data_packets > 0);
    REQUIRE(late.size() > data_packets);
    PacketSink sink;
    const auto give = [&](unsigned worker, std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            const core::PacketView view{.ip = late[i]};
            lab.workers[worker]->receive({&view, 1}, lab.now, sink);
        }
    };
    const std::uint64_t taken = lab.count(Count::rx_data_chunks);
    give(0, 0, data_packets);
    give(1, data_packets, late.size());
    lab.run(50ms);
    INFO(lab.counters());
    CHECK(lab.count(Count::associations_aborted) == 1);
    CHECK(lab.count(Count::rx_data_chunks) == taken);
    CHECK(lab.drops(Drop::after_close) == data_packets);
}

TEST_CASE("L01: slots that are used again and again meet late packets of those before unharmed") {
    constexpr std::uint32_t kPeers = 6;
    core::Settings settings = one_asp_per_server(kPeers);
    settings.listeners[0].max_associations = kPeers + 2;  // so that they are used again
    CoreLab lab(std::move(settings), {.workers = 2, .memory_bytes = 4u << 20});
    for (std::uint32_t p = 0; p < 2; ++p) {
        lab.start(PeerIndex{p});
        bring_up(lab, lab.asps[p], 100 + p);
    }
    RandomSource random(std::uint64_t{7});
    std::vector<IpBytes> seen;
    PacketSink nowhere;
    lab.cut = [&](const IpBytes& packet, bool to_gateway) {
        // INITs and COOKIE ECHOs aside, which would begin something.
        const std::uint8_t type = packet[32];
        if (to_gateway && packet[15] > 2 && type != 1 && type != 10 && seen.size() < 2000)
            seen.push_back(packet);
        return false;
    };
    const std::vector<std::uint8_t> user(60);
    std::uint32_t good = 0;
    std::array<Asp*, kPeers> at{};
    for (int round = 0; round < 300; ++round) {
        const auto p = 2 + static_cast<std::uint32_t>(random.below(kPeers - 2));
        if (at[p] != nullptr) {
            if (random.below(2) == 0)
                lab.abort(*at[p], 12);
            else
                lab.shutdown(*at[p]);
            lab.turn();
            lab.turn();
            at[p]->silent = true;
        }
        at[p] = &lab.start(PeerIndex{p}, 2905);
        for (int turn = 0; turn < 8; ++turn) {
            lab.send(lab.asps[0], StreamId{1}, m3ua::data(100, 1000, 1001, 0, user));
            ++good;
            for (int late = 0; late < 4 && !seen.empty(); ++late) {
                const IpBytes packet = seen[random.below(seen.size())];
                const core::PacketView view{.ip = packet};
                lab.workers[random.below(2)]->receive({&view, 1}, lab.now, nowhere);
            }
            lab.turn();
        }
    }
    lab.run(1s);
    INFO(lab.counters());
    std::size_t got = 0;
    for (const auto& m : lab.asps[1].received) got += m3ua::parse_data(m).has_value();
    CHECK(got == good);
    CHECK(lab.drops(Drop::bad_tag) > 0);
    CHECK(lab.count(Count::associations_up) > 100);
    std::int64_t slots = 0;
    for (const auto& w : lab.node->shared().per_worker) slots += w->slots_used.load();
    CHECK(slots <= kPeers);
}

TEST_CASE("a peer that we open is tried again after 1 s, then twice as long each time up to 64 s") {
    core::Settings settings = one_asp_per_server(2);
    settings.peers[1].connect = true;
    CoreLab lab(std::move(settings), {});
    std::size_t left = 0;  // the gateway
    const auto nobody_there = [&left](const IpBytes&, bool to_gateway) {
        left += !to_gateway;
        return true;
    };
    lab.cut = nobody_there;
    const auto attempts = [&](Duration length) {
        bool open = false;
        std::vector<Duration> waits;
        Time ended = lab.now;
        for (Duration t{}; t < length; t += 50ms) {
            const std::size_t before = left;
            lab.turn(50ms);
            if (!open && left > before) {
                waits.push_back(lab.now - ended);
                open = true;
            }
            core::EventRecord event;
            while (lab.node->next_event(event))
                if (event.kind == core::EventKind::association_lost) {
                    ended = lab.now;
                    open = false;
                }
        }
        return waits;
    };
    const auto waits = attempts(300s);
    REQUIRE(waits.size() >= 9);
    for (std::size_t n = 1; n < waits.size(); ++n) {
        const Duration expected = std::min<Duration>(1s * (1 << (n - 1)), 64s);
        CHECK(waits[n] >= expected - 100ms);
        CHECK(waits[n] <= expected + 200ms);
    }
    // Once it was up it is tried soon again.
    Asp& asp = lab.listen(PeerIndex{1});
    lab.cut = nullptr;
    REQUIRE(lab.run_until([&] { return asp.association->state() == sctp::State::established; },
                          100s, 50ms));
    lab.run(100ms);
    lab.abort(asp, 12);
    lab.run(50ms);
    lab.cut = nobody_there;
    const auto again = attempts(10s);
    REQUIRE(again.size() >= 1);
    CHECK(again[0] <= 1200ms);
}

TEST_CASE("DAT-3: within a burst, too, each second packet of an association is acknowledged") {
    Target t;
    Spoken s(t);
    std::vector<IpBytes> packets;
    for (int i = 0; i < 8; ++i) packets.push_back(s.data());
    s.burst(packets);
    // The first DATA at once, then two by two; the last one's may wait for another or for DATA.
    std::vector<std::uint32_t> acknowledged;
    for (const IpBytes& answer : s.said) {
        REQUIRE(answer.at(32) == 3);
        acknowledged.push_back(wire::load_u32(std::span{answer}.subspan(36), 0));
    }
    CHECK(acknowledged == std::vector<std::uint32_t>{1000, 1002, 1004, 1006});
    CHECK(t.flush().empty());
}
