// SPDX-License-Identifier: Apache-2.0
// ERR: every code with its values and the diagnostic (RFC 4666 3.8.1); DATA that a worker refused;
// nothing unlisted.
#include <random>

#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

Story one_as() {
    return Story{{server(100, 10, {A, B})}};
}

Message with_octet(Message m, std::size_t at, std::uint8_t value) {
    m.at(at) = value;
    return m;
}

/// In DOWN, INACTIVE and ACTIVE in turn.
template <class Check>
void in_every_state(Check check) {
    Story s = one_as();
    s.associate(A);
    check(s);
    s.tell(A, aspup());
    check(s);
    s.tell(A, aspac());
    check(s);
    CHECK(s.asp(A) == AspState::active);
}

}  // namespace

TEST_CASE("SG 3: DUNA, DAVA, DRST and DUPU from an ASP get ERR 0x06 in every state") {
    in_every_state([](Story& s) {
        for (const unsigned type : {1u, 2u, 5u, 6u})
            CHECK(s.tell(A, message(2, type, {affected({10})})) ==
                  Said{"A ERR code=06 diagnostic=16"});
    });
}

TEST_CASE("SG 3: REG REQ and DEREG REQ get ERR 0x03 in every state: registration is off",
          "[m3ua-field-13]") {
    in_every_state([](Story& s) {
        CHECK(s.tell(A, message(9, 1, {parameter(0x207, Message(1000, 1))})) ==
              Said{"A ERR code=03 diagnostic=40"});
        CHECK(s.tell(A, message(9, 3, {rc({100})})) == Said{"A ERR code=03 diagnostic=16"});
    });
}

TEST_CASE(
    "SG 3: ERR is never answered in any state, whatever is wrong with it, and told to the events") {
    in_every_state([](Story& s) {
        s.gateway.take_changes();
        CHECK(s.tell(A, err(0x06)).empty());
        CHECK(s.gateway.take_changes().at(0).kind == ChangeKind::error_received);
        CHECK(s.tell(A, with_octet(err(0x06), 0, 2)).empty());
        CHECK(s.tell(A, with_octet(err(0x06), 7, 99)).empty());
        CHECK(s.tell(A, with_octet(err(0x06), 11, 3)).empty());
        CHECK(s.tell(A, Message{1, 0, 0, 0}).empty());
    });
}

TEST_CASE(
    "SG 3: acknowledgements and NTFY, which only an ASP receives, get ERR 0x06 in every state") {
    in_every_state([](Story& s) {
        for (const auto& [message_class, type] :
             {std::pair{3u, 4u}, {3u, 5u}, {4u, 3u}, {4u, 4u}, {0u, 1u}})
            CHECK(s.tell(A, message(message_class, type)) == Said{"A ERR code=06 diagnostic=8"});
    });
}

TEST_CASE("M01: another version gets ERR 0x01, in a message of our version",
          "[aspsm-i-001][asptm-i-001][mtr-i-001]") {
    in_every_state([](Story& s) {
        CHECK(s.tell(A, with_octet(aspup(), 0, 2)) == Said{"A ERR code=01 diagnostic=8"});
        CHECK(s.tell(A, with_octet(aspac({rc({100})}), 0, 2)) ==
              Said{"A ERR code=01 diagnostic=16"});
    });
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, with_octet(data({rc({100}), protocol_data()}), 0, 2))
              .at(0)
              .starts_with("A ERR code=01"));
}

TEST_CASE(
    "M01: an unknown class gets ERR 0x03, an unknown type in a known class 0x04",
    "[aspsm-i-002][aspsm-i-003][aspsm-i-004][asptm-i-006][asptm-i-008][mtr-i-002][mtr-i-003]") {
    in_every_state([](Story& s) {
        for (const unsigned unknown_class : {5u, 8u, 10u, 255u})
            CHECK(s.tell(A, message(unknown_class, 1)) == Said{"A ERR code=03 diagnostic=8"});
        for (const auto& [message_class, type] : {std::pair{0u, 2u},
                                                  {1u, 0u},
                                                  {1u, 2u},
                                                  {2u, 0u},
                                                  {2u, 7u},
                                                  {3u, 0u},
                                                  {3u, 7u},
                                                  {4u, 0u},
                                                  {4u, 5u}})
            CHECK(s.tell(A, message(message_class, type)) == Said{"A ERR code=04 diagnostic=8"});
    });
}

TEST_CASE(
    "M01: a length that lies gets ERR 0x07; uncounted padding and a set reserved octet are "
    "accepted") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, Message{1, 0, 3}) == Said{"A ERR code=07 diagnostic=3"});
    CHECK(s.tell(A, with_octet(aspup(), 7, 7)) == Said{"A ERR code=07 diagnostic=8"});
    CHECK(s.tell(A, with_octet(aspup(), 7, 12)) == Said{"A ERR code=07 diagnostic=8"});
    CHECK(s.tell(A, with_octet(aspup(), 4, 0xff)) == Said{"A ERR code=07 diagnostic=8"});
    CHECK(s.tell(A, with_octet(beat({parameter(9, {1, 2, 3, 4, 5})}), 7, 17)).size() == 1);
    CHECK(s.tell(A, with_octet(aspup(), 1, 0x55)).at(0) == "A ASPUP_ACK");
}

TEST_CASE("M02: malformed parameters get ERR 0x12 and change nothing") {
    Story s = one_as();
    s.inactive(A);
    const Message good = aspac({rc({100})});
    CHECK(s.tell(A, with_octet(good, 11, 3)) == Said{"A ERR code=12 diagnostic=16"});
    CHECK(s.tell(A, with_octet(good, 11, 12)) == Said{"A ERR code=12 diagnostic=16"});
    CHECK(s.tell(A, aspac({rc({})})) == Said{"A ERR code=12 diagnostic=12"});
    CHECK(s.tell(A, aspac({rc({100}), rc({100})})) == Said{"A ERR code=12 diagnostic=24"});
    CHECK(s.tell(A, aspac({parameter(0x0b, {2})})) == Said{"A ERR code=12 diagnostic=16"});
    CHECK(s.asp(A) == AspState::inactive);
    CHECK(s.counters.drops(Drop::m3ua_malformed) == 5);
}

TEST_CASE("M02: too many parameters or routing contexts get ERR 0x12") {
    Story s = one_as();
    s.inactive(A);
    Message contexts(4 * 257, 0);
    CHECK(s.tell(A, aspac({parameter(6, contexts)})) == Said{"A ERR code=12 diagnostic=40"});
    Message all;
    for (int i = 0; i < 1000; ++i) {
        const Message p = parameter(0x7777, {1, 2, 3, 4});
        all.insert(all.end(), p.begin(), p.end());
    }
    CHECK(s.tell(A, aspac({all})) == Said{"A ERR code=12 diagnostic=40"});
    CHECK(s.asp(A) == AspState::inactive);
}

TEST_CASE("SG 3: parameters that are not known are ignored") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({numbers(0x7777, {1}), rc({100}), parameter(4, {'h', 'i'})})).at(0) ==
          "A ASPAC_ACK mode=2 rc=100");
}

TEST_CASE("SG 3: DATA that a worker refused is answered with the ERR due") {
    Story s{{server(100, 10, {A}), server(200, 20, {A})}};
    s.active(A);
    const Message m = data({na(7), rc({8}), protocol_data()});
    CHECK(s.refuse(A, m, Drop::m3ua_unexpected) == Said{"A ERR code=06 diagnostic=40"});
    CHECK(s.refuse(A, m, Drop::m3ua_stream_zero, 0) == Said{"A ERR code=09 diagnostic=40"});
    CHECK(s.refuse(A, m, Drop::m3ua_bad_routing_context) ==
          Said{"A ERR code=19 rc=8 diagnostic=40"});
    CHECK(s.refuse(A, m, Drop::m3ua_bad_network_appearance) ==
          Said{"A ERR code=15 na=7 diagnostic=40"});
    CHECK(s.refuse(A, data({rc({100})}), Drop::m3ua_missing_parameter) ==
          Said{"A ERR code=16 diagnostic=16"});
    CHECK(s.refuse(A, m, Drop::m3ua_malformed) == Said{"A ERR code=12 diagnostic=40"});
    CHECK(s.refuse(A, m, Drop::mtp3_bad_point_code) == Said{"A ERR code=12 diagnostic=40"});
    CHECK(s.refuse(A, with_octet(m, 0, 3), Drop::m3ua_malformed) ==
          Said{"A ERR code=01 diagnostic=40"});
    CHECK(s.refuse(A, with_octet(m, 7, 200), Drop::m3ua_malformed) ==
          Said{"A ERR code=07 diagnostic=40"});
    CHECK(s.refuse(A, m, Drop::mtp3_bad_network_indicator).empty());
    CHECK(s.counters.drops(Drop::m3ua_malformed) == 0);  // the worker has counted
}

TEST_CASE(
    "SG 3: DATA in ASP-DOWN and ASP-INACTIVE that reaches the gateway itself gets ERR 0x06 and is "
    "counted") {
    Story s = one_as();
    const Message m = data({rc({100}), protocol_data()});
    s.associate(A);
    CHECK(s.tell(A, m, 1) == Said{"A ERR code=06 diagnostic=36"});
    s.tell(A, aspup());
    CHECK(s.tell(A, m, 1) == Said{"A ERR code=06 diagnostic=36"});
    s.tell(A, aspac());
    CHECK(s.tell(A, m, 0) == Said{"A ERR code=09 diagnostic=36"});
    CHECK(s.counters.drops(Drop::m3ua_unexpected) == 2);
    CHECK(s.counters.drops(Drop::m3ua_stream_zero) == 1);
}

TEST_CASE("M09: ERRs are budgeted: 100 at once, then 100 a second for each peer") {
    Story s = one_as();
    s.active(A);
    s.active(B);
    const Message m = data({rc({8}), protocol_data()});
    std::size_t answered = 0;
    for (int i = 0; i < 1000; ++i)
        answered += s.refuse(A, m, Drop::m3ua_bad_routing_context).size();
    CHECK(answered == 100);
    CHECK(s.refuse(B, m, Drop::m3ua_bad_routing_context).size() == 1);
    s.wait(1s);
    answered = 0;
    for (int i = 0; i < 1000; ++i)
        answered += s.refuse(A, m, Drop::m3ua_bad_routing_context).size();
    CHECK(answered == 100);
}

TEST_CASE(
    "random messages in every state under a seed: no crash, well-formed answers, ERR never "
    "answered") {
    for (const unsigned seed : {1u, 2u, 3u}) {
        std::mt19937 random{seed};
        Story s{{server(100, 10, {A, B}), server(std::nullopt, 20, {B, C}, TrafficMode::override_),
                 server(0, 30, {A, C}, TrafficMode::broadcast)}};
        const auto any = [&random](unsigned bound) {
            return static_cast<std::uint8_t>(random() % bound);
        };
        for (const PeerIndex peer : {A, B, C}) s.associate(peer);
        for (int step = 0; step < 20000; ++step) {
            constexpr unsigned kTags[] = {4,    6,    7,    9,     0x0b,  0x0c,  0x0d,
                                          0x11, 0x12, 0x13, 0x200, 0x205, 0x206, 0x210};
            constexpr std::uint32_t kValues[] = {0,  1,   2,          3,          10,        20,
                                                 30, 100, 0x18000000, 0x0500000a, 0xffffffff};
            Message body;
            for (unsigned n = any(4); n-- > 0;) {
                const Message p = any(4) == 0
                                      ? parameter(kTags[any(14)], Message(any(20), any(255)))
                                      : numbers(kTags[any(14)], {kValues[any(11)]});
                body.insert(body.end(), p.begin(), p.end());
            }
            Message m = message(any(11), any(8), {body});
            while (any(8) == 0)
                m[any(m.size() < 40 ? static_cast<unsigned>(m.size()) : 40)] = any(255);
            if (any(20) == 0) m.resize(any(static_cast<unsigned>(m.size()) + 1));
            const PeerIndex peer{any(3)};
            const bool is_err = m.size() >= 4 && m[2] == 0 && m[3] == 0;
            const Said said = s.tell(peer, m, any(3));
            if (is_err) REQUIRE(said.empty());
            for (const std::string& line : said) REQUIRE(line.find("bad") == std::string::npos);
            s.refuse(peer, m, static_cast<Drop>(random() % kDropCount), any(2));
            if (any(50) == 0) s.lose(peer), s.associate(peer);
            if (any(50) == 0) s.restart(peer);
            s.wait(std::chrono::milliseconds{any(100)});
            s.gateway.take_changes();
        }
    }
}
