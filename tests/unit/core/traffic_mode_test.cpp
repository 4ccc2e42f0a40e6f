// SPDX-License-Identifier: Apache-2.0
// DATA as each traffic mode wants it (RFC 4666 4.3.4.3), and with several AS over one association.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr std::array<std::uint8_t, 4> kUser{1, 2, 3, 4};

/// Server 1 has two ASPs, peers 1 and 2.
core::Settings two_asps(sigtran::TrafficMode mode) {
    core::Settings s = one_asp_per_server(3);
    s.servers.pop_back();
    s.servers[1].mode = mode;
    s.servers[1].members = {{PeerIndex{1}, 1}, {PeerIndex{2}, 1}};
    return s;
}

std::multiset<std::uint8_t> sls_at(const Asp& asp) {
    std::multiset<std::uint8_t> seen;
    for (const auto& m : asp.received)
        if (const auto d = m3ua::parse_data(m)) seen.insert(d->sls);
    return seen;
}

struct Lab {
    explicit Lab(core::Settings settings) : lab(std::move(settings), {}) {
        source = &lab.start(PeerIndex{0});
        one = &lab.start(PeerIndex{1});
        two = &lab.start(PeerIndex{2});
        bring_up(lab, *source, 100);
        bring_up(lab, *one, 101);
        bring_up(lab, *two, 101);
        lab.run(50ms);
    }
    void one_of_each_sls() {
        for (std::uint8_t sls = 0; sls < 16; ++sls)
            lab.send(*source, StreamId{1}, m3ua::data(100, 1000, 1001, sls, kUser));
        lab.run(200ms);
    }
    CoreLab lab;
    Asp* source;
    Asp* one;
    Asp* two;
};

}  // namespace

TEST_CASE("RFC 4666 4.3.4.3: in override all DATA goes to the ASP that became active last",
          "[m3ua-field-06]") {
    Lab l(two_asps(sigtran::TrafficMode::override_));
    l.one_of_each_sls();
    CHECK(sls_at(*l.one).empty());
    CHECK(sls_at(*l.two).size() == 16);
    l.lab.send(*l.one, StreamId{0}, m3ua::aspac(101));
    l.lab.run(100ms);
    l.one_of_each_sls();
    CHECK(sls_at(*l.one).size() == 16);
    CHECK(sls_at(*l.two).size() == 16);
}

TEST_CASE("RFC 4666 4.3.4.3: in loadshare each SLS has one ASP, and both have as many",
          "[m3ua-field-07]") {
    Lab l(two_asps(sigtran::TrafficMode::loadshare));
    for (int n = 0; n < 3; ++n) l.one_of_each_sls();
    const auto ones = sls_at(*l.one), twos = sls_at(*l.two);
    CHECK(ones.size() == 24);
    CHECK(twos.size() == 24);
    for (std::uint8_t sls = 0; sls < 16; ++sls) CHECK(ones.count(sls) + twos.count(sls) == 3);
    for (std::uint8_t sls = 0; sls < 16; ++sls) CHECK(ones.count(sls) * twos.count(sls) == 0);
}

TEST_CASE("RFC 4666 3.3.1: DATA of several AS over one association, each with its context",
          "[mtr-v-003][m3ua-field-05]") {
    core::Settings s = one_asp_per_server(3);
    s.servers[2].members.push_back({PeerIndex{1}, 1});  // peer 1 serves both
    CoreLab lab(std::move(s), {});
    Asp& source = lab.start(PeerIndex{0});
    Asp& both = lab.start(PeerIndex{1});
    bring_up(lab, source, 100);
    bring_up(lab, both, 101);
    lab.send(both, StreamId{0}, m3ua::aspac(102));
    lab.run(100ms);
    lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, kUser));
    lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1002, 3, kUser));
    lab.run(100ms);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // context, destination
    for (const auto& m : both.received)
        if (const auto d = m3ua::parse_data(m)) seen.insert({d->routing_context, d->dpc});
    CHECK(seen == std::set<std::pair<std::uint32_t, std::uint32_t>>{{101, 1001}, {102, 1002}});

    // Back in the name of either; without a context it is not clear in whose (ERR 0x16).
    lab.send(both, StreamId{1}, m3ua::data(101, 1001, 1000, 3, kUser));
    lab.send(both, StreamId{1}, m3ua::data(102, 1002, 1000, 3, kUser));
    lab.run(100ms);
    CHECK(sls_at(source).size() == 2);
    auto without = m3ua::data(101, 1001, 1000, 3, kUser);
    without.erase(without.begin() + 8, without.begin() + 16);
    without[7] = static_cast<std::uint8_t>(without.size());
    lab.send(both, StreamId{1}, without);
    lab.run(100ms);
    CHECK(sls_at(source).size() == 2);
    const auto is_error = [](const auto& m) { return m3ua::is(m, 0, 0); };
    const auto error = std::find_if(both.received.begin(), both.received.end(), is_error);
    REQUIRE(error != both.received.end());
    CHECK(error->at(15) == 0x16);
}
