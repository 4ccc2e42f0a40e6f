// SPDX-License-Identifier: Apache-2.0
// Path MTU: fixed, found by probes (RFC 8899), corrected by ICMP: PATH-6, V06.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

Profile probing() {
    Profile profile = kProfileSigtranLan;
    profile.path_mtu_probe = true;
    return profile;
}
std::size_t ip_bytes(const InFlight& p) {
    return p.bytes.size() + (p.source.is_v4() ? 20 : 40);
}
/// A wire that loses what is longer than the link takes.
struct Narrow : Pair {
    explicit Narrow(std::size_t link_bytes, std::uint64_t seed = 60)
        : Pair(seed, probing()), link(link_bytes) {
        lose = [this](const InFlight& p) { return ip_bytes(p) > link; };
    }
    std::uint16_t mtu() const { return a.association->path(0).mtu_bytes; }
    std::size_t link;
};
void too_big(Endpoint& endpoint, std::uint32_t mtu_bytes) {
    Environment env = endpoint.env();
    endpoint.effects.clear();
    endpoint.association->network_error(env,
                                        {.kind = wire::IcmpKind::too_big,
                                         .remote = endpoint.association->path(0).remote,
                                         .mtu_bytes = mtu_bytes,
                                         .tag = endpoint.association->remote_tag(),
                                         .initiate_tag = {}},
                                        endpoint.effects);
}

}  // namespace

TEST_CASE("PATH-6: a configured path MTU stays, no probe leaves and no ICMP error moves it") {
    Pair pair{61, kProfileSigtranLan};
    pair.connect();
    pair.advance(60s);
    CHECK(pair.a.association->path(0).mtu_bytes == 1500);
    CHECK(pair.a.counters.get(Count::mtu_probes_sent) == 0);
    too_big(pair.a, 1400);
    CHECK(pair.a.association->path(0).mtu_bytes == 1500);
    CHECK(pair.a.drops(Drop::icmp_ignored) == 1);
}

TEST_CASE("PATH-6: probing begins small and takes the whole size after one round trip") {
    Narrow pair{1500};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    CHECK(pair.mtu() == 1200);
    pair.exchange();
    CHECK(pair.mtu() == 1500);
    CHECK(pair.z.association->path(0).mtu_bytes == 1500);
    CHECK(pair.a.counters.get(Count::mtu_probes_sent) == 1);
    CHECK(pair.z.drops(Drop::chunk_unknown) == 0);  // PAD is known (RFC 4820)
    pair.a.send(0, std::string(5000, 'x'));
    std::size_t largest = 0;
    for (const InFlight& p : pair.capture()) largest = std::max(largest, ip_bytes(p));
    CHECK(largest == 1500);
}

TEST_CASE("PATH-6: a probe is one packet of exactly its size: HEARTBEAT and PAD") {
    Pair pair{62, probing()};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    bool seen = false;
    pair.lose = [&seen](const InFlight& p) {
        if (!p.has(wire::ChunkType::pad)) return false;
        seen = true;
        CHECK(ip_bytes(p) == 1500);
        CHECK(p.types() == std::vector<std::uint8_t>{4, 132});
        return false;
    };
    pair.exchange();
    CHECK(seen);
}

TEST_CASE("PATH-6: lost probes keep the size, cost no path error, and the search ends close by") {
    const std::size_t link = GENERATE(1200, 1280, 1400, 1492);
    Narrow pair{link};
    pair.connect();
    CHECK(pair.mtu() == 1200);
    for (int i = 0; i < 40 * 16; ++i) {
        pair.advance(1s);
        REQUIRE(pair.mtu() <= link);
        REQUIRE(pair.a.association->path(0).error_count == 0);
        REQUIRE(pair.a.state() == State::established);
    }
    CHECK(pair.mtu() + 20u > link);
    const auto probes = pair.a.counters.get(Count::mtu_probes_sent);
    pair.a.send(0, std::string(5000, 'x'));
    pair.exchange();
    CHECK(pair.z.messages.size() == 1);
    pair.link = 1500;  // the path got better: the raise timer finds out
    pair.advance(700s);
    CHECK(pair.mtu() == 1500);
    CHECK(pair.a.counters.get(Count::mtu_probes_sent) > probes);
}

TEST_CASE("PATH-6: a path that narrows is a black hole only until the second time-out") {
    Narrow pair{1500};
    pair.connect();
    REQUIRE(pair.mtu() == 1500);
    pair.link = 1300;
    for (int i = 0; i < 3; ++i) pair.a.send(0, std::string(1440, 'x'));
    bool in_pieces = false;
    pair.lose = [&](const InFlight& p) { return ip_bytes(p) > pair.link && !in_pieces; };
    pair.advance(1s);
    CHECK(pair.mtu() == 1200);
    // What was cut for the old size goes with permission to be fragmented by IP.
    in_pieces = true;
    pair.advance(2s);
    CHECK(pair.z.messages.size() == 3);
    CHECK(pair.a.state() == State::established);
}

TEST_CASE("PATH-6, V06: too big shrinks to what it says, but never below the floor") {
    Narrow pair{1500};
    pair.connect();
    too_big(pair.a, 1600);  // larger than what we send: nothing new
    CHECK(pair.mtu() == 1500);
    too_big(pair.a, 1402);
    CHECK(pair.mtu() == 1400);
    too_big(pair.a, 68);
    CHECK(pair.mtu() == 512);
    too_big(pair.a, 0);
    CHECK(pair.mtu() == 512);
    CHECK(pair.a.counters.get(Count::icmp_errors) == 2);
    CHECK(pair.a.drops(Drop::icmp_ignored) == 2);
    pair.advance(700s);
    CHECK(pair.mtu() == 1500);

    Pair six{63, probing(), {*IpAddress::parse("2001:db8::1")}, {*IpAddress::parse("2001:db8::2")}};
    six.connect();
    too_big(six.a, 68);
    CHECK(six.a.association->path(0).mtu_bytes == 1280);
}

TEST_CASE("PATH-6: too big about a probe names the next size to try") {
    Narrow pair{1420};
    pair.connect();
    pair.advance(1s);
    REQUIRE(pair.mtu() == 1200);
    too_big(pair.a, 1420);
    pair.exchange();
    CHECK(pair.mtu() == 1420);
}

TEST_CASE("PATH-6: chunks longer than the path takes now ask IP to cut them") {
    Narrow pair{1500};
    pair.connect();
    pair.a.send(0, std::string(1440, 'x'));
    too_big(pair.a, 1300);
    pair.a.send(0, std::string(1440, 'y'));
    pair.flush();
    const auto& sent = pair.a.sink.fragmentable;
    CHECK(sent == 1);
}
