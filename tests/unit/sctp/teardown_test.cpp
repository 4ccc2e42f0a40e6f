// SPDX-License-Identifier: Apache-2.0
// What an association with 65,535 + 65,535 streams in use held goes in slices, however it ends: by
// SHUTDOWN, by ABORT, or because its peer restarted (STR-3).
#include <catch2/catch.hpp>

#include "pair.h"

namespace signalbox::sctp::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSlice = 64;
/// Of one direction: 128 pages of what is received, 64 of what is sent, and their directories.
constexpr std::size_t kPagesInUse = 128 + 64;

Profile widest() {
    Profile p;
    p.streams_out = p.streams_in = 65535;
    return p;
}

/// Both ends use a stream of every page.
struct Busy : Pair {
    explicit Busy(std::uint64_t seed) : Pair(seed, widest()) {
        connect();
        use_all();
    }
    void use_all() {
        for (std::uint32_t stream = 0; stream < 65535; stream += 512) {
            REQUIRE(a.send(static_cast<std::uint16_t>(stream), "to z") == SendStatus::ok);
            REQUIRE(z.send(static_cast<std::uint16_t>(stream), "to a") == SendStatus::ok);
            if (stream % 4096 == 0) exchange();
        }
        advance(1s);
        REQUIRE(a.pages.taken >= kPagesInUse);
        REQUIRE(z.pages.taken >= kPagesInUse);
    }
    /// Queued and held as well: what is lost with the association.
    void fill() {
        a.consuming = false;
        lose = [](const InFlight& p) { return p.source == kA1; };
        for (std::uint16_t n = 0; n < 300; ++n) {
            REQUIRE(a.send(n, std::string(100, 'q')) == SendStatus::ok);
            REQUIRE(z.send(n, std::string(100, 'h')) == SendStatus::ok);
        }
        exchange();
        REQUIRE(a.association->queued_bytes() == 30'000);
        REQUIRE(a.association->ready_bytes() > 0);
        lose = nullptr;
    }
    /// A peer without memory of the association comes from the same address and port.
    void restart_z() {
        z.drop_association();
        z.connect({kA1}, kPortZ, kPortA);
        exchange();
    }
};

/// Slices until the end; each is as small as it was asked to be.
std::size_t release_all(Endpoint& e) {
    std::size_t slices = 1;
    for (;; ++slices) {
        Environment env = e.env();
        const std::size_t pages = e.pages.taken;
        const std::size_t blocks = e.blocks.blocks_in_use();
        std::size_t budget = kSlice;
        const bool done = e.association->release_within(env, budget);
        const std::size_t spare = 1;  // a page of blocks that became free stays or goes late
        REQUIRE(pages - e.pages.taken <= kSlice + spare);
        REQUIRE(blocks - e.blocks.blocks_in_use() <= kSlice);
        REQUIRE(budget <= kSlice);
        if (done) break;
        REQUIRE(slices < 100);
    }
    e.association.reset();
    return slices;
}

}  // namespace

TEST_CASE("STR-1: a stream is looked up once for a chunk in, and when it is queued and sent") {
    Pair pair{3, widest()};
    pair.connect();
    const auto lookups = [](const Endpoint& e) { return e.counters.get(Count::stream_lookups); };
    for (const StreamId stream : {StreamId{0}, StreamId{15}, StreamId{16}, StreamId{65534}})
        for (const std::size_t bytes : {100u, 5000u}) {
            const std::uint64_t out = lookups(pair.a), in = lookups(pair.z);
            const std::uint64_t chunks = pair.a.counters.get(Count::tx_data_chunks);
            for (int n = 0; n < 10; ++n)
                REQUIRE(pair.a.send(stream.value, std::string(bytes, 'm')) == SendStatus::ok);
            pair.advance(1s);
            const std::uint64_t sent = pair.a.counters.get(Count::tx_data_chunks) - chunks;
            CHECK(sent == (bytes == 100 ? 10 : 40));
            CHECK(lookups(pair.a) - out == 10 + sent);
            CHECK(lookups(pair.z) - in == sent);
        }
    CHECK(pair.z.messages.size() == 80);
}

TEST_CASE("STR-3, L03: 65,535 + 65,535 streams go in slices after SHUTDOWN and after ABORT") {
    for (const bool orderly : {true, false}) {
        Busy pair{7};
        if (orderly)
            pair.a.shutdown();
        else
            pair.a.abort();
        pair.advance(1s);
        for (Endpoint* e : {&pair.a, &pair.z}) {
            REQUIRE(e->state() == State::closed);
            CHECK(e->pages.taken >= kPagesInUse);  // nothing of it went in the turn of the end
            CHECK(release_all(*e) >= kPagesInUse / kSlice);
            e->blocks.trim();
            CHECK(e->pages.taken == 0);
        }
        CHECK(pair.a.pages.most_in_a_call < 8);
    }
}

TEST_CASE("STR-3, L03: a restart sets 65,535 + 65,535 streams aside and frees them in slices") {
    Busy pair{9};
    pair.fill();
    const std::size_t waits =
        (pair.a.association->queued_bytes() + pair.a.association->ready_bytes()) / 100;
    const std::uint64_t lost = pair.a.drops(Drop::association_lost);
    pair.a.pages.most_in_a_call = 0;
    pair.restart_z();
    REQUIRE(pair.a.count(Event::restarted) == 1);
    REQUIRE(pair.a.association->queued_bytes() == 0);
    REQUIRE(pair.a.association->ready_bytes() == 0);
    // The new association works while the old one goes.
    pair.a.consuming = true;
    const std::size_t heard = pair.a.messages.size();
    REQUIRE(pair.z.send(65534, "new") == SendStatus::ok);
    pair.advance(1s);
    REQUIRE(pair.a.messages.size() == heard + 1);
    CHECK(pair.a.pages.most_in_a_call <= kRetiredPerTurn + 16);
    CHECK(pair.a.pages.most_in_a_call > kRetiredPerTurn / 2);
    CHECK(pair.a.pages.taken < 8);
    CHECK(pair.a.drops(Drop::association_lost) - lost == waits);  // each of them counted
    CHECK(pair.a.association->next_deadline() > pair.now);        // nothing more to free
}

TEST_CASE("STR-3, L03: a peer that restarts again and again, and an end amid that, keep nothing") {
    Busy pair{11};
    for (int n = 0; n < 10; ++n) {
        pair.restart_z();
        pair.use_all();
    }
    CHECK(pair.a.count(Event::restarted) == 10);
    CHECK(pair.a.pages.taken < 2 * kPagesInUse);
    pair.a.pages.most_in_a_call = 0;
    pair.latency = 1us;  // the old ones are still being freed when it ends
    pair.restart_z();
    pair.a.abort();
    pair.exchange();
    REQUIRE(pair.a.state() == State::closed);
    release_all(pair.a);
    pair.a.blocks.trim();
    CHECK(pair.a.blocks.blocks_in_use() == 0);
    CHECK(pair.a.pages.taken == 0);
}

TEST_CASE("F10, STR-3: a restart that finds no memory is not received; the peer's next try is") {
    Busy pair{13};
    pair.a.blocks.faults().arm(1);  // after that of the INIT's answer
    pair.restart_z();
    CHECK(pair.a.drops(Drop::data_no_memory) == 1);
    CHECK(pair.a.count(Event::restarted) == 0);
    CHECK(pair.a.association->is_consistent());
    CHECK(pair.z.state() == State::cookie_echoed);
    pair.advance(5s);
    CHECK(pair.a.count(Event::restarted) == 1);
    CHECK(pair.z.state() == State::established);
    CHECK(pair.a.pages.taken < 8);
}

TEST_CASE("STR-4: out is the lesser of wanted and taken, whatever rewrites the streams' storage") {
    // a wants many and takes few, z the other way round.
    const auto check = [](Endpoint& e, std::uint16_t out, std::uint16_t in) {
        CHECK(e.association->streams_out() == out);
        CHECK(e.association->streams_in() == in);
        CHECK(e.send(static_cast<std::uint16_t>(out - 1), "last") == SendStatus::ok);
        CHECK(e.send(out, "beyond") == SendStatus::bad_stream);
    };
    const auto check_both = [&](Pair& pair, std::uint16_t to_z, std::uint16_t to_a) {
        const std::size_t at_a = pair.a.messages.size(), at_z = pair.z.messages.size();
        check(pair.a, to_z, to_a);
        check(pair.z, to_a, to_z);
        pair.advance(1s);
        CHECK(pair.a.messages.size() == at_a + 1);
        CHECK(pair.z.messages.size() == at_z + 1);
        CHECK(pair.a.drops(Drop::data_invalid_stream) == 0);
        CHECK(pair.z.drops(Drop::data_invalid_stream) == 0);
    };
    Pair pair{17};
    pair.a.profile.streams_out = 60'000, pair.a.profile.streams_in = 20'000;
    pair.z.profile.streams_out = 50'000, pair.z.profile.streams_in = 40'000;
    pair.connect();
    check_both(pair, 40'000, 20'000);
    // Restarts with fewer and with more than before, in both roles.
    for (const std::uint16_t streams : {std::uint16_t{7}, std::uint16_t{30'000}}) {
        pair.z.drop_association();
        pair.z.profile.streams_out = pair.z.profile.streams_in = streams;
        pair.z.connect({kA1}, kPortZ, kPortA);
        pair.exchange();
        REQUIRE(pair.a.state() == State::established);
        const std::uint16_t to_a = std::min<std::uint16_t>(streams, 20'000);
        check_both(pair, streams, to_a);
        pair.advance(1s);  // what the restart set aside is gone: the new storage is not
        check_both(pair, streams, to_a);
    }
    CHECK(pair.a.count(Event::restarted) == 2);
    // INITs that cross.
    Pair crossing{18};
    crossing.a.profile.streams_out = 60'000, crossing.a.profile.streams_in = 20'000;
    crossing.z.profile.streams_out = 50'000, crossing.z.profile.streams_in = 40'000;
    crossing.a.connect({kZ1}, kPortA, kPortZ);
    crossing.z.connect({kA1}, kPortZ, kPortA);
    crossing.exchange();
    REQUIRE(crossing.a.state() == State::established);
    REQUIRE(crossing.z.state() == State::established);
    check_both(crossing, 40'000, 20'000);
}

}  // namespace signalbox::sctp::test
