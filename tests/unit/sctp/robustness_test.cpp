// SPDX-License-Identifier: Apache-2.0
// Random faults over whole dialogs: nothing is lost, doubled or leaked, and no invariant breaks.
#include <catch2/catch.hpp>

#include <map>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

Profile patient() {
    Profile profile = kProfileSigtranLan;
    profile.association_max_retransmits = profile.path_max_retransmits = 10000;
    profile.potentially_failed_after = 3;
    profile.max_init_retransmits = 10000;
    profile.receive_window_bytes = 20000;
    return profile;
}

/// Takes the packets that wait and puts them back lossy, doubled and in another order.
void disturb(Pair& pair, RandomSource& random) {
    std::deque<Pair::OnWire> kept;
    while (!pair.wire.empty()) {
        Pair::OnWire w = std::move(pair.wire.front());
        pair.wire.pop_front();
        const std::uint64_t fate = random.below(100);
        if (fate < 15) continue;
        if (fate < 25) kept.push_back(w);
        if (fate > 85)
            kept.push_front(std::move(w));
        else
            kept.push_back(std::move(w));
    }
    for (auto& w : kept) w.arrival = pair.now + pair.latency;
    pair.wire = std::move(kept);
}

struct Sent {
    std::map<int, int> next;  // stream: number expected there
    int total = 0;
};

void check_received(const Endpoint& at, const Sent& sent) {
    std::map<int, int> next;
    REQUIRE(static_cast<int>(at.messages.size()) == sent.total);
    for (const Received& m : at.messages) REQUIRE(std::stoi(m.data) == next[m.stream]++);
}

void say(Endpoint& from, Sent& sent, RandomSource& random) {
    const int stream = static_cast<int>(random.below(20));
    const std::string text =
        std::to_string(sent.next[stream]) + std::string(1 + random.below(6000), '.');
    if (from.send(static_cast<std::uint16_t>(stream), text) != SendStatus::ok) return;
    ++sent.next[stream];
    ++sent.total;
}

}  // namespace

TEST_CASE("REL-02: loss, doubles, disorder and refused pages lose nothing, whatever the seed") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        Profile profile = patient();
        profile.streams_out = 32;
        const bool two = seed % 2 == 0;
        Pair pair{seed, profile, two ? std::vector{kA1, kA2} : std::vector{kA1},
                  two ? std::vector{kZ1, kZ2} : std::vector{kZ1}};
        RandomSource random{seed};
        pair.a.connect({kZ1}, kPortA, kPortZ);
        Sent by_a, by_z;
        for (int turn = 0; turn < 400; ++turn) {
            if (pair.a.state() == State::established && random.below(3) == 0)
                say(pair.a, by_a, random);
            if (pair.z.state() == State::established && random.below(3) == 0)
                say(pair.z, by_z, random);
            pair.z.pages.refuse = random.below(10) == 0;
            pair.a.pages.refuse = random.below(10) == 0;
            pair.z.consuming = random.below(8) != 0;
            pair.flush();
            if (seed % 5 != 0) disturb(pair, random);
            pair.advance(std::chrono::milliseconds{random.below(30)});
            if (pair.a.association) REQUIRE(pair.a.association->is_consistent());
            if (pair.z.association) REQUIRE(pair.z.association->is_consistent());
        }
        pair.a.pages.refuse = pair.z.pages.refuse = false;
        pair.z.consuming = true;
        pair.z.drain_ready();
        pair.advance(600s);
        REQUIRE(pair.a.state() == State::established);
        check_received(pair.z, by_a);
        check_received(pair.a, by_z);
        CHECK(pair.a.association->queued_bytes() == 0);
        pair.a.shutdown();
        pair.advance(60s);
        CHECK(pair.a.state() == State::closed);
        CHECK(pair.z.state() == State::closed);
        pair.a.drop_association();
        pair.z.drop_association();
        CHECK(pair.a.blocks.blocks_in_use() == 0);
        CHECK(pair.z.blocks.blocks_in_use() == 0);
    }
}

TEST_CASE(
    "REL-22: changed packets with the right tag break no invariant and draw at most one answer") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        INFO("seed " << seed);
        Pair pair{seed, kProfileSigtranLan, {kA1, kA2}, {kZ1, kZ2}};
        RandomSource random{seed};
        std::vector<InFlight> seen;
        pair.lose = [&seen](const InFlight& p) {
            seen.push_back(p);
            return false;
        };
        pair.a.connect({kZ1}, kPortA, kPortZ);
        if (seed % 4 != 0) pair.exchange();
        for (int turn = 0; turn < 60; ++turn) {
            if (pair.a.state() == State::established)
                pair.a.send(static_cast<std::uint16_t>(random.below(16)),
                            std::string(1 + random.below(3000), 'x'), random.below(2) == 0);
            if (turn == 40 && pair.a.association && random.below(2) == 0) pair.a.shutdown();
            pair.advance(std::chrono::milliseconds{random.below(50)});
            InFlight packet = seen[random.below(seen.size())];
            for (std::uint64_t n = random.below(4) + 1; n != 0; --n)
                packet.bytes[12 + random.below(packet.bytes.size() - 12)] =
                    static_cast<std::uint8_t>(random.below(2) == 0 ? random.below(16)
                                                                   : random.u32());
            if (random.below(5) == 0)
                packet.bytes.resize(16 + random.below(packet.bytes.size() - 15));
            Endpoint& to = pair.receiver(packet);
            const Endpoint& from = &to == &pair.a ? pair.z : pair.a;
            if (from.association && random.below(8) != 0)
                set_tag(packet, from.association->remote_tag().value);
            to.input(packet);
            if (to.association) REQUIRE(to.association->is_consistent());
        }
        for (Endpoint* e : {&pair.a, &pair.z}) {
            e->drop_association();
            CHECK(e->blocks.blocks_in_use() == 0);
        }
    }
}

TEST_CASE("PKT-3: all that one packet has to be reported goes in one ERROR, each with its cause") {
    Pair pair{41};
    pair.connect();
    InFlight packet = packet_to_z(pair);
    append_chunk(packet, 0xfe, 0, {1, 2, 3});
    append_chunk(packet, 0xff, 0, {4});
    pair.z.input(packet);
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    wire::ChunkWalker walker{std::span{answers[0].bytes}.subspan(12)};
    const auto error = walker.next();
    REQUIRE(error);
    CHECK(error->type == 9);
    CHECK_FALSE(walker.next());
    const std::vector<std::uint8_t> causes{error->value.begin(), error->value.end()};
    CHECK(causes == std::vector<std::uint8_t>{0, 6, 0, 11, 0xfe, 0, 0, 7, 1, 2, 3, 0,  //
                                              0, 6, 0, 9,  0xff, 0, 0, 5, 4});
}

TEST_CASE("REL-22: DATA of a stream that is not there draws ERROR and SACK in one packet") {
    Pair pair{42};
    pair.connect();
    pair.a.send(0, "x");
    InFlight packet = pair.capture().front();
    wire::store_u16(packet.bytes, 12 + 8, 60000);
    pair.z.input(packet);
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].has(wire::ChunkType::error));
    CHECK(answers[0].has(wire::ChunkType::sack));
}

TEST_CASE("REL-22: what a HEARTBEAT and DATA in one packet draw goes in one packet too") {
    Pair pair{43};
    pair.connect();
    pair.a.send(0, "x");
    InFlight packet = pair.capture().front();
    append_chunk(packet, 4, 0, {0, 1, 0, 8, 1, 2, 3, 4});
    pair.z.input(packet);
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].has(wire::ChunkType::heartbeat_ack));
    CHECK(answers[0].has(wire::ChunkType::sack));
}

TEST_CASE(
    "A01, A04: ASCONF that nobody agreed on is unknown whatever it holds: skipped, reported") {
    Pair pair{44};
    pair.connect();
    const std::vector<std::vector<std::uint8_t>> values{
        {},                                                   // no serial, no address
        {0, 0, 0, 1},                                         // no address
        {0, 0, 0, 1, 0, 5, 0, 4},                             // an address without bytes
        {0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 1, 0xc0, 1, 0, 9}  // a length that lies
    };
    for (const auto& value : values)
        for (const std::uint8_t type : {std::uint8_t{0xc1}, std::uint8_t{0x80}}) {
            InFlight packet = packet_to_z(pair);
            append_chunk(packet, type, 0, value);
            append_chunk(packet, 4, 0, {0, 1, 0, 8, 1, 2, 3, 4});  // what follows is looked at
            pair.z.input(packet);
            const auto answers = pair.capture();
            REQUIRE(answers.size() == 1);
            CHECK(answers[0].has(wire::ChunkType::error) == (type == 0xc1));
            CHECK(answers[0].has(wire::ChunkType::heartbeat_ack));
        }
    CHECK(pair.z.drops(Drop::chunk_unknown) == 2 * values.size());
    CHECK(pair.z.state() == State::established);
    CHECK(pair.z.association->path_count() == 1);
}
