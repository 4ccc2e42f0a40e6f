// SPDX-License-Identifier: Apache-2.0
// Good traffic beside floods, in virtual time: nothing of it is lost and no memory goes (H01, F03),
// and thousands of timers at once are taken in slices (F06).
#include <catch2/catch.hpp>

#include "hostile.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr std::uint32_t kPeers = 100;  // configured; the first two exchange the good traffic
constexpr int kGoodPerTurn = 10;       // messages each way and millisecond
constexpr int kFloodPerTurn = 1000;    // packets a millisecond: a million a second
constexpr int kTurns = 200;

struct Besieged {
    Besieged() : target(core_settings()) {
        CoreLab& lab = target.lab;
        for (std::uint32_t i = 0; i < 2; ++i) lab.start(PeerIndex{i});
        for (std::uint32_t i = 0; i < 2; ++i) bring_up(lab, lab.asps[i], 100 + i);
    }
    static core::Settings core_settings() { return one_asp_per_server(kPeers); }

    /// Good traffic both ways; `flood` makes the packets that come between. Messages sent.
    template <class Flood>
    int run(Flood&& flood) {
        CoreLab& lab = target.lab;
        int sent = 0;
        for (int turn = 0; turn < kTurns; ++turn) {
            for (int i = 0; i < kGoodPerTurn; ++i) {
                const std::vector<std::uint8_t> user(40, static_cast<std::uint8_t>(i));
                const auto sls = static_cast<std::uint8_t>(i);
                const StreamId stream{static_cast<std::uint16_t>(1 + i)};
                lab.send(lab.asps[0], stream, m3ua::data(100, 1000, 1001, sls, user));
                lab.send(lab.asps[1], stream, m3ua::data(101, 1001, 1000, sls, user));
                sent += 2;
            }
            for (int i = 0; i < kFloodPerTurn; i += 32) {
                std::array<IpBytes, 32> packets;
                std::array<core::PacketView, 32> burst;
                for (std::size_t k = 0; k < 32; ++k) {
                    packets[k] = flood();
                    burst[k] = {.ip = packets[k]};
                }
                sink.packets.clear();
                lab.workers[0]->receive(burst, lab.now, sink);
                answers += sink.packets.size();
            }
            lab.turn();
        }
        lab.run(300ms);
        return sent;
    }
    std::size_t delivered() const {
        std::size_t n = 0;
        for (const Asp& asp : target.lab.asps)
            for (const auto& m : asp.received) n += m3ua::parse_data(m).has_value();
        return n;
    }
    std::size_t pages_free() {
        target.lab.run(2s, 10ms);
        return target.lab.node->statistics()->pages_free;
    }

    Target target;
    PacketSink sink;
    RandomSource random{21};
    std::size_t answers = 0;
};

}  // namespace

TEST_CASE("H01: an INIT flood from random sources costs the good traffic nothing, and no memory") {
    for (const unsigned configured : {1u, 50u, 99u}) {
        INFO(configured << " % from configured peers");
        Besieged b;
        const std::size_t free_before = b.pages_free();
        const std::size_t entries = b.target.lab.node->statistics()->table.entries;
        const int sent = b.run([&] {
            IpAddress source = IpAddress::v4((b.random.u32() & 0x3fffffff) | 0x01000000);
            if (b.random.below(100) < configured)
                source = b.target.peer(2 + static_cast<std::uint32_t>(b.random.below(kPeers - 2)));
            return b.target.init(source, kGateway,
                                 static_cast<std::uint16_t>(1 + b.random.below(65'535)));
        });
        CHECK(b.delivered() == static_cast<std::size_t>(sent));
        CHECK(b.target.lab.count(Count::associations_up) == 2);
        const core::Settings& settings = b.target.lab.node->settings();
        CHECK(b.answers <= settings.init_per_second / 5 + settings.init_per_second / 10);
        CHECK(b.answers > 0);
        CHECK(b.pages_free() * 100 >= free_before * 99);
        CHECK(b.target.lab.node->statistics()->table.entries == entries);
    }
}

TEST_CASE("F03: junk beside good traffic: random bytes, bad checksums, other protocols") {
    Besieged b;
    const std::size_t free_before = b.pages_free();
    int n = 0;
    const int sent = b.run([&] {
        IpBytes junk;
        switch (n++ % 4) {
            case 0:  // no IP at all
                junk.resize(1 + b.random.below(200));
                b.random.fill(junk);
                return junk;
            case 1:  // a good header over random bytes
                junk.resize(16 + b.random.below(200));
                b.random.fill(junk);
                return Target::ip(b.target.peer(0), kGateway, junk);
            case 2:  // a good packet with one bit wrong
                junk = b.target.chunk(b.target.peer(0), 0, b.random.u32(),
                                      std::vector<std::uint8_t>(40, 1));
                junk[20 + b.random.below(junk.size() - 20)] ^= 4;
                return junk;
            default:  // UDP
                junk.resize(60);
                b.random.fill(junk);
                junk = Target::ip(b.target.peer(1), kGateway, junk);
                junk[9] = 17;
                wire::store_u16(junk, 10, 0);
                wire::store_u16(junk, 10, wire::internet_checksum(std::span{junk}.first(20)));
                return junk;
        }
    });
    CHECK(b.delivered() == static_cast<std::size_t>(sent));
    CHECK(b.answers == 0);
    CHECK(b.target.lab.drops(Drop::bad_crc) > 50'000);
    CHECK(b.target.lab.drops(Drop::ip_not_sctp) >= 50'000);
    CHECK(b.pages_free() * 100 >= free_before * 99);
}

TEST_CASE("V05, V01: blind tags by the thousand beside good traffic are counted and harm nothing") {
    Besieged b;
    const int sent = b.run([&] {
        const auto type = static_cast<std::uint8_t>(b.random.below(16));
        const std::uint16_t from = static_cast<std::uint16_t>(2906 + b.random.below(2));
        return b.target.chunk(b.target.peer(static_cast<std::uint32_t>(b.random.below(2))), type,
                              b.random.u32(), std::vector<std::uint8_t>(16, 1), kGateway, from);
    });
    CHECK(b.delivered() == static_cast<std::size_t>(sent));
    CHECK(b.target.lab.count(Count::associations_aborted) == 0);
    CHECK(b.target.lab.drops(Drop::bad_tag) > 50'000);
}

TEST_CASE("F06: 5,000 retransmission timers in one millisecond are taken in slices, all live on") {
    constexpr std::uint32_t kMany = 5000;
    CoreLab lab(one_asp_per_server(kMany), {.memory_bytes = 512u << 20});
    for (std::uint32_t i = 0; i < kMany; ++i) lab.start(PeerIndex{i});
    REQUIRE(lab.run_until([&] { return lab.count(Count::associations_up) == kMany; }, 5s));
    lab.run(100ms);
    bool deaf = true;  // the ASPs ask, and never hear the answer
    lab.cut = [&deaf](const IpBytes&, bool to_gateway) { return deaf && !to_gateway; };
    for (std::uint32_t i = 0; i < kMany; ++i)
        lab.send(lab.asps[i], StreamId{0}, m3ua::aspup(i + 1));
    for (int turn = 0; turn < 100; ++turn) lab.turn(0ms);  // all answers leave at one time
    std::uint64_t most = 0;
    std::uint64_t before = lab.count(Count::t3_expiries);
    const std::uint64_t start = before;
    int first = 0;
    int last = 0;
    for (int turn = 1; turn < 180 && lab.count(Count::t3_expiries) < start + kMany; ++turn) {
        lab.turn();
        most = std::max(most, lab.count(Count::t3_expiries) - before);
        if (first == 0 && most != 0) first = turn;
        last = turn;
        before = lab.count(Count::t3_expiries);
    }
    CHECK(before >= start + kMany);
    CHECK(most <= 4096);  // no turn takes them all
    CHECK(most >= 256);
    CHECK(last - first < 20);  // they did fall due together, and none waits for long
    deaf = false;
    lab.run(2s, 5ms);
    CHECK(lab.count(Count::associations_lost) == 0);
    CHECK(lab.count(Count::associations_aborted) == 0);
    std::size_t answered = 0;
    for (const Asp& asp : lab.asps)
        answered += std::any_of(asp.received.begin(), asp.received.end(),
                                [](const auto& m) { return m3ua::is(m, 3, 4); });
    CHECK(answered == kMany);
}
