// SPDX-License-Identifier: Apache-2.0
// Attackers who know addresses and ports but no tag: section V of the adversarial list, RFC 9260
// 8.4 and 8.5, RFC 5062.
#include <catch2/catch.hpp>

#include <bit>
#include <set>

#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t kInit = 1, kInitAck = 2, kAbort = 6, kShutdown = 7, kShutdownAck = 8,
                       kError = 9, kCookieEcho = 10, kCookieAck = 11, kShutdownComplete = 14;

bool setting_up(State state) {
    return state == State::cookie_wait || state == State::cookie_echoed;
}

/// 8.5.1 E: SHUTDOWN COMPLETE under the tag that came, T set, and nothing else.
bool is_reflected_complete(const std::vector<InFlight>& answers, std::uint32_t tag) {
    return answers.size() == 1 && answers[0].types() == Types{kShutdownComplete} &&
           answers[0].bytes[13] == 1 && tag_of(answers[0]) == tag;
}

std::vector<std::uint8_t> random_bytes(RandomSource& random, std::size_t n) {
    std::vector<std::uint8_t> bytes(n);
    random.fill(bytes);
    return bytes;
}

}  // namespace

TEST_CASE(
    "V01, V03: all 256 chunk types with a wrong tag change nothing in any of the seven states",
    "[PKT-2][imh-i-3-7][imh-i-3-9][imh-i-3-10]") {
    RandomSource random{5};
    for (const State state : kOpenStates) {
        InState it{state};
        INFO(name_of(state));
        REQUIRE(it.a.state() == state);
        const auto before = picture(it.a);
        const std::size_t events = it.a.events.size();
        for (unsigned n = 0; n < 256 * 8; ++n) {
            const auto type = static_cast<std::uint8_t>(n);
            INFO("type " << unsigned{type});
            std::uint32_t tag = random.u32() | 1u;
            while (tag == it.own_tag() || tag == it.peer_tag()) tag += 2;
            InFlight packet = it.packet(tag);
            const std::size_t sizes[]{0, 4, 12, 16, 20, 24, 100, 0};
            append_chunk(packet, type, static_cast<std::uint8_t>(n >> 8 & 1),
                         random_bytes(random, sizes[n >> 8]));
            it.a.input(packet);
            const auto answers = it.capture();
            if (type == kShutdownAck && setting_up(state))
                REQUIRE(is_reflected_complete(answers, tag));
            else
                REQUIRE(answers.empty());
            REQUIRE(picture(it.a) == before);
        }
        CHECK(it.a.events.size() == events);
        CHECK(it.a.drops(Drop::bad_tag) >= 250 * 8);
    }
}

TEST_CASE("V02: ABORT and SHUTDOWN COMPLETE end it under our tag with T clear or the peer's with T",
          "[at-v-2-2][at-i-2-13][dm-o-4-9]") {
    for (const State state : kOpenStates)
        for (const std::uint8_t type : {kAbort, kShutdownComplete})
            for (const std::uint8_t t_bit : {std::uint8_t{0}, std::uint8_t{1}})
                for (const int whose : {0, 1, 2}) {
                    InState it{state};
                    INFO(name_of(state) << ", type " << unsigned{type} << ", T " << unsigned{t_bit}
                                        << ", tag " << whose);
                    const std::uint32_t tags[]{it.own_tag(), it.peer_tag(), it.own_tag() ^ 0x5a5a};
                    InFlight packet = it.packet(tags[whose]);
                    append_chunk(packet, type, t_bit, {});
                    const auto before = picture(it.a);
                    it.a.input(packet);
                    const bool known_tag =
                        whose == t_bit && (whose == 0 || state != State::cookie_wait);
                    const bool ends =
                        known_tag && (type == kAbort || state == State::shutdown_ack_sent);
                    CHECK((it.a.state() == State::closed) == ends);
                    if (!ends) CHECK(picture(it.a) == before);
                    CHECK(it.capture().empty());
                    if (ends) CHECK(it.a.saw(type == kAbort ? Event::aborted : Event::closed));
                }
}

TEST_CASE("V03: INIT ACK, COOKIE ACK and SHUTDOWN ACK with the right tag in a wrong state",
          "[dm-o-4-3][dm-o-4-4][dm-o-4-7-1][dm-o-4-7-2]") {
    for (const State state : kOpenStates) {
        INFO(name_of(state));
        InState it{state};
        const auto before = picture(it.a);
        InFlight answer = it.packet(it.own_tag());
        std::vector<std::uint8_t> value = be32({kCraftedTag, 100000, 10u << 16 | 10, 1000});
        value.insert(value.end(), {0, 7, 0, 8, 1, 2, 3, 4});
        append_chunk(answer, kInitAck, 0, value);
        if (state != State::cookie_wait) {  // 5.2.3
            it.a.input(answer);
            CHECK(it.capture().empty());
            CHECK(picture(it.a) == before);
        }
        if (state != State::cookie_echoed) {  // 5.2.5
            CHECK(it.chunk(kCookieAck).empty());
            CHECK(picture(it.a) == before);
        }
        if (setting_up(state)) {
            CHECK(is_reflected_complete(it.chunk(kShutdownAck), it.own_tag()));
            CHECK(picture(it.a) == before);
        } else if (state != State::shutdown_sent && state != State::shutdown_ack_sent) {  // 9.2
            CHECK(it.chunk(kShutdownAck).empty());
            CHECK(picture(it.a) == before);
        }
    }
}

TEST_CASE(
    "V04, PKT-4: a malformed chunk with a wrong tag is nothing, with the right tag no ABORT") {
    for (const State state : kOpenStates) {
        INFO(name_of(state));
        for (unsigned type = 0; type < 256; ++type) {
            if (type == kAbort) continue;  // has no fixed part: it can't be malformed
            INFO("type " << type);
            InState it{state};
            const auto before = picture(it.a);
            const auto lies = [&](std::uint32_t tag) {
                InFlight packet = it.packet(tag);
                packet.bytes.insert(packet.bytes.end(),
                                    {static_cast<std::uint8_t>(type), 0, 0, 40, 1, 2, 3, 4});
                return packet;
            };
            it.a.input(lies(it.own_tag() ^ 4));
            it.a.input(lies(it.own_tag()));
            CHECK(it.capture().empty());
            CHECK(it.a.state() == state);
            CHECK(picture(it.a) == before);
        }
    }
}

TEST_CASE("V04: of whole chunks with impossible content only DATA ends the association") {
    for (unsigned type = 0; type < 64; ++type)
        for (std::size_t size = 0; size < 20; ++size) {
            if (type == kAbort) continue;
            INFO("type " << type << " of " << size);
            InState it{State::established};
            it.chunk(static_cast<std::uint8_t>(type), 3, std::vector<std::uint8_t>(size, 0xff));
            if (type == 0 && size <= 12)  // too short, or no user data
                CHECK(it.a.saw(Event::aborted));
            else if ((type == 3 && size >= 12) || (type == kShutdown && size == 4))  // S01, S07
                CHECK((it.a.state() == State::established || it.a.saw(Event::aborted)));
            else
                CHECK(it.a.state() == State::established);
        }
}

TEST_CASE("V05: every wrong guess of a tag is counted, and tags are drawn evenly and never 0",
          "[as-v-1-5-1][as-v-1-5-2]") {
    InState it{State::established};
    const auto before = picture(it.a);
    RandomSource random{17};
    const std::uint64_t counted = it.a.drops(Drop::bad_tag);
    for (int i = 0; i < 100'000; ++i) {
        std::uint32_t tag = random.u32();
        if (tag == it.own_tag()) continue;
        InFlight packet = it.packet(tag);
        append_chunk(packet, kAbort, 0, {});
        it.a.input(packet);
    }
    CHECK(it.a.drops(Drop::bad_tag) == counted + 100'000);
    CHECK(picture(it.a) == before);
    std::set<std::uint32_t> initiate_tags;
    std::set<std::uint32_t> answered_tags;
    for (std::uint64_t i = 0; i < 500; ++i) {
        Pair pair{1000 + i};
        pair.a.connect({kZ1}, kPortA, kPortZ);
        const auto init = pair.capture();
        initiate_tags.insert(wire::load_u32(init.at(0).bytes, 16));
        it.z.listening = true;
        it.z.drop_association();
        it.z.input(init[0]);
        answered_tags.insert(wire::load_u32(it.z.sink.sent.at(0).bytes, 16));
        it.z.sink.sent.clear();
    }
    for (const auto* tags : {&initiate_tags, &answered_tags}) {
        CHECK(tags->size() == 500);
        CHECK_FALSE(tags->contains(0));
        std::size_t high = 0;
        for (const std::uint32_t t : *tags) high += t >> 31;
        CHECK(high > 200);
        CHECK(high < 300);
    }
}

TEST_CASE("V07, X05: out of the blue each type draws at most one answer, no longer than it came",
          "[END-2][fh-o-5-3-1][fh-o-5-3-2][fh-o-5-3-3][fh-o-5-3-4][dm-o-4-6-2]") {
    Pair pair{32};
    pair.z.listening = false;
    for (unsigned n = 0; n < 512; ++n) {
        const auto type = static_cast<std::uint8_t>(n);
        INFO("type " << n);
        const std::uint32_t tag = type == kInit ? 0 : 0x1234;
        InFlight packet = packet_to_z(tag);
        const auto value = n < 256 ? std::vector<std::uint8_t>{} : be32({kCraftedTag, 7, 7, 7});
        append_chunk(packet, type, 0, value);
        pair.z.sink.sent.clear();
        pair.z.input(packet);
        const auto& sent = pair.z.sink.sent;
        const bool silent = type == kAbort || type == kShutdownComplete || type == kCookieAck ||
                            (type == kInit && value.empty());
        REQUIRE(sent.size() == (silent ? 0 : 1));
        if (silent) continue;
        CHECK(sent[0].bytes.size() <= packet.bytes.size());
        CHECK(sent[0].destination == packet.source);
        CHECK(sent[0].first_type() == (type == kShutdownAck ? kShutdownComplete : kAbort));
        CHECK(tag_of(sent[0]) == (type == kInit ? kCraftedTag : tag));
        CHECK(sent[0].bytes[13] == (type == kInit ? 0 : 1));
    }
    CHECK(pair.z.drops(Drop::out_of_the_blue) == 512);
}

TEST_CASE("V08: two nodes that get each other's answers fall silent after one") {
    for (unsigned type = 0; type < 256; ++type) {
        INFO("type " << type);
        Pair pair{33};
        pair.a.listening = pair.z.listening = false;
        InFlight packet = packet_to_z(type == kInit ? 0u : 77u);
        append_chunk(packet, static_cast<std::uint8_t>(type), 0, be32({1, 100000, 65537, 1}));
        pair.z.input(packet);
        pair.exchange();
        CHECK(pair.sent <= 1);
    }
}

TEST_CASE("V07: an ERROR out of the blue is answered unless it says that a cookie was stale") {
    Pair pair{34};
    pair.z.listening = false;
    for (std::uint8_t cause = 1; cause < 14; ++cause) {
        InFlight packet = packet_to_z(9u);
        append_chunk(packet, kError, 0, {0, cause, 0, 8, 0, 0, 0, 0});
        pair.z.sink.sent.clear();
        pair.z.input(packet);
        CHECK(pair.z.sink.sent.size() == (cause == 3 ? 0 : 1));
    }
    InFlight hidden = packet_to_z(9u);  // rule 2: an ABORT anywhere in the packet
    append_data(hidden, 1, 0, 0, 3, "x");
    append_chunk(hidden, kAbort, 0, {});
    pair.z.sink.sent.clear();
    pair.z.input(hidden);
    CHECK(pair.z.sink.sent.empty());
    InFlight echo = packet_to_z(9u);
    append_chunk(echo, kCookieEcho, 0, std::vector<std::uint8_t>(100));
    pair.z.input(echo);
    CHECK(pair.z.sink.sent.size() == 1);
}
