// SPDX-License-Identifier: Apache-2.0
// Several addresses: sections PATH of the requirements, X of the adversarial list; timers and
// closing.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {
struct TwoHomed : Pair {
    explicit TwoHomed(Profile profile = kProfileSigtranLan)
        : Pair(21, profile, {kA1, kA2}, {kZ1, kZ2}) {
        connect();
        advance(2s);
    }
};
bool uses(const InFlight& p, const IpAddress& address) {
    return p.destination == address || p.source == address;
}
}  // namespace

TEST_CASE("PATH-1: second addresses are asked by HEARTBEAT before any DATA goes there") {
    Pair pair{20, kProfileSigtranLan, {kA1, kA2}, {kZ1, kZ2}};
    pair.connect();
    REQUIRE(pair.a.association->path_count() == 2);
    REQUIRE(pair.z.association->path_count() == 2);
    pair.advance(2s);
    CHECK(pair.a.association->path(1).confirmed);
    CHECK(pair.z.association->path(1).confirmed);
    CHECK(pair.a.association->path(0).local == kA1);
    CHECK(pair.z.association->path(1).remote == kA2);
}

TEST_CASE(
    "PATH-3, PATH-4: a dead path costs one time-out with PF 0, and is used again when it answers") {
    TwoHomed pair;
    for (int i = 0; i < 5; ++i) pair.a.send(0, "before");
    pair.exchange();
    pair.lose = [](const InFlight& p) { return uses(p, kZ1); };
    const Time start = pair.now;
    for (int i = 0; i < 20; ++i) pair.a.send(0, "during");
    while (pair.z.messages.size() < 25 && pair.now - start < 10s) pair.advance(10ms);
    CHECK(pair.now - start <= 300ms);
    pair.advance(3s);
    CHECK_FALSE(pair.a.association->path(0).active);
    CHECK(pair.a.count(Event::path_down) == 1);
    CHECK(pair.a.state() == State::established);
    pair.lose = nullptr;
    pair.advance(5s);
    CHECK(pair.a.association->path(0).active);
    CHECK_FALSE(pair.a.association->path(0).potentially_failed);
    pair.a.send(0, "after");
    const auto packets = pair.capture();
    REQUIRE_FALSE(packets.empty());
    CHECK(packets[0].destination == kZ1);
}

TEST_CASE(
    "PATH-2: all paths dead: the association is lost at the limit, and what was queued comes "
    "back") {
    TwoHomed pair;
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(0, "nobody hears");
    pair.advance(60s);
    CHECK(pair.a.count(Event::lost) == 1);
    CHECK(pair.z.count(Event::lost) == 1);
    CHECK(pair.a.state() == State::closed);
}

TEST_CASE(
    "X02: an association whose peer named 15 strangers sends one HEARTBEAT per RTO over all of "
    "them") {
    std::vector<std::uint8_t> many;
    for (std::uint8_t i = 10; i < 25; ++i) many.insert(many.end(), {0, 5, 0, 8, 10, 9, 9, i});
    Pair pair{22};
    pair.z.input(init_packet(many));
    const InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    pair.z.input(echo);
    REQUIRE(pair.z.association->path_count() == 16);
    std::size_t beats = 0;
    pair.lose = [&beats](const InFlight& p) {
        beats += p.has(wire::ChunkType::heartbeat);
        return true;
    };
    pair.advance(3500ms);
    CHECK(beats == 4);
    pair.z.drop_association();
    CHECK(pair.z.blocks.blocks_in_use() == 0);
}

TEST_CASE(
    "HS-8, H09: a COOKIE ECHO from the second address is acknowledged there, with a HEARTBEAT") {
    Pair pair{23};
    pair.z.input(init_packet({0, 5, 0, 8, 10, 0, 1, 1}));
    InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    echo.source = kA2;
    pair.z.input(echo);
    const auto packets = pair.capture();
    REQUIRE_FALSE(packets.empty());
    CHECK(packets[0].destination == kA2);
    CHECK(packets[0].types() == std::vector<std::uint8_t>{11, 4});
}

TEST_CASE("both sides may speak IPv6") {
    const IpAddress a6 = *IpAddress::parse("2001:db8::1");
    const IpAddress z6 = *IpAddress::parse("2001:db8::2");
    Pair pair{24, {}, {a6}, {z6}};
    pair.connect();
    pair.a.send(0, std::string(5000, 'x'));
    std::size_t largest = 0;
    pair.lose = [&largest](const InFlight& p) {
        largest = std::max(largest, p.bytes.size());
        return false;
    };
    pair.exchange();
    CHECK(pair.z.messages.size() == 1);
    CHECK(largest <= 1460);
    CHECK(largest > 1440);
}

TEST_CASE("END-1, HS-11: SHUTDOWN into silence is repeated, then guarded, and ends") {
    Pair pair{25};
    pair.connect();
    pair.lose = [](const InFlight&) { return true; };
    pair.a.shutdown();
    CHECK(pair.a.state() == State::shutdown_sent);
    pair.advance(400s);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.a.count(Event::lost) == 1);
}

TEST_CASE("HS-11: SHUTDOWN-PENDING under a window that never opens ends by the guard") {
    Profile profile;
    profile.receive_window_bytes = 4000;
    Pair pair{26, profile};
    pair.connect();
    pair.z.consuming = false;
    for (int i = 0; i < 20; ++i) pair.a.send(0, std::string(1000, 'x'));
    pair.exchange();
    pair.a.shutdown();
    pair.advance(299s);
    CHECK(pair.a.state() == State::shutdown_pending);
    pair.advance(2s);
    CHECK(pair.a.state() == State::closed);
    pair.exchange();
    CHECK(pair.z.saw(Event::aborted));
}

TEST_CASE("END-1: both ends shut down at once") {
    Pair pair{27};
    pair.connect();
    pair.a.shutdown();
    pair.z.shutdown();
    pair.exchange();
    pair.advance(1s);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.z.state() == State::closed);
    CHECK(pair.a.count(Event::closed) == 1);
    CHECK(pair.z.count(Event::closed) == 1);
}

TEST_CASE("END-1: every single loss in the closing handshake is made good") {
    for (int lost = 1; lost <= 4; ++lost) {
        Pair pair{28};
        pair.connect();
        pair.lose = [lost, n = 0](const InFlight&) mutable { return ++n == lost; };
        pair.a.send(0, "last words");
        pair.a.shutdown();
        pair.advance(300s);
        INFO("lost packet " << lost);
        CHECK(pair.z.messages.size() == 1);
        CHECK(pair.a.state() == State::closed);
        CHECK(pair.z.state() == State::closed);
    }
}

TEST_CASE("a late call charges a path at most one time-out") {
    Pair pair{29};
    pair.connect();
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(0, "x");
    pair.flush();
    pair.now += 1h;
    pair.a.now = pair.now;
    pair.a.advance();
    CHECK(pair.a.association->path(0).error_count == 1);
    CHECK(pair.a.state() == State::established);
}

TEST_CASE("a shutdown before the handshake is over is told by the next advance") {
    Pair pair{30};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.a.shutdown();
    CHECK(pair.a.state() == State::closed);
    pair.advance(1ms);
    CHECK(pair.a.count(Event::closed) == 1);
}
