// SPDX-License-Identifier: Apache-2.0
// Reaction table of the signaling gateway (SG 3): ASPUP, ASPDN, BEAT and the loss of the
// association, one test a cell.
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

Story one_as() {
    return Story{{server(100, 10, {A, B})}};
}

PeerSettings with_asp_id(std::uint32_t id) {
    PeerSettings p;
    p.asp_id = id;
    return p;
}

}  // namespace

TEST_CASE(
    "SG 3: ASPUP in ASP-DOWN is acknowledged, the ASP is INACTIVE, then it hears the AS state",
    "[aspsm-v-001][aspsm-v-003]") {
    Story s = one_as();
    CHECK(s.associate(A).empty());
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK", "A NTFY status=1/2 rc=100"});
    CHECK(s.asp(A) == AspState::inactive);
    CHECK(s.as() == AsState::inactive);
}

TEST_CASE("SG 3: ASPUP in ASP-INACTIVE is acknowledged and nothing else happens", "[aspsm-o-001]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK"});
    CHECK(s.asp(A) == AspState::inactive);
}

TEST_CASE(
    "SG 3: ASPUP in ASP-ACTIVE gets Ack and ERR 0x06, the ASP is INACTIVE in all its AS, then "
    "NTFY",
    "[aspsm-o-003]") {
    Story s{{server(100, 10, {A}), server(200, 20, {A})}};
    s.active(A);
    CHECK(s.tell(A, aspup()) ==
          Said{"A ASPUP_ACK", "A ERR code=06 diagnostic=8", "A NTFY status=1/4 rc=100,200"});
    CHECK(s.asp(A, 0) == AspState::inactive);
    CHECK(s.asp(A, 1) == AspState::inactive);
}

TEST_CASE(
    "SG 3: ASPUP while ACTIVE in one AS of two makes it INACTIVE there; the other is not touched") {
    Story s{{server(100, 10, {A}), server(200, 20, {A})}};
    s.inactive(A);
    s.tell(A, aspac({rc({200})}));
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK", "A ERR code=06 diagnostic=8",
                                     "A NTFY status=1/2 rc=100", "A NTFY status=1/4 rc=200"});
}

TEST_CASE("SG 3: ASPDN in ASP-DOWN is acknowledged", "[aspsm-o-004]") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, aspdn()) == Said{"A ASPDN_ACK"});
    CHECK(s.tell(A, aspdn()) == Said{"A ASPDN_ACK"});
}

TEST_CASE("SG 3: ASPDN in ASP-INACTIVE is acknowledged and the ASP is DOWN", "[aspsm-v-005]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspdn()) == Said{"A ASPDN_ACK"});
    CHECK(s.asp(A) == AspState::down);
    CHECK(s.as() == AsState::down);
}

TEST_CASE(
    "SG 3: ASPDN in ASP-ACTIVE halts its traffic before the Ack, and the others hear the AS "
    "state") {
    Story s = one_as();
    s.active(A);
    s.inactive(B);
    s.gateway.distribution();
    s.gateway.receive(A, StreamId{0}, aspdn(), s.now);
    CHECK(s.gateway.dirty());  // published before what follows is sent
    CHECK(s.gateway.distribution().servers[0].serving[5] == kNoPeer);
    CHECK(s.heard() == Said{"A ASPDN_ACK", "B NTFY status=1/4 rc=100"});
    CHECK(s.asp(A) == AspState::down);
}

TEST_CASE("SG 3: BEAT is answered in ASP-DOWN, ASP-INACTIVE and ASP-ACTIVE with the same data",
          "[asptm-v-010][asptm-v-011][m3ua-field-01]") {
    Story s = one_as();
    const Message m = beat({parameter(0x0009, {1, 2, 3, 4, 5})});
    const Said echo{"A BEAT_ACK heartbeat=0102030405"};
    s.associate(A);
    CHECK(s.tell(A, m) == echo);
    s.tell(A, aspup());
    CHECK(s.tell(A, m) == echo);
    s.tell(A, aspac());
    CHECK(s.tell(A, m) == echo);
    CHECK(s.tell(A, beat()) == Said{"A BEAT_ACK"});
}

TEST_CASE(
    "M06: BEAT with 60,000 octets is refused with 0x12, one with 4,096 is echoed, an unasked Ack "
    "is ignored") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, beat({parameter(0x0009, Message(60000, 7))})) ==
          Said{"A ERR code=12 diagnostic=40"});
    CHECK(s.tell(A, beat({parameter(0x0009, Message(4096, 7))}))
              .at(0)
              .starts_with("A BEAT_ACK heartbeat=0707"));
    CHECK(s.tell(A, message(3, 6, {parameter(0x0009, {1})})).empty());
}

TEST_CASE("SG 3: the association lost in ASP-DOWN is nobody's business") {
    Story s = one_as();
    s.associate(A);
    s.inactive(B);
    CHECK(s.lose(A).empty());
    CHECK(s.as() == AsState::inactive);
}

TEST_CASE("SG 3: the association lost in ASP-INACTIVE: DOWN, and the others hear ASP Failure",
          "[asptm-i-009]") {
    Story s = one_as();
    s.inactive(A);
    s.inactive(B);
    CHECK(s.lose(A) == Said{"B NTFY status=2/3 rc=100"});
    CHECK(s.asp(A) == AspState::down);
}

TEST_CASE(
    "SG 3: the association lost in ASP-ACTIVE: ASP Failure with its identifier, then AS-PENDING") {
    Story s{{server(100, 10, {A, B})}, {with_asp_id(71), with_asp_id(72)}};
    s.associate(A);
    s.tell(A, aspup({asp_id(71)}));
    s.tell(A, aspac());
    s.associate(B);
    s.tell(B, aspup({asp_id(72)}));
    CHECK(s.lose(A) == Said{"B NTFY status=2/3 asp=71 rc=100", "B NTFY status=1/4 rc=100"});
    CHECK(s.as() == AsState::pending);
}

TEST_CASE(
    "decision 12: a restart of the association puts the ASP to DOWN in all its AS and tells the "
    "others") {
    Story s{{server(100, 10, {A, B}), server(200, 20, {A})}};
    s.active(A);
    s.active(B);
    CHECK(s.restart(A) == Said{"B NTFY status=2/3 rc=100"});
    CHECK(s.asp(A, 0) == AspState::down);
    CHECK(s.asp(A, 1) == AspState::down);
    CHECK(s.as(0) == AsState::active);
    CHECK(s.as(1) == AsState::pending);
}

TEST_CASE("decision 12: after a restart the ASP begins with ASPUP again") {
    Story s = one_as();
    s.active(A);
    s.restart(A);
    CHECK(s.asp(A) == AspState::down);
    CHECK(s.tell(A, aspac({rc({100})})) == Said{"A ERR code=06 diagnostic=16"});
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK", "A NTFY status=1/4 rc=100"});
}

TEST_CASE(
    "decision 6: what comes from a peer without an association is not answered, and counted") {
    Story s = one_as();
    CHECK(s.tell(A, aspup()).empty());
    CHECK(s.counters.drops(Drop::m3ua_unexpected) == 1);
    CHECK(s.tell(PeerIndex{999}, aspup()).empty());
}

TEST_CASE(
    "SG 3: a blocked peer keeps its association, its ASPUP is refused with 0x0d, its BEAT is "
    "answered",
    "[aspsm-v-009][m3ua-field-25]") {
    PeerSettings blocked;
    blocked.admin = Admin::blocked;
    Story s{{server(100, 10, {A})}, {blocked}};
    s.associate(A);
    CHECK(s.tell(A, aspup()) == Said{"A ERR code=0d diagnostic=8"});
    CHECK(s.tell(A, beat()) == Said{"A BEAT_ACK"});
    CHECK(s.tell(A, aspac()) == Said{"A ERR code=06 diagnostic=8"});
    CHECK(s.asp(A) == AspState::down);
}

TEST_CASE("M11: ASPUP without the identifier that the configuration names is refused with 0x0e") {
    Story s{{server(100, 10, {A})}, {with_asp_id(71)}};
    s.associate(A);
    CHECK(s.tell(A, aspup()) == Said{"A ERR code=0e diagnostic=8"});
    CHECK(s.asp(A) == AspState::down);
    CHECK(s.tell(A, aspup({asp_id(71)})).at(0) == "A ASPUP_ACK");
}

TEST_CASE(
    "M11: ASPUP with another identifier than configured, or with that of another ASP of the AS: "
    "0x0f") {
    Story s{{server(100, 10, {A, B, C})}, {with_asp_id(71)}};
    s.associate(A);
    CHECK(s.tell(A, aspup({asp_id(72)})) == Said{"A ERR code=0f diagnostic=16"});
    s.associate(B);
    CHECK(s.tell(B, aspup({asp_id(71)})) == Said{"B ERR code=0f diagnostic=16"});
    CHECK(s.tell(B, aspup({asp_id(73)})).at(0) == "B ASPUP_ACK");
    s.associate(C);
    CHECK(s.tell(C, aspup({asp_id(73)})) == Said{"C ERR code=0f diagnostic=16"});
}

TEST_CASE(
    "decision 11: ASPUP is taken on any stream, and ASPAC in the same moment before its Ack is "
    "seen") {
    Story s = one_as();
    s.associate(A);
    s.gateway.receive(A, StreamId{3}, aspup(), s.now);
    s.gateway.receive(A, StreamId{9}, aspac({rc({100})}), s.now);
    CHECK(s.heard() == Said{"A ASPUP_ACK", "A NTFY status=1/2 rc=100", "A ASPAC_ACK mode=2 rc=100",
                            "A NTFY status=1/3 rc=100"});
}

TEST_CASE("quirk no_notify: that peer gets no NTFY, the others do") {
    PeerSettings deaf;
    deaf.quirks.no_notify = true;
    Story s{{server(100, 10, {A, B})}, {deaf}};
    s.associate(A);
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK"});
    s.inactive(B);
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2 rc=100", "B NTFY status=1/3 rc=100"});
}

TEST_CASE("M04: an ASPUP flood is damped, and the peer is served again a second later") {
    Story s = one_as();
    s.associate(A);
    std::size_t answered = 0;
    for (int i = 0; i < 10000; ++i) answered += s.tell(A, aspup()).empty() ? 0 : 1;
    CHECK(answered == 1000);
    CHECK(s.counters.drops(Drop::m3ua_limited) == 9000);
    s.wait(1s);
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK"});
}
