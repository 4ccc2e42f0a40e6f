// SPDX-License-Identifier: Apache-2.0
// One association from INIT to SHUTDOWN COMPLETE, nothing going wrong.
#include <catch2/catch.hpp>

#include "pair.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

TEST_CASE("HS-1: four packets bring both ends up and INIT leaves no state") {
    Pair pair{7};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    const auto init = pair.capture();
    REQUIRE(init.size() == 1);
    pair.deliver(init[0]);
    CHECK_FALSE(pair.z.association);
    CHECK(pair.z.blocks.blocks_in_use() == 0);
    pair.exchange();
    CHECK(pair.a.state() == State::established);
    CHECK(pair.z.state() == State::established);
    CHECK(pair.a.count(Event::up) == 1);
    CHECK(pair.z.count(Event::up) == 1);
    CHECK(pair.a.association->local_tag() == pair.z.association->remote_tag());
    CHECK(pair.a.association->remote_tag() == pair.z.association->local_tag());
    CHECK(pair.a.association->streams_out() == 16);
    CHECK(pair.z.association->streams_in() == 16);
}

TEST_CASE("DAT-7: ordered, unordered and fragmented messages arrive whole and in order") {
    Pair pair{8};
    pair.connect();
    std::string big(20000, 'x');
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>('a' + i % 23);
    CHECK(pair.a.send(1, "first") == SendStatus::ok);
    CHECK(pair.a.send(1, big) == SendStatus::ok);
    CHECK(pair.a.send(2, "other", true) == SendStatus::ok);
    CHECK(pair.a.send(1, "last") == SendStatus::ok);
    pair.exchange();
    pair.advance(1s);
    REQUIRE(pair.z.messages.size() == 4);
    CHECK(pair.z.messages[0].data == "first");
    CHECK(pair.z.messages[1].data == big);
    CHECK(pair.z.messages[2].data == "other");
    CHECK(pair.z.messages[3].data == "last");
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.a.association->path(0).outstanding_bytes == 0);
    CHECK(pair.z.blocks.blocks_in_use() == 0);
    CHECK(pair.a.blocks.blocks_in_use() == 0);
}

TEST_CASE("END-1: SHUTDOWN waits for the queues and closes both ends") {
    Pair pair{9};
    pair.connect();
    for (int i = 0; i < 50; ++i) pair.a.send(3, "message " + std::to_string(i));
    pair.a.shutdown();
    CHECK(pair.a.state() == State::shutdown_pending);
    CHECK(pair.a.send(3, "too late") == SendStatus::not_open);
    pair.exchange();
    pair.advance(1s);
    CHECK(pair.z.messages.size() == 50);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.z.state() == State::closed);
    CHECK(pair.a.count(Event::closed) == 1);
    CHECK(pair.z.count(Event::closed) == 1);
    CHECK(pair.z.count(Event::shutdown_begun) == 1);
}

TEST_CASE("PATH-1: an idle path is asked by HEARTBEAT and answers") {
    Pair pair{10};
    pair.connect();
    pair.advance(100s);
    CHECK(pair.a.counters.get(Count::heartbeats_sent) >= 2);
    CHECK(pair.a.association->path(0).error_count == 0);
    CHECK(pair.a.state() == State::established);
    CHECK(pair.a.association->path(0).srtt == 10ms);
}

TEST_CASE("an abort by the user ends both ends at once") {
    Pair pair{11};
    pair.connect();
    pair.a.abort();
    pair.exchange();
    CHECK(pair.a.saw(Event::aborted));
    REQUIRE(pair.z.saw(Event::aborted));
    CHECK(pair.z.events.back().cause == 12);
    CHECK(pair.z.state() == State::closed);
}

TEST_CASE("DAT-5: a lost packet is sent again by fast retransmit, without a time-out") {
    Pair pair{12};
    pair.connect();
    int data = 0;
    pair.lose = [&data](const InFlight& packet) {
        return packet.has(wire::ChunkType::data) && ++data == 2;
    };
    for (int i = 0; i < 40; ++i) {
        pair.a.send(0, std::string(600, static_cast<char>('a' + i % 26)));
        pair.exchange();
    }
    for (int i = 0; i < 40; ++i) pair.a.send(0, std::string(600, 'z'));
    pair.exchange();
    pair.advance(200ms);
    CHECK(pair.z.messages.size() == 80);
    pair.lose = nullptr;
}

TEST_CASE("DAT-7: everything arrives once and in order at 20 percent loss") {
    Pair pair{13};
    pair.connect();
    RandomSource random{99};
    pair.a.profile.association_max_retransmits = pair.z.profile.association_max_retransmits = 1000;
    pair.a.profile.path_max_retransmits = pair.z.profile.path_max_retransmits = 1000;
    pair.lose = [&random](const InFlight&) { return random.below(100) < 20; };
    for (int i = 0; i < 300; ++i) {
        REQUIRE(pair.a.send(static_cast<std::uint16_t>(i % 3),
                            std::to_string(i) + std::string(random.below(3000), '.')) ==
                SendStatus::ok);
        if (i % 7 == 0) pair.advance(20ms);
    }
    pair.advance(3600s);
    REQUIRE(pair.z.messages.size() == 300);
    int last[3] = {-1, -1, -1};
    for (const Received& m : pair.z.messages) {
        const int n = std::stoi(m.data);
        CHECK(n > last[m.stream]);
        last[m.stream] = n;
    }
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.a.counters.get(Count::tx_fast_retransmits) > 0);
}
