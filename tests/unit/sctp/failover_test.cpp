// SPDX-License-Identifier: Apache-2.0
// Which path carries data when one fails: PATH-3, PATH-4, RFC 7829.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

struct Redundant : Pair {
    explicit Redundant(Profile profile, std::uint64_t seed = 70)
        : Pair(seed, profile, {kA1, kA2}, {kZ1, kZ2}) {
        connect();
        advance(2s);
        a.events.clear();
    }
    void cut(const IpAddress& address) {
        lose = [address](const InFlight& p) {
            return p.destination == address || p.source == address;
        };
    }
    IpAddress data_goes_to() {
        IpAddress to;
        const auto before = lose;
        lose = [&](const InFlight& p) {
            if (p.has(wire::ChunkType::data)) to = p.destination;
            return before && before(p);
        };
        a.send(0, "where");
        flush();
        lose = before;
        return to;
    }
};
std::vector<Event> of_path(const Endpoint& endpoint, std::uint8_t path) {
    std::vector<Event> all;
    for (const EventRecord& record : endpoint.events)
        if (record.path == path) all.push_back(record.event);
    return all;
}
Profile pf_after(std::uint16_t errors) {
    Profile profile = kProfileSigtranLan;
    profile.potentially_failed_after = errors;
    return profile;
}

}  // namespace

TEST_CASE("PATH-3: a path that dies is told potentially failed, then down, then up again") {
    Redundant pair{pf_after(1)};
    pair.cut(kZ1);
    pair.a.send(0, "lost at first");
    pair.advance(5s);
    CHECK(of_path(pair.a, 0) == std::vector{Event::path_potentially_failed, Event::path_down});
    CHECK(pair.z.messages.size() == 1);
    pair.lose = nullptr;
    pair.advance(5s);
    CHECK(of_path(pair.a, 0) ==
          std::vector{Event::path_potentially_failed, Event::path_down, Event::path_up});
    CHECK(pair.a.counters.get(Count::paths_potentially_failed) == 1);
    CHECK(pair.data_goes_to() == kZ1);
}

TEST_CASE(
    "PATH-3: with PF.Max n the path leaves after error n + 1, and a HEARTBEAT brings it back") {
    const auto errors = static_cast<std::uint16_t>(GENERATE(0, 1, 2));
    Redundant pair{pf_after(errors)};
    pair.cut(kZ1);
    pair.a.send(0, "x");
    while (!pair.a.association->path(0).potentially_failed) {
        REQUIRE(pair.a.association->path(0).error_count <= errors);
        pair.advance(10ms);
    }
    CHECK(pair.a.association->path(0).error_count == errors + 1);
    CHECK(pair.data_goes_to() == kZ2);
    pair.lose = nullptr;
    pair.advance(1s);
    CHECK_FALSE(pair.a.association->path(0).potentially_failed);
    CHECK(of_path(pair.a, 0) == std::vector{Event::path_potentially_failed, Event::path_up});
    CHECK(pair.data_goes_to() == kZ1);
}

TEST_CASE("PATH-3: a potentially failed path is asked every RTO, backed off") {
    Redundant pair{pf_after(0)};
    std::size_t beats = 0;
    pair.lose = [&beats](const InFlight& p) {
        if (p.destination == kZ1) beats += p.has(wire::ChunkType::heartbeat);
        return p.destination == kZ1;
    };
    pair.a.send(0, "x");
    pair.advance(1200ms);  // 100 (T3), then heartbeats with 200, 400, 400 ms to answer
    CHECK(beats >= 3);
    CHECK(beats <= 5);
}

TEST_CASE("PATH-3: all paths potentially failed: the one with the fewest errors carries data") {
    Redundant pair{pf_after(0)};
    pair.cut(kZ1);
    pair.a.send(0, "x");
    pair.advance(400ms);
    REQUIRE(pair.a.association->path(0).error_count >= 2);
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(0, "y");
    while (!pair.a.association->path(1).potentially_failed && pair.a.state() != State::closed)
        pair.advance(10ms);
    REQUIRE(pair.a.state() == State::established);
    CHECK(pair.data_goes_to() == kZ2);
}

TEST_CASE("PATH-3: past the switchover threshold the other path is the primary for good") {
    Profile profile = pf_after(0);
    profile.primary_switchover_after = 2;
    Redundant pair{profile};
    pair.cut(kZ1);
    pair.a.send(0, "x");
    pair.advance(150ms);
    CHECK(pair.a.association->primary_path() == 0);  // one error: traffic moved, nothing more
    pair.advance(3s);
    CHECK(pair.a.association->primary_path() == 1);
    CHECK(pair.a.count(Event::primary_changed) == 1);
    CHECK(pair.a.counters.get(Count::primaries_switched) == 1);
    pair.lose = nullptr;
    pair.advance(5s);
    REQUIRE(pair.a.association->path(0).active);
    CHECK(pair.data_goes_to() == kZ2);
}

TEST_CASE("PATH-3: nowhere to switch to: the primary stays") {
    Profile profile = pf_after(0);
    profile.primary_switchover_after = 1;
    Redundant pair{profile};
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(0, "x");
    pair.advance(900ms);
    CHECK(pair.a.association->primary_path() == 0);
    CHECK(pair.a.count(Event::primary_changed) == 0);
}

TEST_CASE("PATH-4: what timed out on one path is sent again on the other") {
    Profile profile = kProfileSigtranLan;
    profile.potentially_failed_after = profile.path_max_retransmits;  // off
    Redundant pair{profile};
    std::vector<IpAddress> sent_to;
    pair.lose = [&sent_to](const InFlight& p) {
        if (p.has(wire::ChunkType::data)) sent_to.push_back(p.destination);
        return p.destination == kZ1;
    };
    pair.a.send(0, "x");
    pair.advance(400ms);
    REQUIRE(sent_to.size() >= 2);
    CHECK(sent_to[0] == kZ1);
    CHECK(sent_to[1] == kZ2);
    CHECK(pair.z.messages.size() == 1);
}
