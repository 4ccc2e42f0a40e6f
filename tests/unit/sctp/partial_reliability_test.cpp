// SPDX-License-Identifier: Apache-2.0
// RFC 3758: FORWARD TSN received and sent, lifetimes and retransmission limits.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kForwardTsn = static_cast<std::uint8_t>(wire::ChunkType::forward_tsn);
const std::vector<std::uint8_t> kOffersForwardTsn{0xc0, 0x00, 0x00, 0x04};

bool has_data(const InFlight& packet) {
    return packet.has(wire::ChunkType::data) || packet.has(wire::ChunkType::i_data);
}

std::vector<std::uint8_t> forward_tsn(std::uint32_t tsn, std::initializer_list<std::uint32_t> e) {
    std::vector<std::uint8_t> value = be32({tsn});
    const std::vector<std::uint8_t> entries = be32(e);
    value.insert(value.end(), entries.begin(), entries.end());
    return value;
}

}  // namespace

TEST_CASE("RFC 3758 3.1: FORWARD TSN is used when both ends offer it, and only then") {
    const bool z_offers = GENERATE(true, false);
    Pair pair;
    pair.z.profile.partial_reliability = z_offers;
    pair.connect();
    CHECK(pair.a.association->extensions().has(Extension::forward_tsn) == z_offers);
    CHECK(pair.z.association->extensions().has(Extension::forward_tsn) == z_offers);
}

TEST_CASE("D14: FORWARD TSN that was not negotiated is an unknown chunk of type 11") {
    Crafted c;
    c.chunk(kForwardTsn, 0, forward_tsn(1000, {}));
    CHECK(c.z.drops(Drop::chunk_unknown) == 1);
    const auto answer = c.capture();
    REQUIRE(answer.size() == 1);
    CHECK(answer[0].first_type() == 9);  // ERROR, cause 6
    CHECK(wire::load_u16(answer[0].bytes, 16) == 6);
    CHECK_FALSE(c.sack().has_value());
}

TEST_CASE("D14: what a FORWARD TSN skips counts as received, and the stream goes on behind it") {
    Crafted c{{}, kOffersForwardTsn};
    c.data(1000, 2, 0, 3, "0");
    c.data(1003, 2, 3, 3, "3");
    c.data(1004, 5, 0, 2, "begun, never ended");
    c.chunk(kForwardTsn, 0, forward_tsn(1002, {2u << 16 | 2u}));
    REQUIRE(c.z.messages.size() == 2);
    CHECK(c.z.messages[1].data == "3");
    const auto sack = c.sack();
    REQUIRE(sack.has_value());
    CHECK(sack->cumulative_tsn == Tsn{1004});
    c.chunk(kForwardTsn, 0, forward_tsn(1005, {5u << 16 | 0u}));
    CHECK(c.z.drops(Drop::data_skipped) == 1);
    c.data(1006, 5, 1, 3, "next");
    REQUIRE(c.z.messages.size() == 3);
    CHECK(c.z.association->receive_window() == c.z.profile.receive_window_bytes);
}

TEST_CASE("D14: messages before the skipped one that are whole are delivered in their order") {
    Crafted c{{}, kOffersForwardTsn};
    c.data(1001, 0, 1, 3, "1");  // 1000 is lost: SSN 0
    c.data(1002, 0, 2, 3, "2");
    c.data(1004, 0, 4, 3, "4");  // 1003 is lost: SSN 3
    CHECK(c.z.messages.empty());
    c.chunk(kForwardTsn, 0, forward_tsn(1003, {3}));
    REQUIRE(c.z.messages.size() == 3);
    CHECK(c.z.messages[0].data == "1");
    CHECK(c.z.messages[2].data == "4");
}

TEST_CASE("D14: a bad stream in the list is ignored, the rest holds") {
    Crafted c{{}, kOffersForwardTsn};
    c.chunk(kForwardTsn, 0, forward_tsn(1000, {10u << 16, 65535u << 16, 1u << 16}));
    CHECK(c.z.drops(Drop::forward_tsn_bad_stream) == 2);
    c.data(1001, 1, 1, 3, "after");
    CHECK(c.z.messages.size() == 1);
    CHECK(c.z.state() == State::established);
}

TEST_CASE("D14: a jump beyond the window, an old one or an odd length changes nothing") {
    Crafted c{{}, kOffersForwardTsn};
    for (const std::uint32_t tsn : {999u + 0x7fffffffu, 999u + 16384u, 999u})
        c.chunk(kForwardTsn, 0, forward_tsn(tsn, {0}));
    auto odd = forward_tsn(1000, {0});
    odd.push_back(0);
    c.chunk(kForwardTsn, 0, odd);
    c.chunk(kForwardTsn, 0, {0, 0});
    CHECK(c.z.drops(Drop::forward_tsn_malformed) == 4);
    CHECK(c.z.drops(Drop::forward_tsn_old) == 1);
    CHECK(c.sack()->cumulative_tsn == Tsn{999});
}

TEST_CASE("D14: without a page for a skipped stream FORWARD TSN is not received") {
    Profile profile;
    Crafted c{profile, kOffersForwardTsn, {.streams_out = 65535}};
    c.z.pages.refuse = true;
    c.chunk(kForwardTsn, 0, forward_tsn(1000, {60000u << 16}));
    CHECK(c.z.drops(Drop::data_no_memory) == 1);
    c.z.pages.refuse = false;
    c.chunk(kForwardTsn, 0, forward_tsn(1000, {60000u << 16}));
    c.data(1001, 60000, 1, 3, "after");
    CHECK(c.z.messages.size() == 1);
}

TEST_CASE("RFC 3758: a message past its lifetime is given up, counted and told, the rest arrives") {
    Pair pair;
    pair.connect();
    pair.lose = has_data;
    pair.a.send_limited(1, "short-lived", {.lifetime = 500ms});
    pair.advance(600ms);
    pair.a.send(1, "for ever");
    pair.advance(600ms);
    pair.lose = nullptr;
    pair.advance(20s);
    REQUIRE(pair.z.messages.size() == 1);
    CHECK(pair.z.messages[0].data == "for ever");
    CHECK(pair.a.drops(Drop::message_abandoned) == 1);
    CHECK(pair.a.count(Event::send_failed) == 1);
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.a.association->stalled_since() == kNever);
}

TEST_CASE("RFC 3758 3.5 F: a lost FORWARD TSN is sent again, and a peer that is gone is noticed") {
    Pair pair{1, kProfileSigtranLan};
    pair.connect();
    pair.lose = [](const InFlight& p) {
        return has_data(p) || p.has(wire::ChunkType::forward_tsn);
    };
    pair.a.send_limited(0, "lost", {.max_retransmits = 0});
    pair.advance(300ms);
    CHECK(pair.a.drops(Drop::message_abandoned) == 1);
    SECTION("it comes through in the end") {
        pair.lose = nullptr;
        pair.advance(5s);
        CHECK(pair.a.association->queued_bytes() == 0);
        pair.a.send(0, "next");
        pair.advance(1s);
        CHECK(pair.z.messages.size() == 1);
    }
    SECTION("silence ends the association") {
        pair.lose = [](const InFlight&) { return true; };
        pair.advance(60s);
        CHECK(pair.a.saw(Event::lost));
    }
}

TEST_CASE("RFC 3758: a message that was never sent leaves no hole in its stream") {
    Pair pair;
    pair.connect();
    pair.lose = has_data;
    for (int i = 0; i < 40; ++i) pair.a.send(3, std::string(1000, 'f'));  // more than cwnd
    pair.flush();
    pair.a.send_limited(3, "expires in the queue", {.lifetime = 10ms});
    pair.a.send(3, "last");
    pair.advance(2s);
    pair.lose = nullptr;
    pair.advance(60s);
    REQUIRE(pair.z.messages.size() == 41);
    CHECK(pair.z.messages.back().data == "last");
    CHECK(pair.a.drops(Drop::message_abandoned) == 1);
}

TEST_CASE("RFC 3758: a message half sent is given up whole, and the next one follows it") {
    const bool unordered = GENERATE(false, true);
    Pair pair;
    pair.connect();
    pair.lose = [n = 0](const InFlight& p) mutable { return has_data(p) && ++n % 2 == 1; };
    pair.a.send_limited(0, std::string(30000, 'h'), {.lifetime = 100ms}, unordered);
    pair.flush();
    pair.advance(200ms);
    pair.lose = nullptr;
    pair.a.send(0, "behind it");
    pair.advance(30s);
    REQUIRE(pair.z.messages.size() == 1);
    CHECK(pair.z.messages[0].data == "behind it");
    CHECK(pair.z.state() == State::established);  // nothing looked like a contradiction (D04)
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.z.association->receive_window() == pair.z.profile.receive_window_bytes);
}

TEST_CASE("RFC 3758: limits are not kept towards a peer that cannot do without a message") {
    Pair pair;
    pair.z.profile.partial_reliability = false;
    pair.connect();
    pair.lose = has_data;
    pair.a.send_limited(0, "arrives", {.lifetime = 10ms, .max_retransmits = 0});
    pair.advance(1s);
    pair.lose = nullptr;
    pair.advance(20s);
    CHECK(pair.z.messages.size() == 1);
    CHECK(pair.a.drops(Drop::message_abandoned) == 0);
}

TEST_CASE("END-1: SHUTDOWN goes on when the last messages were given up, sent or not") {
    Pair pair;
    pair.connect();
    pair.lose = has_data;
    pair.a.send_limited(0, "sent", {.lifetime = 100ms});
    pair.flush();
    for (int i = 0; i < 20; ++i)
        pair.a.send_limited(0, std::string(1000, 'q'), {.lifetime = 100ms});
    pair.a.shutdown();
    pair.advance(10s);
    CHECK(pair.a.saw(Event::closed));
    CHECK(pair.z.saw(Event::closed));
    CHECK(pair.a.drops(Drop::message_abandoned) == 21);
}

TEST_CASE("DAT-11: what was given up does not come back when the association ends") {
    Pair pair;
    pair.connect();
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send_limited(0, "given up", {.lifetime = 10ms});
    pair.a.send(0, "kept");
    pair.advance(3s);
    pair.a.abort();
    Environment env = pair.a.env();
    const auto back = pair.a.association->take_back(env);
    REQUIRE(back.has_value());
    CHECK(std::string(back->message.data.begin(), back->message.data.end()) == "kept");
    CHECK_FALSE(pair.a.association->take_back(env).has_value());
}
