// SPDX-License-Identifier: Apache-2.0
// Handshake, collision, restart: sections HS of the requirements, H and V of the adversarial list.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

TEST_CASE(
    "HS-2, X01, P10: INIT ACK is at most three times the INIT, with two local addresses and "
    "unknown parameters") {
    Pair pair{1, {}, {kA1}, {kZ1, kZ2}};
    const auto plain = init_packet({});
    pair.z.input(plain);
    REQUIRE(pair.z.sink.sent.size() == 1);
    CHECK(20 + pair.z.sink.sent[0].bytes.size() <= 3 * (20 + plain.bytes.size()));
    pair.z.sink.sent.clear();
    std::vector<std::uint8_t> unknown;
    for (int i = 0; i < 300; ++i) unknown.insert(unknown.end(), {0xff, 0x01, 0, 4});
    const auto noisy = init_packet(unknown);
    pair.z.input(noisy);
    REQUIRE(pair.z.sink.sent.size() == 1);
    CHECK(20 + pair.z.sink.sent[0].bytes.size() <= 3 * (20 + noisy.bytes.size()));
    CHECK(pair.z.sink.sent[0].bytes.size() <= 1480);
}

TEST_CASE("HS-2, X01: the same over IPv6") {
    const std::vector<IpAddress> at_z{*IpAddress::parse("2001:db8::2"),
                                      *IpAddress::parse("2001:db8:1::2")};
    Pair pair{15, {}, {*IpAddress::parse("2001:db8::1")}, at_z};
    InFlight init = init_packet({});
    init.source = pair.a.local[0];
    init.destination = at_z[0];
    pair.z.input(init);
    REQUIRE(pair.z.sink.sent.size() == 1);
    CHECK(40 + pair.z.sink.sent[0].bytes.size() <= 3 * (40 + init.bytes.size()));
}

TEST_CASE("H02, H03: an INIT with a tag, a companion, no streams or a tiny window sets nothing up",
          "[as-i-1-7-2]") {
    Pair pair{2};
    auto tagged = init_packet({});
    set_tag(tagged, 7);
    pair.z.input(tagged);
    CHECK(pair.z.sink.sent.empty());
    auto bundled = init_packet({});
    append_chunk(bundled, 11, 0, {});
    pair.z.input(bundled);
    CHECK(pair.z.drops(Drop::init_bundled) == 1);
    CHECK(pair.z.sink.sent.empty());
    pair.z.input(init_packet({}, {.streams_out = 0}));
    pair.z.input(init_packet({}, {.a_rwnd = 1499}));
    REQUIRE(pair.z.sink.sent.size() == 2);
    for (const InFlight& answer : pair.z.sink.sent) {
        CHECK(answer.first_type() == 6);
        CHECK(tag_of(answer) == kCraftedTag);
        CHECK((answer.bytes[13] & 1) == 0);
    }
    pair.z.input(init_packet({}, {.initiate_tag = 0}));
    CHECK(pair.z.sink.sent.size() == 2);
}

TEST_CASE(
    "H05, PKT-8: host names and more than 16 addresses are refused, useless addresses are not "
    "kept",
    "[as-v-1-12-1]") {
    Pair pair{3};
    pair.z.input(init_packet({0, 11, 0, 8, 'a', '.', 'b', 0}));
    REQUIRE(pair.z.sink.sent.size() == 1);
    CHECK(pair.z.sink.sent[0].first_type() == 6);
    CHECK(pair.z.sink.sent[0].bytes[17] == 5);
    pair.z.sink.sent.clear();
    std::vector<std::uint8_t> many;
    for (std::uint8_t i = 10; i < 27; ++i) many.insert(many.end(), {0, 5, 0, 8, 10, 0, 0, i});
    pair.z.input(init_packet(many));
    REQUIRE(pair.z.sink.sent.size() == 1);
    CHECK(pair.z.sink.sent[0].first_type() == 6);
    CHECK(pair.z.sink.sent[0].bytes[17] == 4);
    pair.z.sink.sent.clear();
    // multicast, loopback, link-local, IPv6 without an IPv6 address of ours, the source twice, one
    // good one
    pair.z.input(init_packet({0,   5,    0, 8,  224, 0,   0,   1, 0, 5, 0, 8,  127, 0,    0,
                              1,   0,    5, 0,  8,   169, 254, 0, 1, 0, 6, 0,  20,  0x20, 1,
                              0xd, 0xb8, 0, 0,  0,   0,   0,   0, 0, 0, 0, 0,  0,   1,    0,
                              5,   0,    8, 10, 0,   0,   1,   0, 5, 0, 8, 10, 0,   1,    1}));
    REQUIRE(pair.z.sink.sent.size() == 1);
    pair.z.input(cookie_echo_for(pair.z.sink.sent[0]));
    REQUIRE(pair.z.association);
    REQUIRE(pair.z.association->path_count() == 2);
    CHECK(pair.z.association->remote_address(0) == kA1);
    CHECK(pair.z.association->remote_address(1) == kA2);
    CHECK(pair.z.association->path(0).confirmed);
    CHECK_FALSE(pair.z.association->path(1).confirmed);
}

TEST_CASE("H07: a cookie cut or flipped at any byte is dropped") {
    Pair pair{4};
    pair.z.input(init_packet({}));
    const InFlight good = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    for (std::size_t i = 16; i < good.bytes.size(); ++i) {
        InFlight flipped = good;
        flipped.bytes[i] ^= 1;
        pair.z.input(flipped);
        InFlight cut = good;
        cut.bytes.resize(i);
        wire::store_u16(cut.bytes, 14, static_cast<std::uint16_t>(i - 12));
        pair.z.input(cut);
        CHECK_FALSE(pair.z.association);
    }
    pair.z.sink.sent.clear();
    pair.z.input(good);
    CHECK(pair.z.state() == State::established);
}

TEST_CASE("H08, H09: a replayed cookie makes one association; from elsewhere it makes none") {
    Pair pair{5};
    pair.z.input(init_packet({}));
    const InFlight good = cookie_echo_for(pair.z.sink.sent[0]);
    InFlight elsewhere = good;
    elsewhere.source = IpAddress::v4(0x0a000099);
    pair.z.input(elsewhere);
    CHECK(pair.z.last_verdict == CookieVerdict::mismatch);
    CHECK_FALSE(pair.z.association);
    for (int i = 0; i < 1000; ++i) pair.z.input(good);
    CHECK(pair.z.count(Event::up) == 1);
    CHECK(pair.z.counters.get(Count::associations_up) == 1);
    pair.z.sink.sent.clear();
    pair.z.flush();
    CHECK(pair.z.sink.sent.size() == 1);
    CHECK(pair.z.sink.sent[0].types() == std::vector<std::uint8_t>{11});
}

TEST_CASE("H10, H12: a stale cookie is reported, asked again once with a longer life, and works") {
    Pair pair{6};
    pair.z.profile.cookie_life = 1ms;
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.exchange();
    CHECK(pair.a.state() != State::cookie_echoed);
    pair.advance(5s);
    CHECK(pair.z.drops(Drop::cookie_stale) == 0);
    CHECK(pair.a.count(Event::lost) == 1);  // 2 ms at most, and a round trip takes 10
    Pair again{6};
    again.z.profile.cookie_life = 6ms;
    again.a.connect({kZ1}, kPortA, kPortZ);
    again.exchange();
    CHECK(again.a.state() == State::established);
    CHECK(again.z.state() == State::established);
}

TEST_CASE("HS-4: keys of two generations open cookies, older ones are silent") {
    Pair pair{7};
    const std::array<std::uint8_t, 32> key{1};
    pair.z.input(init_packet({}));
    const InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.keys.rotate(key);
    pair.z.input(echo);
    CHECK(pair.z.state() == State::established);
    Pair old{7};
    old.z.input(init_packet({}));
    const InFlight late = cookie_echo_for(old.z.sink.sent[0]);
    old.z.sink.sent.clear();
    old.z.keys.rotate(key);
    old.z.keys.rotate(key);
    old.z.input(late);
    CHECK(old.z.last_verdict == CookieVerdict::bad_mac);
    CHECK(old.z.sink.sent.empty());
}

TEST_CASE("HS-9: INIT is sent again with back-off and given up after the limit") {
    Pair pair{8};
    pair.lose = [](const InFlight&) { return true; };
    pair.a.profile.max_init_retransmits = 3;
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.advance(1h);
    CHECK(pair.sent == 4);
    CHECK(pair.a.count(Event::lost) == 1);
    CHECK(pair.a.state() == State::closed);
}

TEST_CASE(
    "HS-5, H15: an INIT in ESTABLISHED gets an INIT ACK with another tag and changes nothing") {
    Pair pair{9};
    pair.connect();
    const auto tag = pair.z.association->local_tag();
    pair.z.input(init_packet({}));
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].first_type() == 2);
    CHECK(tag_of(answers[0]) == kCraftedTag);
    CHECK(wire::load_u32(answers[0].bytes, 16) != tag.value);
    CHECK(pair.z.association->local_tag() == tag);
    pair.a.send(0, "still here");
    pair.exchange();
    CHECK(pair.z.messages.size() == 1);
}

TEST_CASE("HS-6 case A: a peer that comes back restarts the association, its queues start afresh") {
    Pair pair{10};
    pair.connect();
    for (int i = 0; i < 5; ++i) pair.a.send(1, "old");
    pair.exchange();
    pair.z.send(1, "never acknowledged");
    pair.capture();
    pair.a.drop_association();
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.exchange();
    CHECK(pair.a.state() == State::established);
    CHECK(pair.z.count(Event::restarted) == 1);
    CHECK(pair.z.drops(Drop::association_lost) == 1);
    CHECK(pair.z.association->queued_bytes() == 0);
    pair.a.send(1, "new");
    pair.z.send(1, "answer");
    pair.exchange();
    CHECK(pair.z.messages.back().data == "new");
    REQUIRE(pair.a.messages.size() == 1);
    CHECK(pair.a.messages[0].data == "answer");
}

TEST_CASE(
    "HS-7, H14: a restart that brings a new address is refused and the old association lives on") {
    Pair pair{11, {}, {kA1, kA2}, {kZ1}};
    pair.a.local = {kA1};
    pair.connect();
    pair.z.input(init_packet({0, 5, 0, 8, 10, 0, 1, 1}));
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].first_type() == 6);
    CHECK(answers[0].bytes[17] == 11);
    const std::vector<std::uint8_t> names{answers[0].bytes.begin() + 16, answers[0].bytes.end()};
    CHECK(names == std::vector<std::uint8_t>{0, 11, 0, 12, 0, 5, 0, 8, 10, 0, 1, 1});  // 3.3.10.11
    CHECK(pair.z.drops(Drop::restart_new_addresses) == 1);
    CHECK(pair.z.state() == State::established);
}

TEST_CASE("HS-12: two INITs that cross give one association, whichever packet is first or lost") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Pair pair{100 + seed};
        RandomSource random{seed};
        pair.lose = [&random, lost = 0](const InFlight&) mutable {
            return lost < 2 && random.below(6) == 0 && ++lost != 0;
        };
        pair.a.connect({kZ1}, kPortA, kPortZ);
        if (seed % 2 == 0) pair.flush();
        if (seed % 3 == 0) pair.advance(std::chrono::milliseconds{seed % 11});
        if (!pair.z.association) pair.z.connect({kA1}, kPortZ, kPortA);
        pair.advance(60s);
        INFO("seed " << seed);
        REQUIRE(pair.a.state() == State::established);
        REQUIRE(pair.z.state() == State::established);
        CHECK(pair.a.association->local_tag() == pair.z.association->remote_tag());
        CHECK(pair.a.association->remote_tag() == pair.z.association->local_tag());
        pair.a.send(0, "to z");
        pair.z.send(0, "to a");
        pair.advance(10s);
        CHECK(pair.z.messages.size() == 1);
        CHECK(pair.a.messages.size() == 1);
    }
}

TEST_CASE("H18: INIT ACK without a cookie is answered by ABORT, an unsolicited one by nothing") {
    Pair pair{12};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    const auto init = pair.capture();
    const std::uint32_t tag = wire::load_u32(init[0].bytes, 16);
    InFlight answer = init_packet({});
    std::swap(answer.source, answer.destination);
    answer.source = kZ1;
    answer.destination = kA1;
    wire::store_u16(answer.bytes, 0, kPortZ);
    wire::store_u16(answer.bytes, 2, kPortA);
    set_tag(answer, tag);
    answer.bytes[12] = 2;
    pair.a.input(answer);
    CHECK(pair.a.saw(Event::aborted));
    const auto last = pair.capture();
    REQUIRE(last.size() == 1);
    CHECK(last[0].first_type() == 6);
    CHECK(last[0].bytes[17] == 2);
    Pair up{13};
    up.connect();
    set_tag(answer, up.a.association->local_tag().value);
    up.a.input(answer);
    CHECK(up.a.drops(Drop::chunk_unexpected) == 1);
    CHECK(up.capture().empty());
}

TEST_CASE("H04: 65535 streams each way take no page until a high one is used, and then one") {
    Profile profile;
    profile.streams_out = 65535;
    Pair pair{14, profile};
    pair.connect();
    CHECK(pair.a.association->streams_out() == 65535);
    const std::size_t before = pair.z.pages.taken;
    pair.a.send(65534, "far");
    pair.exchange();
    REQUIRE(pair.z.messages.size() == 1);
    CHECK(pair.z.messages[0].stream == 65534);
    CHECK(pair.z.pages.taken <= before + 3);  // directory levels and one page
}
