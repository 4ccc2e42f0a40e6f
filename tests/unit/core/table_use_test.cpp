// SPDX-License-Identifier: Apache-2.0
// When core puts something into the transport table and how it finds it there: nothing before a
// valid COOKIE ECHO or a sent INIT (TAB-3), by the listed addresses of INIT and INIT ACK (TAB-6),
// and at the same cost whatever number of peers one port has (F02).
#include <catch2/catch.hpp>

#include "core/shared.h"
#include "core/slot.h"
#include "hostile.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr std::uint8_t kInit = 1, kInitAck = 2, kCookieEcho = 10, kAsconf = 0xc1;

/// We open the association of peer 1.
core::Settings opening() {
    core::Settings s = Target::settings();
    s.peers[1].connect = true;
    return s;
}

std::size_t entries(Target& t) {
    return t.lab.node->shared().table->statistics().entries;
}

/// Control asks for the association, and what the worker then says.
std::vector<IpBytes> opened(Target& t) {
    t.lab.node->control_turn(t.lab.now);
    PacketSink sink;
    t.lab.workers[0]->advance(t.lab.now, sink);
    return t.flush();
}

Target::Value ipv4_parameter(const IpAddress& address) {
    const std::uint32_t a = address.as_v4();
    return {0,
            5,
            0,
            8,
            static_cast<std::uint8_t>(a >> 24),
            static_cast<std::uint8_t>(a >> 16),
            static_cast<std::uint8_t>(a >> 8),
            static_cast<std::uint8_t>(a)};
}

Target::Value answer_value(const Target::Value& parameters) {
    Target::Value value{0x11, 0x22, 0x33, 0x44, 0, 1, 0x86, 0xa0, 0, 10, 0, 10, 0, 0, 3, 232};
    value.insert(value.end(), parameters.begin(), parameters.end());
    value.insert(value.end(), {0, 7, 0, 8, 'c', 'o', 'o', 'k'});
    return value;
}

std::size_t of_type(const std::vector<IpBytes>& packets, std::uint8_t type) {
    return static_cast<std::size_t>(
        std::count_if(packets.begin(), packets.end(),
                      [type](const IpBytes& p) { return Target::first_type(p) == type; }));
}

}  // namespace

TEST_CASE(
    "TAB-3: a client's paths are in the table when its INIT leaves, and gone when it gives up") {
    Target t(opening());
    CHECK(entries(t) == 0);
    const auto said = opened(t);
    CHECK(of_type(said, kInit) == 1);
    CHECK(entries(t) == 2);  // both configured addresses
    t.lab.cut = [](const IpBytes&, bool) { return true; };
    t.lab.run(10s, 10ms);
    CHECK(t.lab.count(Count::associations_lost) >= 1);
    t.lab.node->drain(t.lab.now);
    CHECK(t.lab.run_until([&] { return entries(t) == 0; }, 20s, 10ms));
}

TEST_CASE(
    "TAB-3: what an INIT or a COOKIE ECHO of a restart builds for a moment is never in the table") {
    Target t;
    const IpBytes first = t.feed(t.init(t.peer(1))).at(0);
    CHECK(entries(t) == 0);
    t.feed(t.cookie_echo(first, t.peer(1)));
    t.flush();
    REQUIRE(entries(t) == 1);
    // The peer restarts: INIT is answered, and all of it is in the cookie.
    IpBytes again = t.init(t.peer(1));
    again[Target::header_bytes(again) + 16] ^= 1;  // under a new tag
    t.feed(Target::sealed(again));
    const auto said = t.flush();
    REQUIRE(of_type(said, kInitAck) == 1);
    CHECK(entries(t) == 1);
    IpBytes spoiled = t.cookie_echo(said[0], t.peer(1));
    spoiled[60] ^= 1;
    t.feed(Target::sealed(spoiled));
    CHECK(t.lab.drops(Drop::cookie_bad_mac) == 1);
    CHECK(entries(t) == 1);
    t.feed(t.cookie_echo(said[0], t.peer(1)));
    CHECK(t.lab.count(Count::associations_restarted) == 1);
    CHECK(entries(t) == 1);
}

TEST_CASE("TAB-6, HS-8: an INIT ACK from another address that lists the one we asked is met") {
    const IpAddress elsewhere = IpAddress::v4(0x0a4d4d4d);
    for (const bool lists : {true, false}) {
        Target t(opening());
        const auto said = opened(t);
        REQUIRE(of_type(said, kInit) == 1);
        const auto init = std::span{said[0]}.subspan(Target::header_bytes(said[0]));
        const std::uint32_t tag = wire::load_u32(init, 16);
        const IpAddress listed = lists ? t.peer(1) : IpAddress::v4(0x0a4d4e4e);
        const auto at_once = t.feed(
            t.chunk(elsewhere, kInitAck, tag, answer_value(ipv4_parameter(listed)), kGateway));
        const auto then = t.flush();
        CHECK(of_type(then, kCookieEcho) == (lists ? 1u : 0u));
        CHECK(at_once.empty());  // a stranger's is not answered
    }
}

TEST_CASE("TAB-6: an ASCONF from elsewhere finds nothing by the address that it lists") {
    Target t;
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    t.feed(t.cookie_echo(answer, t.peer(1)));
    t.flush();
    const std::uint32_t tag = wire::load_u32(std::span{answer}.subspan(20), 16);
    Target::Value value{0, 0, 0, 1};
    const auto listed = ipv4_parameter(t.peer(1));
    value.insert(value.end(), listed.begin(), listed.end());
    const std::size_t before = entries(t);
    CHECK(t.feed(t.chunk(IpAddress::v4(0x0a4d4d4d), kAsconf, tag, value)).empty());
    CHECK(t.flush().empty());
    CHECK(entries(t) == before);
    CHECK(t.lab.drops(Drop::out_of_the_blue) == 1);
}

TEST_CASE("F02: 10,000 associations on one port: as flat a table as with 100, and each is found") {
    for (const std::uint32_t peers : {100u, 10'000u}) {
        CoreLab lab(one_asp_per_server(peers),
                    {.workers = 2, .memory_bytes = 64u * 1024 * 1024 + peers * 16384u});
        for (std::uint32_t i = 0; i < peers; ++i) {
            lab.start(PeerIndex{i});
            if (i % 500 == 499) lab.run(3ms);
        }
        REQUIRE(lab.run_until([&] { return lab.count(Count::associations_up) == peers; }, 10s));
        const auto t = lab.node->shared().table->statistics();
        CHECK(t.entries == peers);
        CHECK(t.max_depth <= 2);
        CHECK_FALSE(t.alarm());
        CHECK(t.chains[0] * 100 >= t.homes * 98);  // nearly all need one bucket
        CHECK(lab.drops(Drop::bad_tag) == 0);
    }
}
