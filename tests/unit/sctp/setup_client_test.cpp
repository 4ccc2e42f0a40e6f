// SPDX-License-Identifier: Apache-2.0
// Set-up as the active side: T1-init, T1-cookie and every sort of INIT ACK (RFC 9260 5.1, 3.3.3).
#include <catch2/catch.hpp>

#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::uint8_t>;
const Bytes kCookie{0, 7, 0, 8, 1, 2, 3, 4};

struct Client : InState {
    explicit Client(Profile p = {}, std::vector<IpAddress> at_z = {kZ1})
        : InState(State::cookie_wait, p, {kA1}, std::move(at_z)) {}
    /// What a says to this INIT ACK.
    std::vector<InFlight> answer(const Bytes& parameters, InitFields f = {}, IpAddress from = kZ1) {
        InFlight p = packet(own_tag());
        p.source = from;
        Bytes value = be32(
            {f.initiate_tag, f.a_rwnd, std::uint32_t{f.streams_out} << 16 | f.streams_in, f.tsn});
        value.insert(value.end(), parameters.begin(), parameters.end());
        append_chunk(p, 2, 0, value);
        a.input(p);
        return capture();
    }
    void require_abort(const std::vector<InFlight>& said_now, std::uint8_t cause) {
        REQUIRE(a.saw(Event::aborted));
        REQUIRE(said_now.size() == 1);
        CHECK(said_now[0].types() == Types{6});
        CHECK(tag_of(said_now[0]) == kCraftedTag);
        CHECK(value_of(said_now[0], 6).at(1) == cause);
    }
};

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// Times of a's packets of this type, nobody answering.
std::vector<Duration> times_of(Pair& pair, std::uint8_t type, Duration limit) {
    std::vector<Duration> times;
    const Time start = pair.now;
    pair.lose = [&](const InFlight& p) {
        if (p.first_type() == type) times.push_back(pair.now - start);
        return true;
    };
    pair.advance(limit);
    return times;
}

}  // namespace

TEST_CASE("HS-1: the active side asks, echoes the cookie and is up with COOKIE ACK",
          "[as-v-1-1-1][bdc-v-7-5]") {
    Client client;
    REQUIRE(client.said.size() == 1);
    CHECK(client.said[0].types() == Types{1});
    CHECK(tag_of(client.said[0]) == 0);
    const auto echo = client.answer(kCookie);
    REQUIRE(echo.size() == 1);
    CHECK(echo[0].types() == Types{10});
    CHECK(tag_of(echo[0]) == kCraftedTag);
    CHECK(value_of(echo[0], 10) == Bytes{1, 2, 3, 4});
    CHECK(client.a.state() == State::cookie_echoed);
    InFlight ack = client.packet(client.own_tag());
    append_chunk(ack, 11, 0, {});
    append_data(ack, 1000, 0, 0, 3, "at once");
    client.a.input(ack);
    CHECK(client.a.state() == State::established);
    CHECK(client.a.count(Event::up) == 1);
    REQUIRE(client.a.messages.size() == 1);
    CHECK(client.a.messages[0].data == "at once");
}

TEST_CASE("HS-9: INIT is repeated unchanged with back-off up to RTO.Max, then given up",
          "[as-i-1-2-1][as-i-1-3-1]") {
    Profile profile;
    profile.rto_max = 5s;
    profile.max_init_retransmits = 5;
    Pair pair{62, profile};
    std::vector<Bytes> inits;
    pair.a.connect({kZ1}, kPortA, kPortZ);
    const Time start = pair.now;
    std::vector<Duration> times;
    pair.lose = [&](const InFlight& p) {
        CHECK(p.types() == Types{1});
        inits.push_back(p.bytes);
        times.push_back(pair.now - start);
        return true;
    };
    pair.advance(60s);
    CHECK(times == std::vector<Duration>{0s, 1s, 3s, 7s, 12s, 17s});
    for (const Bytes& init : inits) CHECK(init == inits[0]);
    CHECK(pair.a.count(Event::lost) == 1);
    CHECK(pair.a.state() == State::closed);
}

TEST_CASE("HS-9: COOKIE ECHO is repeated unchanged with back-off up to RTO.Max, then given up",
          "[as-i-1-2-2][as-i-1-3-2]") {
    Profile profile;
    profile.rto_max = 3s;
    profile.max_init_retransmits = 4;
    InState it{State::cookie_echoed, profile};
    const auto times = times_of(it, 10, 60s);
    CHECK(times == std::vector<Duration>{1s, 3s, 6s, 9s});
    CHECK(it.a.count(Event::lost) == 1);
    CHECK(it.a.association->path(0).srtt == 1ns);  // of INIT, by which no time passed
}

TEST_CASE("HS-9: Karn's rule: a handshake packet that was repeated measures nothing") {
    for (const int lost : {0, 1, 2}) {
        Pair pair{63};
        pair.lose = [lost, n = 0](const InFlight&) mutable { return ++n == lost; };
        pair.a.connect({kZ1}, kPortA, kPortZ);
        pair.advance(5s);
        REQUIRE(pair.a.state() == State::established);
        CHECK(pair.a.association->path(0).srtt == 10ms);  // of the pair that was not repeated
        CHECK(pair.a.association->path(0).rto <= 1s);
    }
}

TEST_CASE("HS-8: INIT goes to each configured address in turn", "[as-i-1-15]") {
    Pair pair{64, {}, {kA1, kA2}, {kZ1, kZ2}};
    std::vector<IpAddress> asked;
    pair.lose = [&asked](const InFlight& p) {
        asked.push_back(p.destination);
        return true;
    };
    pair.a.connect({kZ1, kZ2}, kPortA, kPortZ);
    pair.advance(10s);
    CHECK(asked == std::vector<IpAddress>{kZ1, kZ2, kZ1, kZ2, kZ1, kZ2});
}

TEST_CASE("HS-8: INIT ACK from another address counts when it lists the one that was asked") {
    Client stranger;
    CHECK(stranger.answer(kCookie, {}, kZ2).empty());
    CHECK(stranger.a.state() == State::cookie_wait);
    Client other;
    const auto echo = other.answer(kCookie + Bytes{0, 5, 0, 8, 10, 0, 0, 2}, {}, kZ2);
    REQUIRE(echo.size() == 1);
    CHECK(echo[0].destination == kZ1);
    CHECK(other.a.association->path_count() == 2);
}

TEST_CASE("PKT-3: INIT ACK with every optional parameter, addresses and fewer streams is taken",
          "[as-v-1-6-2][as-v-1-7-3][as-v-1-10-2][as-v-1-11-2]") {
    Client client;
    const Bytes all =
        kCookie + Bytes{0,    5, 0, 8, 10,   0, 1, 2, 0,    12, 0, 6, 0,    5, 0, 0, 0x80, 0, 0, 4,
                        0x80, 8, 0, 5, 0xc1, 0, 0, 0, 0xc0, 0,  0, 4, 0xc0, 6, 0, 8, 0,    0, 0, 9};
    const auto echo = client.answer(all, {.streams_out = 5, .streams_in = 3});
    REQUIRE(echo.size() == 1);
    CHECK(echo[0].first_type() == 10);
    CHECK(client.a.association->streams_out() == 3);
    CHECK(client.a.association->streams_in() == 5);
    REQUIRE(client.a.association->path_count() == 2);
    CHECK(client.a.association->remote_address(1) == kZ2);
    Client plain;
    plain.answer(kCookie);
    CHECK(plain.a.association->path_count() == 1);
}

TEST_CASE("H03, H18: an INIT ACK that offers nothing usable is refused by ABORT with its cause",
          "[as-i-1-7-4][as-i-1-12-2][e-i-6-4]") {
    Client no_streams;
    no_streams.require_abort(no_streams.answer(kCookie, {.streams_out = 0}), 7);
    Client no_way_back;
    no_way_back.require_abort(no_way_back.answer(kCookie, {.streams_in = 0}), 7);
    Client tiny;
    tiny.require_abort(tiny.answer(kCookie, {.a_rwnd = 1499}), 13);
    Client named;
    named.require_abort(named.answer(Bytes{0, 11, 0, 8, 'a', '.', 'b', 0} + kCookie), 5);
    Client no_cookie;
    const auto said = no_cookie.answer({});
    no_cookie.require_abort(said, 2);
    CHECK(value_of(said[0], 6) == Bytes{0, 2, 0, 10, 0, 0, 0, 1, 0, 7});
    Client empty_cookie;
    empty_cookie.require_abort(empty_cookie.answer({0, 7, 0, 4}), 13);
    Client vast_cookie;
    Bytes vast(60'000, 1);
    vast[0] = 0, vast[1] = 7, vast[2] = 60'000 >> 8, vast[3] = 60'000 & 0xff;
    vast_cookie.require_abort(vast_cookie.answer(vast), 13);
    Client liar;
    liar.require_abort(liar.answer(Bytes{0, 7, 0, 200, 1, 2, 3, 4}), 13);
}

TEST_CASE(
    "H18: an INIT ACK with tag 0 ends it without a word, one too short or in company is nothing",
    "[as-i-1-14-2][imh-i-3-2][bdc-i-7-2]") {
    Client zero;
    CHECK(zero.answer(kCookie, {.initiate_tag = 0}).empty());
    CHECK(zero.a.state() == State::closed);
    Client small;
    CHECK(small.chunk(2, 0, be32({kCraftedTag, 100000, 65537})).empty());
    CHECK(small.a.state() == State::cookie_wait);
    Client company;
    InFlight p = company.packet(company.own_tag());
    append_chunk(p, 2, 0, be32({kCraftedTag, 100000, 65537, 1000}) + kCookie);
    append_data(p, 1000, 0, 0, 3, "early");
    company.a.input(p);
    CHECK(company.capture().empty());
    CHECK(company.a.state() == State::cookie_wait);
    CHECK(company.a.messages.empty());
}

TEST_CASE("PKT-3: what INIT ACK has that is not known is reported beside COOKIE ECHO if it asks so",
          "[e-i-6-5]") {
    const Bytes go_on_report{0xf0, 1, 0, 6, 9, 9, 0, 0};
    const Bytes silent{0xb0, 1, 0, 4};
    const Bytes stop_report{0x70, 1, 0, 4};
    Client client;
    auto echo = client.answer(go_on_report + silent + kCookie + stop_report + go_on_report);
    REQUIRE(echo.size() == 1);
    CHECK(echo[0].types() == Types{10, 9});
    CHECK(value_of(echo[0], 9) == Bytes{0, 8, 0, 16} + go_on_report + stop_report);
    client.advance(1s);
    CHECK(client.a.state() == State::cookie_echoed);
    Client stopped;  // the cookie stands behind the parameter that stops: it is missing
    stopped.require_abort(stopped.answer(stop_report + kCookie), 2);
    Client many;
    Bytes all = kCookie;
    for (int i = 0; i < 300; ++i) all = all + Bytes{0xf0, 1, 0, 4};
    echo = many.answer(all);
    REQUIRE(echo.size() == 1);
    CHECK(echo[0].bytes.size() < 400);
    many.a.drop_association();
    CHECK(many.a.blocks.blocks_in_use() == 0);
}

TEST_CASE("H12: a stale-cookie ERROR starts again once, asking for longer; DATA stays queued",
          "[e-o-6-1]") {
    InState it{State::cookie_echoed};
    REQUIRE(it.a.send(0, "patience") == SendStatus::ok);
    it.capture();
    const auto tag = it.own_tag();
    const auto init = it.chunk(9, 0, {0, 3, 0, 8, 0, 7, 0xa1, 0x20});  // 500 ms late
    REQUIRE(init.size() == 1);
    CHECK(init[0].types() == Types{1});
    CHECK(it.a.state() == State::cookie_wait);
    CHECK(wire::load_u32(init[0].bytes, 16) == tag);
    wire::ParameterWalker walker{std::span{init[0].bytes}.subspan(32)};
    std::uint32_t wish = 0;
    while (const auto p = walker.next())
        if (p->type == 9) wish = wire::load_u32(p->value, 0);
    CHECK(wish >= 500);
    it.z.drop_association();
    it.deliver(init[0]);
    it.exchange();
    CHECK(it.a.state() == State::established);
    REQUIRE(it.z.messages.size() == 1);
    CHECK(it.z.messages[0].data == "patience");
    InState twice{State::cookie_echoed};
    twice.chunk(9, 0, {0, 3, 0, 8, 0, 0, 0, 1});
    twice.z.drop_association();
    twice.exchange();
    CHECK(twice.a.count(Event::lost) == 0);
}

TEST_CASE("H12: a stale-cookie ERROR in any other state is discarded", "[e-o-6-2]") {
    for (const State state : kOpenStates) {
        if (state == State::cookie_echoed) continue;
        INFO(name_of(state));
        InState it{state};
        const auto before = picture(it.a);
        CHECK(it.chunk(9, 0, {0, 3, 0, 8, 0, 0, 0, 1}).empty());
        CHECK(picture(it.a) == before);
        CHECK(it.a.drops(Drop::chunk_unexpected) == 1);
    }
}

TEST_CASE("COOKIE-WAIT takes no SHUTDOWN, SACK, DATA or HEARTBEAT",
          "[dm-o-4-6-1][dm-o-4-9][dm-o-4-7-1]") {
    Client client;
    const auto before = picture(client.a);
    for (const std::uint8_t type : {std::uint8_t{0}, std::uint8_t{3}, std::uint8_t{4},
                                    std::uint8_t{5}, std::uint8_t{7}, std::uint8_t{14}}) {
        CHECK(client.chunk(type, 3, Bytes(16, 1)).empty());
        CHECK(picture(client.a) == before);
    }
}

TEST_CASE("H19: 65,535 associations to a black hole end by themselves and leave nothing") {
    Profile profile;
    profile.max_init_retransmits = 2;
    Endpoint e{65, {kA1}, profile};
    TestPages& pages = e.pages;
    std::uint64_t inits = 0;
    for (std::uint32_t n = 0; n < 65'535; ++n) {
        Environment env = e.env();
        Association association;
        REQUIRE(association.connect(env, std::span{&kZ1, 1}, static_cast<std::uint16_t>(1 + n),
                                    kPortZ));
        Effects effects;
        for (Time due{}; association.state() != State::closed; due = association.next_deadline()) {
            e.now = std::max(e.now, due);
            Environment at = e.env();
            effects.clear();
            association.advance(at, effects);
            association.flush(at, e.sink);
            inits += e.sink.sent.size();
            e.sink.sent.clear();
        }
        REQUIRE(effects.happened().size() == 1);
        REQUIRE(association.release(env, 64));
    }
    CHECK(inits == 3 * 65'535);
    CHECK(pages.taken == 0);
    CHECK(e.counters.get(Count::associations_lost) == 65'535);
}
