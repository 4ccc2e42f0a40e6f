// SPDX-License-Identifier: Apache-2.0
// Broadcast traffic mode end to end, answers to what cannot be delivered, and the drain.
#include <catch2/catch.hpp>

#include <set>

#include "base/bytes.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

const std::vector<std::uint8_t> kUser{1, 2, 3};

/// Server 1 in broadcast with peers 1 and 2.
core::Settings broadcast_pair() {
    core::Settings s = one_asp_per_server(3);
    s.servers.pop_back();
    s.servers[1].mode = sigtran::TrafficMode::broadcast;
    s.servers[1].members = {{PeerIndex{1}, 1}, {PeerIndex{2}, 1}};
    return s;
}

/// The Correlation Ids (tag 0x0013) of the DATA received; 0 for one without.
std::vector<std::uint32_t> correlation_ids(const Asp& asp) {
    std::vector<std::uint32_t> ids;
    for (const auto& m : asp.received) {
        if (!m3ua::parse_data(m)) continue;
        ids.push_back(0);
        for (std::size_t at = 8; at + 8 <= m.size();) {
            if (load_be16(m.data() + at) == 0x0013) ids.back() = load_be32(m.data() + at + 4);
            at += (load_be16(m.data() + at + 2) + 3u) / 4 * 4;
        }
    }
    return ids;
}

std::vector<std::uint8_t> types_of(const Asp& asp, std::uint8_t message_class) {
    std::vector<std::uint8_t> types;
    for (const auto& m : asp.received)
        if (m[2] == message_class) types.push_back(m[3]);
    return types;
}

}  // namespace

TEST_CASE(
    "RFC 4666 3.3.1, 4.3.4.3: the first DATA of each flow after an activation carries a "
    "Correlation Id, the same to all ASPs",
    "[m3ua-field-09]") {
    for (const unsigned workers : {1u, 2u}) {
        CoreLab lab(broadcast_pair(), {.workers = workers});
        Asp& source = lab.start(PeerIndex{0});
        Asp& one = lab.start(PeerIndex{1});
        Asp& two = lab.start(PeerIndex{2});
        bring_up(lab, source, 100);
        bring_up(lab, one, 101);
        lab.run(50ms);
        const auto say = [&](std::uint8_t sls) {
            lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, sls, kUser));
            lab.run(20ms);
        };
        say(1);
        say(1);
        bring_up(lab, two, 101);
        lab.run(50ms);
        say(1);
        say(1);
        say(2);
        INFO(lab.counters());
        const auto ones = correlation_ids(one);
        const auto twos = correlation_ids(two);
        REQUIRE(ones.size() == 5);
        REQUIRE(twos.size() == 3);
        CHECK(ones[0] != 0);
        CHECK(ones[1] == 0);
        CHECK(ones[2] != 0);
        CHECK(ones[3] == 0);
        CHECK(ones[4] != 0);
        CHECK(std::vector(ones.begin() + 2, ones.end()) == twos);
        CHECK(std::set<std::uint32_t>{ones[0], ones[2], ones[4]}.size() == 3);
    }
}

TEST_CASE("broadcast: a slow ASP loses its own copies by name, the other has each message once") {
    for (const unsigned workers : {1u, 2u}) {
        core::Settings settings = broadcast_pair();
        settings.profiles[1].values.send_buffer_bytes = 8 * 1024;
        CoreLab lab(std::move(settings), {.workers = workers});
        Asp& source = lab.start(PeerIndex{0});
        Asp& one = lab.start(PeerIndex{1});
        Asp& two = lab.start(PeerIndex{2});
        bring_up(lab, source, 100);
        bring_up(lab, one, 101);
        bring_up(lab, two, 101);
        lab.run(100ms);
        lab.cut = [&](const IpBytes& p, bool) {
            const auto parsed = wire::parse_ip(p);
            return std::get<wire::IpPacket>(parsed).destination == two.addresses[0];
        };
        constexpr std::uint32_t kMessages = 600;
        for (std::uint32_t n = 0; n < kMessages; ++n) {
            lab.send(source, StreamId{1},
                     m3ua::data(100, 1000, 1001, 3, std::vector<std::uint8_t>(50)));
            if (n % 4 == 3) lab.turn();
        }
        lab.run(8s);  // the slow one dies in the meantime
        INFO(lab.counters());
        CHECK(correlation_ids(one).size() == kMessages);
        CHECK(lab.drops(Drop::broadcast_copy) == kMessages);
    }
}

TEST_CASE("a message without a way is answered: DUNA, DUPU, once a second for each destination") {
    CoreLab lab(one_asp_per_server(3), {});
    Asp& a = lab.start(PeerIndex{0});
    bring_up(lab, a, 100);
    lab.run(50ms);
    a.received.clear();
    for (int n = 0; n < 50; ++n) {
        lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1002, 0, kUser));  // AS 2 never came up
        lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1, 0, kUser));     // us: no user part
    }
    lab.run(100ms);
    CHECK(types_of(a, 2) == std::vector<std::uint8_t>{1, 5});
}

TEST_CASE("REL-41: drain tells the ASPs, then ends every association by SHUTDOWN") {
    CoreLab lab(one_asp_per_server(2), {.workers = 2});
    Asp& a = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, a, 100);
    bring_up(lab, z, 101);
    lab.run(100ms);
    a.received.clear();
    lab.node->drain(lab.now);
    REQUIRE(lab.run_until([&] { return lab.node->drained(); }, 5s));
    lab.run(100ms);
    CHECK(types_of(a, 2) == std::vector<std::uint8_t>{1});  // DUNA
    CHECK(types_of(a, 0) == std::vector<std::uint8_t>{1});  // NTFY AS-INACTIVE
    CHECK(types_of(a, 4) == std::vector<std::uint8_t>{4});  // ASPIA Ack
    CHECK(types_of(a, 3) == std::vector<std::uint8_t>{5});  // ASPDN Ack
    CHECK(lab.count(Count::associations_closed) == 2);
}

TEST_CASE("decision 8: an ASP that does not read its management messages is closed, alone") {
    core::Settings settings = one_asp_per_server(2);
    settings.profiles[1].values.send_buffer_bytes = 1500;
    settings.profiles[1].values.association_max_retransmits = 200;
    settings.profiles[1].values.path_max_retransmits = 200;
    CoreLab lab(std::move(settings), {});
    Asp& deaf = lab.start(PeerIndex{0});
    Asp& other = lab.start(PeerIndex{1});
    bring_up(lab, deaf, 100);
    bring_up(lab, other, 101);
    lab.cut = [&](const IpBytes& p, bool) {
        const auto parsed = wire::parse_ip(p);
        return std::get<wire::IpPacket>(parsed).destination == deaf.addresses[0];
    };
    for (int n = 0; n < 20 && lab.count(Count::associations_aborted) == 0; ++n) {
        lab.send(deaf, StreamId{0},
                 [] {  // BEAT of 1,000 octets
                     std::vector<std::uint8_t> m(8 + 4 + 1000);
                     m[0] = 1;
                     m[2] = m[3] = 3;
                     store_be32(m.data() + 4, static_cast<std::uint32_t>(m.size()));
                     store_be16(m.data() + 8, 9);
                     store_be16(m.data() + 10, 1004);
                     return m;
                 }());
        lab.run(1s);
    }
    INFO(lab.counters());
    CHECK(lab.drops(Drop::m3ua_management_overflow) == 1);
    CHECK(lab.count(Count::associations_aborted) == 1);
    CHECK(other.association->state() == sctp::State::established);
}

TEST_CASE("T(beat): DATA that a worker takes keeps the ASP alive; silence gets BEAT, then ABORT",
          "[m3ua-field-02]") {
    core::Settings settings = one_asp_per_server(2);
    settings.peers[0].m3ua.beat_interval = 500ms;
    CoreLab lab(std::move(settings), {});
    Asp& a = lab.start(PeerIndex{0});
    Asp& z = lab.start(PeerIndex{1});
    bring_up(lab, a, 100);
    bring_up(lab, z, 101);
    for (int n = 0; n < 20; ++n) {
        lab.send(a, StreamId{1}, m3ua::data(100, 1000, 1001, 3, kUser));
        lab.run(100ms);
    }
    CHECK(types_of(a, 3) == std::vector<std::uint8_t>{4});  // ASPUP Ack, no BEAT
    lab.run(2s);                                            // the lab's ASP answers no BEAT
    CHECK(types_of(a, 3) == std::vector<std::uint8_t>{4, 3});
    CHECK(lab.count(Count::associations_aborted) == 1);
}
