// SPDX-License-Identifier: Apache-2.0
// Reloads of the core: who is not concerned notices nothing, all the rest happens as planned.
#include <catch2/catch.hpp>

#include "core/reload.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

core::ReloadPlan plan(const CoreLab& lab, const core::Settings& next) {
    return core::plan_reload(*lab.node->settings_in_force(), next, lab.node->reload_room());
}

void put_in_force(CoreLab& lab, const core::Settings& next) {
    core::ReloadPlan planned = plan(lab, next);
    REQUIRE(planned.refused.empty());
    lab.node->reload(lab.node->make_plan(planned.settings), planned.peers, lab.now);
}

std::size_t data_count(const Asp& asp) {
    std::size_t n = 0;
    for (const auto& m : asp.received) n += m3ua::parse_data(m) ? 1 : 0;
    return n;
}

void send_one(CoreLab& lab, Asp& from, std::uint32_t i, std::uint32_t to, std::uint8_t sls) {
    const std::array<std::uint8_t, 5> user{1, 2, 3, 4, 5};
    lab.send(from, StreamId{static_cast<std::uint16_t>(1 + sls % 15)},
             m3ua::data(100 + i, 1000 + i, 1000 + to, sls, user));
}

/// The servers' peers without the last one.
core::Settings without_last(core::Settings s) {
    s.peers.pop_back();
    s.servers.pop_back();
    return s;
}

const core::PeerFate* fate_of(const core::ReloadPlan& p, const std::string& name) {
    for (const core::PeerFate& f : p.peers)
        if (f.name == name) return &f;
    return nullptr;
}

}  // namespace

TEST_CASE("a plan says of each peer what becomes of it, and why") {
    const core::Settings s = one_asp_per_server(4);
    CoreLab lab(s, {});
    core::Settings next = s;
    CHECK(plan(lab, next).peers.empty());
    CHECK(plan(lab, next).unchanged == 4);
    next.peers[0].m3ua.quirks.no_notify = true;
    next.peers[1].addresses[0].bytes[15] ^= 0x40;
    next.servers[2].routing_context = 777;
    next = without_last(next);
    next.peers.push_back(s.peers[3]);
    next.peers.back().m3ua.name = "newcomer";
    const core::ReloadPlan p = plan(lab, next);
    REQUIRE(p.peers.size() == 5);
    CHECK(fate_of(p, s.peers[0].m3ua.name)->fate == core::Fate::in_place);
    CHECK(fate_of(p, s.peers[1].m3ua.name)->fate == core::Fate::reset);
    CHECK(fate_of(p, s.peers[1].m3ua.name)->why == "addresses");
    CHECK(fate_of(p, s.peers[2].m3ua.name)->fate == core::Fate::reset);
    CHECK(fate_of(p, s.peers[3].m3ua.name)->fate == core::Fate::removed);
    CHECK(fate_of(p, "newcomer")->fate == core::Fate::added);
    CHECK(p.ending() == 3);
    CHECK(p.refused.empty());
}

TEST_CASE("what takes a restart is refused by name") {
    const core::Settings s = one_asp_per_server(2);
    CoreLab lab(s, {});
    core::Settings next = s;
    next.node_id ^= 1;
    next.listeners[0].port = 2906;
    next.instances[0].point_code = PointCode{77};
    next.servers[0].mode = sigtran::TrafficMode::broadcast;
    CHECK(plan(lab, next).refused.size() == 4);
    next = s;
    for (std::size_t i = 0; i <= lab.node->reload_room().peers; ++i) {
        next.peers.push_back(s.peers[0]);
        next.peers.back().m3ua.name = "more-" + std::to_string(i);
    }
    CHECK(plan(lab, next).refused.size() == 1);
}

TEST_CASE("L04 a peer and its server that a reload adds come up and carry traffic") {
    for (const unsigned workers : {1u, 2u}) {
        const core::Settings all = one_asp_per_server(3);
        CoreLab lab(without_last(all), {.workers = workers});
        Asp& a = lab.start(PeerIndex{0});
        bring_up(lab, a, 100);
        put_in_force(lab, all);
        lab.run(5ms);
        Asp& c = lab.start(PeerIndex{2});
        bring_up(lab, c, 102);
        for (std::uint8_t sls = 0; sls < 16; ++sls) send_one(lab, a, 0, 2, sls);
        lab.run(500ms);
        INFO(lab.counters());
        CHECK(data_count(c) == 16);
    }
}

TEST_CASE("L04 a peer that a reload removes is shut down; it may come back with the next one") {
    const core::Settings all = one_asp_per_server(3);
    CoreLab lab(all, {.workers = 2});
    Asp& a = lab.start(PeerIndex{0});
    Asp& c = lab.start(PeerIndex{2});
    bring_up(lab, a, 100);
    bring_up(lab, c, 102);
    put_in_force(lab, without_last(all));
    lab.run(2s);
    CHECK(c.events.back().event == sctp::Event::closed);
    CHECK(lab.count(Count::associations_closed) == 1);
    CHECK_FALSE(lab.node->statistics()->peer_associated[2]);
    CHECK(lab.node->statistics()->peer_associated[0]);
    send_one(lab, a, 0, 2, 1);  // nobody has that destination any more
    lab.run(100ms);
    CHECK(lab.drops(Drop::mtp3_no_route) == 1);

    put_in_force(lab, all);
    lab.run(5ms);
    Asp& again = lab.start(PeerIndex{2});
    bring_up(lab, again, 102);
    send_one(lab, a, 0, 2, 1);
    lab.run(500ms);
    CHECK(data_count(again) == 1);
}

TEST_CASE("REL-40 a thousand reloads under traffic: nobody unchanged notices, nothing is lost") {
    const core::Settings all = one_asp_per_server(3);
    CoreLab lab(all, {.workers = 2});
    Asp& a = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, a, 100);
    bring_up(lab, z, 101);
    const std::size_t events = a.events.size() + z.events.size();
    core::Settings other = without_last(all);
    other.peers[0].m3ua.quirks.ppid_any = true;
    other.init_per_second = 100;
    other.profiles[all.peers[1].profile].values.heartbeat_interval = 2s;
    std::uint32_t sent = 0;
    for (int i = 0; i < 1000; ++i) {
        put_in_force(lab, i % 2 == 0 ? other : all);
        send_one(lab, a, 0, 1, static_cast<std::uint8_t>(sent++ % 16));
        send_one(lab, z, 1, 0, static_cast<std::uint8_t>(sent++ % 16));
        lab.turn();
    }
    lab.run(1s);
    INFO(lab.counters());
    CHECK(data_count(a) + data_count(z) == sent);
    CHECK(a.events.size() + z.events.size() == events);
    CHECK(lab.node->settings_in_force()->peers.size() == 3);
    CHECK(lab.node->settings_in_force()->profiles.size() == all.profiles.size() + 1);
    CHECK(lab.count(Count::associations_up) == 2);
}

TEST_CASE("a route keeps its count over reloads that put others before it") {
    core::Settings s = one_asp_per_server(3);
    CoreLab lab(s, {});
    Asp& a = lab.start(PeerIndex{0});
    Asp& c = lab.start(PeerIndex{2});
    bring_up(lab, a, 100);
    bring_up(lab, c, 102);
    const auto counted = [&](std::uint32_t dpc) {
        lab.run(1100ms);
        const auto now = lab.node->statistics();
        for (std::size_t i = 0; i < now->routes.size(); ++i)
            if (now->routes[i].dpc == PointCode{dpc}) return now->route_ledger.at(i);
        return std::uint64_t{999};
    };
    const std::uint32_t far = s.servers[2].keys.at(0).dpc.value;
    for (std::uint8_t sls = 0; sls < 5; ++sls) send_one(lab, a, 0, 2, sls);
    CHECK(counted(far) == 5);
    core::Settings next = s;
    sigtran::DestinationKey more = next.servers[0].keys.at(0);
    more.dpc = PointCode{77};
    next.servers[0].keys.insert(next.servers[0].keys.begin(), more);
    put_in_force(lab, next);
    CHECK(counted(far) == 5);
    CHECK(counted(77) == 0);
    send_one(lab, a, 0, 2, 1);
    CHECK(counted(far) == 6);
    CHECK(lab.node->statistics()->routes.size() == 4);
}

TEST_CASE("an operator's block outlives a reload that does not speak of it") {
    const core::Settings s = one_asp_per_server(2);
    CoreLab lab(s, {});
    Asp& a = lab.start(PeerIndex{0});
    bring_up(lab, a, 100);
    lab.node->block(PeerIndex{0}, lab.now);
    lab.run(2s);
    core::Settings next = s;
    next.peers[0].m3ua.quirks.no_notify = true;
    put_in_force(lab, next);
    lab.run(2s);
    CHECK(lab.node->statistics()->peer_blocked[0]);
    next.peers[0].m3ua.admin = sigtran::Admin::blocked;
    put_in_force(lab, next);
    next.peers[0].m3ua.admin = sigtran::Admin::enabled;
    put_in_force(lab, next);
    lab.run(2s);
    CHECK_FALSE(lab.node->statistics()->peer_blocked[0]);
}

TEST_CASE("a member that a reload takes out of a server gives its traffic to the others") {
    core::Settings s = asps_over_servers(3, 1);
    // A sender of its own, or there would be nobody to send to the server.
    core::Settings sender = one_asp_per_server(1);
    CoreLab lab(s, {});
    std::vector<Asp*> asps;
    for (std::uint32_t p = 0; p < 3; ++p) {
        asps.push_back(&lab.start(PeerIndex{p}));
        bring_up(lab, *asps.back(), 100);
    }
    core::Settings next = s;
    next.servers[0].members.erase(next.servers[0].members.begin());
    put_in_force(lab, next);
    lab.run(2s);
    const auto statistics = lab.node->statistics();
    CHECK(statistics->as_states[0] == sigtran::AsState::active);
    CHECK(statistics->as_active_asps[0] == 2);
    CHECK(statistics->peer_associated[0]);  // its association stands
    for (const PeerIndex serving : lab.node->bindings(AsIndex{0})) CHECK(serving != PeerIndex{0});
}

TEST_CASE("a listener takes no more associations than it may, beside others") {
    core::Settings s = one_asp_per_server(3);
    s.listeners[0].max_associations = 2;
    s.listeners.push_back(s.listeners[0]);
    s.listeners.back().name = "other";
    s.listeners.back().port = 2906;
    s.listeners.back().max_associations = 100;
    CoreLab lab(s, {});
    for (std::uint32_t p = 0; p < 3; ++p) lab.start(PeerIndex{p});
    lab.run(2s);
    CHECK(lab.count(Count::associations_up) == 2);
    CHECK(lab.drops(Drop::init_refused_resources) > 0);
    core::Settings next = s;
    next.listeners[0].max_associations = 3;
    put_in_force(lab, next);
    lab.run(20s);
    CHECK(lab.count(Count::associations_up) == 3);
}
