// SPDX-License-Identifier: Apache-2.0
// What does not get in or through: screening (C01 to C03), loops (C06), the rate of one peer (F09);
// and routes over another AS.
#include <catch2/catch.hpp>

#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

const std::vector<std::uint8_t> kUser{1, 2, 3, 4};

std::size_t data_count(const Asp& asp) {
    std::size_t n = 0;
    for (const auto& m : asp.received) n += m3ua::parse_data(m).has_value();
    return n;
}

struct Three {
    explicit Three(core::Settings settings, unsigned workers = 1)
        : lab(std::move(settings), {.workers = workers}) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            asps[i] = &lab.start(PeerIndex{i});
            bring_up(lab, *asps[i], 100 + i);
        }
        lab.run(50ms);
    }
    void say(unsigned from, std::uint32_t opc, std::uint32_t dpc, std::uint8_t sls = 0) {
        lab.send(*asps[from], StreamId{1}, m3ua::data(100 + from, opc, dpc, sls, kUser));
        lab.run(20ms);
    }
    CoreLab lab;
    Asp* asps[3];
};

}  // namespace

TEST_CASE("C01: an origin that is not allowed on this association is dropped by name") {
    core::Settings s = one_asp_per_server(3);
    core::ScreeningRule own;  // peer 0 may speak as 1000 only
    own.peers = {PeerIndex{0}};
    own.instance = 0;
    own.opc = PointCode{1000};
    own.allow = true;
    core::ScreeningRule rest;
    rest.peers = {PeerIndex{0}};
    s.screening = {own, rest};
    Three t(std::move(s));
    t.say(0, 1000, 1001);
    t.say(0, 1002, 1001);
    t.say(2, 1002, 1001);
    INFO(t.lab.counters());
    CHECK(data_count(*t.asps[1]) == 2);
    CHECK(t.lab.drops(Drop::screening_denied) == 1);
    t.say(2, 1, 1001);
    CHECK(t.lab.drops(Drop::mtp3_own_origin) == 1);
}

TEST_CASE("C02, C03: default deny lets through what a rule names: DPC with mask and SI") {
    core::Settings s = one_asp_per_server(3);
    s.screening_allows = false;
    core::ScreeningRule rule;
    rule.instance = 0;
    rule.dpc = PointCode{1001};
    rule.service_indicators = 1u << 3;
    rule.allow = true;
    s.screening = {rule};
    Three t(std::move(s));
    t.say(0, 1000, 1001);
    t.say(0, 1000, 1002);
    CHECK(data_count(*t.asps[1]) == 1);
    CHECK(data_count(*t.asps[2]) == 0);
    CHECK(t.lab.drops(Drop::screening_denied) == 1);
}

TEST_CASE("C06: what would go back to where it came from, or to its own origin, is a loop") {
    Three t(one_asp_per_server(3));
    t.say(0, 1001, 1000);  // back to the sender
    t.say(0, 1001, 1001);  // to the owner of its origin
    CHECK(t.lab.drops(Drop::mtp3_loop) == 2);
    CHECK(data_count(*t.asps[1]) == 0);
}

TEST_CASE("C06: behind a mated STP one point code may send to another through us") {
    core::Settings s = one_asp_per_server(3);
    s.servers[1].keys.push_back({PointCode{1101}, 0});  // the STP's AS: 1001 and 1101
    Three t(std::move(s));
    t.say(0, 1101, 1001);  // came over the other STP
    t.say(0, 1001, 1001);
    CHECK(data_count(*t.asps[1]) == 1);
    CHECK(t.lab.drops(Drop::mtp3_loop) == 1);
}

TEST_CASE("F09, REL-24: one peer at 100 times its share is limited by name, the other is unhurt") {
    core::Settings s = one_asp_per_server(3);
    s.peers[0].messages_per_second = 100;
    Three t(std::move(s));
    for (int ms = 0; ms < 1000; ++ms) {
        for (int n = 0; n < 10; ++n)
            t.lab.send(*t.asps[0], StreamId{1}, m3ua::data(100, 1000, 1001, 1, kUser));
        t.lab.send(*t.asps[2], StreamId{1}, m3ua::data(102, 1002, 1001, 2, kUser));
        t.lab.turn();
    }
    t.lab.run(500ms);
    std::size_t of_two = 0;
    for (const auto& m : t.asps[1]->received)
        if (const auto d = m3ua::parse_data(m)) of_two += d->opc == 1002;
    INFO(t.lab.counters());
    CHECK(of_two == 1000);
    const std::size_t of_one = data_count(*t.asps[1]) - of_two;
    CHECK(of_one >= 95);
    CHECK(of_one <= 200);
    CHECK(of_one + t.lab.drops(Drop::peer_rate_limited) == 10000);
}

TEST_CASE("routing: while the first route's AS is away the second one carries, and back again") {
    core::Settings s = one_asp_per_server(3);
    s.servers[2].keys.push_back({PointCode{1001}, 0, {}, 2, 1});  // alternate for 1001
    Three t(std::move(s), 2);
    t.say(0, 1000, 1001);
    CHECK(data_count(*t.asps[1]) == 1);
    t.lab.send(*t.asps[1], StreamId{0}, m3ua::aspia(101));
    t.lab.run(50ms);
    t.say(0, 1000, 1001);
    CHECK(data_count(*t.asps[2]) == 1);
    t.lab.send(*t.asps[1], StreamId{0}, m3ua::aspac(101));
    t.lab.run(50ms);
    t.say(0, 1000, 1001);
    CHECK(data_count(*t.asps[1]) == 2);
    CHECK(data_count(*t.asps[2]) == 1);
}

TEST_CASE("routing: what waited for a PENDING AS goes the second way when that one comes up") {
    core::Settings s = one_asp_per_server(3);
    s.servers[2].keys.push_back({PointCode{1001}, 0, {}, 2, 1});
    Three t(std::move(s));
    t.lab.send(*t.asps[2], StreamId{0}, m3ua::aspia(102));
    t.lab.run(2500ms);  // T(r) is over
    t.lab.send(*t.asps[1], StreamId{0}, m3ua::aspia(101));
    t.lab.run(50ms);
    for (int n = 0; n < 5; ++n) t.say(0, 1000, 1001, 3);
    CHECK(data_count(*t.asps[2]) == 0);
    t.lab.send(*t.asps[2], StreamId{0}, m3ua::aspac(102));
    t.lab.run(50ms);
    INFO(t.lab.counters());
    CHECK(data_count(*t.asps[2]) == 5);
}
