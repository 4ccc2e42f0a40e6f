// SPDX-License-Identifier: Apache-2.0
// The end, and INIT or COOKIE ECHO meanwhile: RFC 9260 9.1, 9.2, 5.2.1, 5.2.2, 5.2.4.
#include <catch2/catch.hpp>

#include <set>

#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t kData = 0, kSack = 3, kShutdown = 7, kShutdownAck = 8, kCookieAck = 11,
                       kShutdownComplete = 14;

/// The value of a SHUTDOWN that acknowledges everything that a sent, or `back` less.
std::vector<std::uint8_t> shutdown_value(const InState& it, std::uint32_t back = 0) {
    std::uint32_t tsn = 0;
    for (const InFlight& p : it.said)
        if (const auto data = value_of(p, kData); !data.empty()) tsn = wire::load_u32(data, 0);
    if (tsn == 0)  // nothing was sent since INIT
        for (const InFlight& p : InState{State::cookie_wait}.said)
            tsn = wire::load_u32(p.bytes, 28) - 1;
    return be32({tsn - back});
}

/// Times at which a sends this type, nobody answering.
std::vector<Duration> times_of(Pair& pair, std::uint8_t type, Duration limit) {
    std::vector<Duration> times;
    const Time start = pair.now;
    pair.lose = [&, start](const InFlight& p) {
        if (p.source == kA1 && p.has(static_cast<wire::ChunkType>(type)))
            times.push_back(pair.now - start);
        return true;
    };
    pair.z.drop_association();
    pair.advance(limit);
    return times;
}

}  // namespace

TEST_CASE("END-1: SHUTDOWN waits until all that was sent is acknowledged", "[at-i-2-3]") {
    InState it{State::shutdown_pending};
    for (const InFlight& p : it.said) CHECK_FALSE(p.has(wire::ChunkType::shutdown));
    CHECK(it.a.state() == State::shutdown_pending);
    for (const InFlight& p : it.said) it.deliver(p);
    it.z.advance();
    it.advance(300ms);
    CHECK(it.z.messages.size() == 1);
    CHECK(it.a.state() == State::closed);
    CHECK(it.z.state() == State::closed);
}

TEST_CASE("END-1: SHUTDOWN is repeated by T2 with back-off, to the limit or the guard",
          "[at-i-2-4][at-i-2-5]") {
    Profile profile;
    profile.rto_max = 4s;
    profile.association_max_retransmits = 4;
    InState it{State::shutdown_sent, profile};
    CHECK(it.said.at(0).types() == Types{kShutdown});
    const auto times = times_of(it, kShutdown, 300s);
    CHECK(times == std::vector<Duration>{1s, 3s, 7s, 11s});
    CHECK(it.a.state() == State::closed);
    CHECK(it.a.count(Event::lost) == 1);
}

TEST_CASE("END-1: SHUTDOWN ACK is repeated by T2 with back-off, to the limit",
          "[at-i-2-11][at-i-2-12]") {
    Profile profile;
    profile.rto_max = 4s;
    profile.association_max_retransmits = 4;
    InState it{State::shutdown_ack_sent, profile};
    CHECK(it.said.back().types() == Types{kShutdownAck});
    const auto times = times_of(it, kShutdownAck, 300s);
    CHECK(times == std::vector<Duration>{1s, 3s, 7s, 11s});
    CHECK(it.a.state() == State::closed);
    CHECK(it.a.count(Event::lost) == 1);
}

TEST_CASE("END-1: SHUTDOWN ACK is answered by SHUTDOWN COMPLETE, and that ends the other side",
          "[at-v-2-6][at-i-2-13][dm-o-4-7-3]") {
    for (const State state : {State::shutdown_sent, State::shutdown_ack_sent}) {
        INFO(name_of(state));
        InState it{state};
        const auto said = it.chunk(kShutdownAck);
        REQUIRE(said.size() == 1);
        CHECK(said[0].types() == Types{kShutdownComplete});
        CHECK(said[0].bytes[13] == 0);
        CHECK(it.a.state() == State::closed);
        CHECK(it.a.count(Event::closed) == 1);
    }
    InState it{State::shutdown_ack_sent};
    CHECK(it.chunk(kShutdownComplete).empty());
    CHECK(it.a.state() == State::closed);
    CHECK(it.a.count(Event::closed) == 1);
}

TEST_CASE("END-1: new user data are refused in every state that closes",
          "[at-i-2-7-1][at-i-2-7-2][at-i-2-7-3][at-i-2-7-4]") {
    for (const State state : {State::shutdown_pending, State::shutdown_sent,
                              State::shutdown_received, State::shutdown_ack_sent}) {
        InState it{state};
        CHECK(it.a.send(0, "too late") == SendStatus::not_open);
        for (const InFlight& p : it.capture()) CHECK_FALSE(p.has(wire::ChunkType::data));
    }
}

TEST_CASE("D12: DATA in each closing state is taken or dropped as RFC 9260 9.2 says",
          "[at-i-2-8][at-i-2-9][dm-o-4-10][bdc-v-7-8]") {
    for (const State state : kOpenStates) {
        INFO(name_of(state));
        InState it{state};
        const std::uint32_t tsn = state == State::cookie_wait
                                      ? 1u
                                      : wire::load_u32(
                                            [&] {
                                                it.z.send(0, "from z");
                                                for (const InFlight& p : it.capture())
                                                    if (p.has(wire::ChunkType::data))
                                                        return value_of(p, kData);
                                                return be32({1});
                                            }(),
                                            0);
        const bool takes = state == State::established || state == State::shutdown_pending ||
                           state == State::shutdown_sent;
        const auto before = picture(it.a);
        auto value = be32({tsn, 0, 3});
        value.push_back('x');
        const auto said = it.chunk(kData, 3, value);
        CHECK(it.a.messages.size() == (takes ? 1 : 0));
        CHECK(it.a.state() == state);
        if (!takes) CHECK(picture(it.a) == before);
        CHECK(it.a.drops(Drop::data_not_accepted) == (takes ? 0 : 1));
        if (state == State::shutdown_sent) {  // SACK and SHUTDOWN at once, T2 anew
            REQUIRE(said.size() == 1);
            CHECK(said[0].types() == Types{kShutdown, kSack});
            CHECK(wire::load_u32(value_of(said[0], kShutdown), 0) == tsn);
        }
    }
    InState it{State::shutdown_sent};  // control first: the DATA behind it comes too late
    InFlight both = it.packet(it.own_tag());
    append_chunk(both, kShutdownAck, 0, {});
    append_data(both, 1, 0, 0, 3, "late");
    it.a.input(both);
    CHECK(it.a.state() == State::closed);
    CHECK(it.a.messages.empty());
    CHECK(it.a.drops(Drop::after_close) == 1);
    CHECK(it.capture().at(0).types() == Types{kShutdownComplete});
}

TEST_CASE("END-1: SHUTDOWN while DATA is outstanding: it is acknowledged first, then SHUTDOWN ACK",
          "[at-i-2-10][at-v-2-14]") {
    InState it{State::shutdown_received};
    for (const InFlight& p : it.said) CHECK_FALSE(p.has(wire::ChunkType::shutdown_ack));
    const auto said = it.chunk(kShutdown, 0, shutdown_value(it));
    CHECK(it.a.state() == State::shutdown_ack_sent);
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types{kShutdownAck});
    InState at_once{State::established};
    at_once.a.send(0, "x");
    at_once.said = at_once.capture();
    const auto answer = at_once.chunk(kShutdown, 0, shutdown_value(at_once));
    REQUIRE(answer.size() == 1);
    CHECK(answer[0].types() == Types{kShutdownAck});
    CHECK(at_once.a.association->queued_bytes() == 0);
}

TEST_CASE("END-1: SHUTDOWN in SHUTDOWN-SENT: SHUTDOWN ACK, and T2 starts anew",
          "[dm-o-4-5][dm-o-4-6-3]") {
    InState it{State::shutdown_sent};
    it.advance(700ms);
    const auto said = it.chunk(kShutdown, 0, shutdown_value(it));
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types{kShutdownAck});
    CHECK(it.a.state() == State::shutdown_ack_sent);
    CHECK(times_of(it, kShutdownAck, 1100ms) == std::vector<Duration>{1s});
}

TEST_CASE(
    "S07, END-1: SHUTDOWN that acknowledges what was never sent ends it, an old one is nothing",
    "[bdc-v-7-6]") {
    for (const State state :
         {State::established, State::shutdown_pending, State::shutdown_received}) {
        INFO(name_of(state));
        InState ahead{state};
        const auto said =
            ahead.chunk(kShutdown, 0, be32({wire::load_u32(shutdown_value(ahead), 0) + 9}));
        CHECK(ahead.a.saw(Event::aborted));
        REQUIRE(said.size() == 1);
        CHECK(said[0].types() == Types{6});
        InState behind{state};
        const auto before = picture(behind.a);
        CHECK(behind.chunk(kShutdown, 0, shutdown_value(behind, 5)).empty());
        CHECK(picture(behind.a) == before);
        CHECK(behind.a.drops(Drop::sack_old) == 1);
    }
    InState flood{State::shutdown_received};
    const auto old = shutdown_value(flood, 1);
    InFlight again = flood.packet(flood.own_tag());
    append_chunk(again, kShutdown, 0, old);
    const auto before = picture(flood.a);
    for (int i = 0; i < 20'000; ++i) flood.a.input(again);
    CHECK(picture(flood.a) == before);
    CHECK(flood.capture().empty());
    InState both{State::established};  // SACK and SHUTDOWN in one packet
    both.a.send(0, "x");
    both.said = both.capture();
    InFlight p = both.packet(both.own_tag());
    auto sack = shutdown_value(both);
    for (const std::uint8_t b : be32({100000, 0})) sack.push_back(b);
    append_chunk(p, kShutdown, 0, shutdown_value(both));
    append_chunk(p, kSack, 0, sack);
    both.a.input(p);
    CHECK(both.capture().at(0).types() == Types{kShutdownAck});
    CHECK(both.a.state() == State::shutdown_ack_sent);
}

TEST_CASE("HS-5: INIT in each state is answered as RFC 9260 5.2.1, 5.2.2 and 9.2 say",
          "[dm-o-4-1][dm-o-4-2-1][dm-o-4-2-2][as-o-1-9-1][as-o-1-9-2]") {
    for (const State state : kOpenStates)
        for (const bool new_address : {false, true}) {
            INFO(name_of(state) << (new_address ? " with" : " without") << " a new address");
            InState it{state};
            const auto before = picture(it.a);
            InFlight init = it.packet(0);
            auto value = be32({kCraftedTag, 100000, 10u << 16 | 10, 1000});
            if (new_address) value.insert(value.end(), {0, 5, 0, 8, 10, 66, 66, 66});
            append_chunk(init, 1, 0, value);
            it.a.input(init);
            const auto said = it.capture();
            REQUIRE(said.size() == 1);
            CHECK(it.a.state() == state);
            if (state == State::shutdown_ack_sent) {
                CHECK(said[0].types() == Types{kShutdownAck});
                CHECK(tag_of(said[0]) == it.peer_tag());
                continue;
            }
            CHECK(tag_of(said[0]) == kCraftedTag);
            CHECK(picture(it.a) == before);
            if (new_address && state != State::cookie_wait) {
                CHECK(said[0].types() == Types{6});
                CHECK(value_of(said[0], 6).at(1) == 11);
                continue;
            }
            REQUIRE(said[0].types() == Types{2});
            const bool first_tag =
                state == State::cookie_wait || state == State::cookie_echoed;  // 5.2.1
            CHECK((wire::load_u32(said[0].bytes, 16) == it.own_tag()) == first_tag);
        }
}

TEST_CASE("HS-7: a restart meets SHUTDOWN-ACK-SENT: SHUTDOWN ACK with ERROR 10, nothing restarts") {
    InState it{State::established};
    InFlight init = it.packet(0);
    append_chunk(init, 1, 0, be32({kCraftedTag, 100000, 10u << 16 | 10, 1000}));
    it.a.input(init);
    const InFlight answer = it.capture().at(0);
    it.z.shutdown();
    it.deliver(it.capture().at(0));
    REQUIRE(it.a.state() == State::shutdown_ack_sent);
    it.capture();
    InFlight echo = cookie_echo_for(answer);
    std::swap(echo.source, echo.destination);
    echo.source = kZ1;
    echo.destination = kA1;
    wire::store_u16(echo.bytes, 0, kPortZ);
    wire::store_u16(echo.bytes, 2, kPortA);
    it.a.input(echo);
    const auto said = it.capture();
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types{kShutdownAck, 9});
    CHECK(tag_of(said[0]) == kCraftedTag);
    CHECK(value_of(said[0], 9) == std::vector<std::uint8_t>{0, 10, 0, 4});
    CHECK(it.a.state() == State::shutdown_ack_sent);
    CHECK(it.a.count(Event::restarted) == 0);
}

TEST_CASE("HS-7: a restart in each other state is an event; streams and queues are new") {
    for (const State state : {State::established, State::shutdown_pending, State::shutdown_sent,
                              State::shutdown_received}) {
        INFO(name_of(state));
        InState it{state};
        it.z.drop_association();
        it.z.connect({kA1}, kPortZ, kPortA);
        it.exchange();
        CHECK(it.a.count(Event::restarted) == 1);
        CHECK(it.a.state() == State::established);
        CHECK(it.z.state() == State::established);
        CHECK(it.a.association->queued_bytes() == 0);
        CHECK(it.a.association->is_consistent());
        it.a.send(0, "new");
        it.z.send(0, "new too");
        it.exchange();
        CHECK(it.z.messages.size() == 1);
        CHECK(it.a.messages.size() == 1);
    }
}

TEST_CASE("HS-11: in every state but ESTABLISHED a silent peer ends it within a bound") {
    for (const State state : kOpenStates) {
        if (state == State::established) continue;
        INFO(name_of(state));
        InState it{state, kProfileSigtranLan};
        it.z.drop_association();
        it.lose = [](const InFlight&) { return true; };
        CHECK(it.a.association->next_deadline() != kNever);
        it.advance(20s);
        CHECK(it.a.state() == State::closed);
    }
    // A peer that goes on acknowledging HEARTBEATs but never closes: the guard, 5 times RTO.Max.
    InState it{State::shutdown_received, kProfileSigtranLan};
    it.lose = [](const InFlight& p) { return p.has(wire::ChunkType::data); };
    it.z.drop_association();
    it.advance(5 * 400ms + 1ms);
    CHECK(it.a.state() == State::closed);
}

TEST_CASE(
    "END-2, D11: a closed association answers nothing; a whole session again is out of the blue") {
    Pair pair{66};
    std::vector<InFlight> seen;
    pair.lose = [&seen](const InFlight& p) {
        seen.push_back(p);
        return false;
    };
    pair.connect();
    for (int i = 0; i < 10; ++i) pair.a.send(1, std::to_string(i));
    pair.exchange();
    pair.a.shutdown();
    pair.exchange();
    pair.advance(1s);
    REQUIRE(pair.z.state() == State::closed);
    REQUIRE(pair.a.state() == State::closed);
    pair.lose = nullptr;
    const std::size_t delivered = pair.z.messages.size();
    pair.a.listening = pair.z.listening = false;
    for (const InFlight& p : seen) {
        pair.receiver(p).input(p);
        for (const InFlight& answer : pair.capture()) {
            CHECK(answer.types().size() == 1);
            CHECK((answer.first_type() == 6 || answer.first_type() == kShutdownComplete));
        }
    }
    CHECK(pair.z.messages.size() == delivered);
    CHECK(pair.z.count(Event::up) == 1);
    Environment env = pair.a.env();
    Effects effects;
    for (const InFlight& p : seen) {  // straight to the dead association
        const auto view = wire::parse_sctp_packet(p.bytes);
        pair.a.association->receive(env,
                                    {p.source, p.destination, view->header.source_port,
                                     view->header.destination_port, view->header.tag, view->chunks},
                                    effects);
    }
    CHECK(pair.capture().empty());
    CHECK(effects.happened().empty());
}

TEST_CASE(
    "END-3: the counts of associations move on edges of state only, replays never inflate them") {
    InState it{State::cookie_echoed};
    const auto echo = it.said.at(0);
    for (int i = 0; i < 50; ++i) it.deliver(echo);
    it.exchange();
    for (int i = 0; i < 50; ++i) it.chunk(kCookieAck);
    for (const Endpoint* e : {&it.a, &it.z}) CHECK(e->counters.get(Count::associations_up) == 1);
    it.a.shutdown();
    it.exchange();
    for (int i = 0; i < 50; ++i) {
        it.chunk(kShutdownAck);
        it.chunk(kShutdownComplete);
        it.chunk(6);
    }
    for (const Endpoint* e : {&it.a, &it.z}) {
        CHECK(e->counters.get(Count::associations_closed) == 1);
        CHECK(e->counters.get(Count::associations_aborted) == 0);
        CHECK(e->counters.get(Count::associations_lost) == 0);
    }
}

TEST_CASE(
    "PKT-7: what stands behind an ABORT or the last SHUTDOWN ACK in a packet is not looked at") {
    InState it{State::established};
    InFlight p = it.packet(it.own_tag());
    append_chunk(p, 6, 0, {});
    append_data(p, 1, 0, 0, 3, "after the end");
    append_chunk(p, 4, 0, {0, 1, 0, 8, 1, 2, 3, 4});
    it.a.input(p);
    CHECK(it.a.state() == State::closed);
    CHECK(it.a.messages.empty());
    CHECK(it.capture().empty());
    CHECK(it.a.drops(Drop::after_close) == 1);
    InState empty{State::established};  // an association that we end ourselves
    InFlight q = empty.packet(empty.own_tag());
    append_data(q, 1, 0, 0, 3, "");
    append_data(q, 2, 0, 0, 3, "after the end");
    empty.a.input(q);
    CHECK(empty.a.messages.empty());
    CHECK(empty.capture().at(0).types() == Types{6});
}

TEST_CASE("SHUTDOWN COMPLETE with DATA behind it is dropped whole", "[bdc-i-7-3]") {
    InState it{State::shutdown_ack_sent};
    const auto before = picture(it.a);
    InFlight p = it.packet(it.own_tag());
    append_chunk(p, kShutdownComplete, 0, {});
    append_data(p, 1, 0, 0, 3, "x");
    it.a.input(p);
    CHECK(picture(it.a) == before);
    CHECK(it.capture().empty());
    CHECK(it.a.drops(Drop::init_bundled) == 1);
}
