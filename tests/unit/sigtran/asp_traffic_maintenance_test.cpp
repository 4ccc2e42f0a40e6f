// SPDX-License-Identifier: Apache-2.0
// Reaction table of the signaling gateway (SG 3): ASPAC and ASPIA, one test a cell; routing
// contexts; override.
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

Story one_as(TrafficMode traffic_mode = TrafficMode::loadshare) {
    return Story{{server(100, 10, {A, B}, traffic_mode)}};
}
Story two_as() {
    return Story{{server(100, 10, {A}), server(200, 20, {A})}};
}

}  // namespace

TEST_CASE("SG 3: ASPAC in ASP-DOWN is refused with 0x06 and not acknowledged") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, aspac({rc({100})})) == Said{"A ERR code=06 diagnostic=16"});
    CHECK(s.tell(A, aspac()) == Said{"A ERR code=06 diagnostic=8"});
    CHECK(s.asp(A) == AspState::down);
}

TEST_CASE(
    "SG 3: ASPAC of a served routing context in ASP-INACTIVE: Ack with mode and context, ACTIVE, "
    "NTFY",
    "[asptm-v-001][asptm-v-005]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({mode(2), rc({100})})) ==
          Said{"A ASPAC_ACK mode=2 rc=100", "A NTFY status=1/3 rc=100"});
    CHECK(s.asp(A) == AspState::active);
    CHECK(s.as() == AsState::active);
}

TEST_CASE("SG 3: ASPAC again in ASP-ACTIVE is acknowledged again, without NTFY",
          "[asptm-i-010][asptm-o-001]") {
    Story s = one_as();
    s.active(A);
    CHECK(s.tell(A, aspac({rc({100})})) == Said{"A ASPAC_ACK mode=2 rc=100"});
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2 rc=100"});
}

TEST_CASE("SG 3: the second ASP of an active AS gets Ack and NTFY; the first is not bothered") {
    Story s = one_as();
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(B, aspac({rc({100})})) ==
          Said{"B ASPAC_ACK mode=2 rc=100", "B NTFY status=1/3 rc=100"});
}

TEST_CASE("SG 3: the distribution shows the ASP before its Ack can be sent") {
    Story s = one_as();
    s.inactive(A);
    s.gateway.distribution();
    CHECK_FALSE(s.gateway.dirty());
    s.gateway.receive(A, StreamId{0}, aspac(), s.now);
    CHECK(s.gateway.dirty());
    const Distribution d = s.gateway.distribution();
    CHECK_FALSE(s.gateway.dirty());
    CHECK(d.servers[0].state == AsState::active);
    CHECK(d.servers[0].serving[255] == A);
    CHECK(d.peers[0].up);
    CHECK(d.peers[0].memberships.at(0).state == AspState::active);
}

TEST_CASE(
    "SG 3: ASPAC with some routing contexts unknown in ASP-INACTIVE: the served ones acknowledged, "
    "ERR 0x1a") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({7, 100, 8})})) == Said{"A ASPAC_ACK mode=2 rc=100",
                                                      "A ERR code=1a rc=7,8 diagnostic=24",
                                                      "A NTFY status=1/3 rc=100"});
}

TEST_CASE("SG 3: ASPAC with some routing contexts unknown in ASP-ACTIVE: Ack and ERR 0x1a") {
    Story s = one_as();
    s.active(A);
    CHECK(s.tell(A, aspac({rc({100, 8})})) ==
          Said{"A ASPAC_ACK mode=2 rc=100", "A ERR code=1a rc=8 diagnostic=20"});
}

TEST_CASE("SG 3: ASPAC with some routing contexts unknown in ASP-DOWN is refused with 0x06") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, aspac({rc({100, 8})})) == Said{"A ERR code=06 diagnostic=20"});
}

TEST_CASE("SG 3: ASPAC with only unknown routing contexts gets ERR 0x1a and no Ack",
          "[asptm-i-005]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({8})})) == Said{"A ERR code=1a rc=8 diagnostic=16"});
    CHECK(s.asp(A) == AspState::inactive);
    CHECK(s.counters.drops(Drop::m3ua_bad_routing_context) == 1);
}

TEST_CASE("SG 3: a routing context of an AS that has the peer not as a member is unknown to it") {
    Story s{{server(100, 10, {A}), server(200, 20, {B})}};
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({200})})) == Said{"A ERR code=1a rc=200 diagnostic=16"});
}

TEST_CASE(
    "SG 3: ASPAC whose mode conflicts with the AS: ERR 0x06 in DOWN, 0x05 else, and no change",
    "[asptm-i-004]") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, aspac({mode(1)})) == Said{"A ERR code=06 diagnostic=16"});
    s.tell(A, aspup());
    CHECK(s.tell(A, aspac({mode(1), rc({100})})) == Said{"A ERR code=05 rc=100 diagnostic=24"});
    CHECK(s.asp(A) == AspState::inactive);
    s.tell(A, aspac());
    CHECK(s.tell(A, aspac({mode(3)})) == Said{"A ERR code=05 rc=100 diagnostic=16"});
    CHECK(s.asp(A) == AspState::active);
}

TEST_CASE("SG 3: a traffic mode that does not exist gets ERR 0x05", "[asptm-i-003]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({mode(0)})) == Said{"A ERR code=05 diagnostic=16"});
    CHECK(s.tell(A, aspac({mode(4)})) == Said{"A ERR code=05 diagnostic=16"});
}

TEST_CASE("SG 3: of two AS with different modes only the one that fits the ASPAC is activated") {
    Story s{{server(100, 10, {A}), server(200, 20, {A}, TrafficMode::override_)}};
    s.inactive(A);
    CHECK(s.tell(A, aspac({mode(1)})) == Said{"A DUNA rc=200 pc=10", "A ASPAC_ACK mode=1 rc=200",
                                              "A ERR code=05 rc=100 diagnostic=16",
                                              "A NTFY status=1/3 rc=200"});
}

TEST_CASE(
    "SG 3: ASPAC without routing context activates every AS of the peer, and the Ack names them",
    "[asptm-v-003]") {
    Story s = two_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2 rc=100,200",
                                     "A NTFY status=1/3 rc=100,200", "A DAVA rc=100 pc=20",
                                     "A DAVA rc=200 pc=10"});
}

TEST_CASE("SG 3: ASPAC without routing context over AS of several modes: one Ack for each mode") {
    Story s{
        {server(100, 10, {A}), server(200, 20, {A}, TrafficMode::override_), server(300, 30, {A})}};
    s.inactive(A);
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2 rc=100,300", "A ASPAC_ACK mode=1 rc=200",
                                     "A NTFY status=1/3 rc=100,200,300", "A DAVA rc=100 pc=20,30",
                                     "A DAVA rc=200 pc=10,30", "A DAVA rc=300 pc=10,20"});
}

TEST_CASE(
    "SG 3: no routing context and no configuration that identifies one: ASPAC 0x19, ASPIA 0x1a") {
    Story s{{server(100, 10, {B})}};
    s.associate(A);
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK"});
    CHECK(s.tell(A, aspac()) == Said{"A ERR code=19 diagnostic=8"});
    CHECK(s.tell(A, aspia()) == Said{"A ERR code=1a diagnostic=8"});
}

TEST_CASE("quirk etsi_rc_error: an unknown routing context in ASPAC gets 0x19") {
    PeerSettings etsi;
    etsi.quirks.etsi_rc_error = true;
    Story s{{server(100, 10, {A})}, {etsi}};
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({8})})) == Said{"A ERR code=19 rc=8 diagnostic=16"});
}

TEST_CASE("decision 2: routing context 0 is a value") {
    Story s{{server(0, 10, {A}), server(1, 20, {A})}};
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({0})})) ==
          Said{"A DUNA rc=0 pc=20", "A ASPAC_ACK mode=2 rc=0", "A NTFY status=1/3 rc=0"});
    CHECK(s.asp(A, 0) == AspState::active);
    CHECK(s.asp(A, 1) == AspState::inactive);
}

TEST_CASE(
    "decision 2: an AS without routing context has none in Ack and NTFY, and 0 does not name it") {
    Story s{{server(std::nullopt, 10, {A})}};
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({0})})) == Said{"A ERR code=1a rc=0 diagnostic=16"});
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2", "A NTFY status=1/3"});
    CHECK(s.tell(A, aspia()) == Said{"A ASPIA_ACK", "A NTFY status=1/4"});
}

TEST_CASE("decision 1: the state is kept per (AS, ASP)") {
    Story s = two_as();
    s.inactive(A);
    s.tell(A, aspac({rc({100})}));
    CHECK(s.asp(A, 0) == AspState::active);
    CHECK(s.asp(A, 1) == AspState::inactive);
    s.tell(A, aspac({rc({200})}));
    s.tell(A, aspia({rc({100})}));
    CHECK(s.asp(A, 0) == AspState::inactive);
    CHECK(s.asp(A, 1) == AspState::active);
}

TEST_CASE("SG 3: a routing context named twice is acknowledged once") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspac({rc({100, 100})})).at(0) == "A ASPAC_ACK mode=2 rc=100");
}

TEST_CASE("SG 3: ASPIA in ASP-DOWN is refused with 0x06") {
    Story s = one_as();
    s.associate(A);
    CHECK(s.tell(A, aspia()) == Said{"A ERR code=06 diagnostic=8"});
}

TEST_CASE("SG 3: ASPIA in ASP-INACTIVE is acknowledged, again and again", "[asptm-o-003]") {
    Story s = one_as();
    s.inactive(A);
    CHECK(s.tell(A, aspia({rc({100})})) == Said{"A ASPIA_ACK rc=100"});
    CHECK(s.tell(A, aspia()) == Said{"A ASPIA_ACK rc=100"});
}

TEST_CASE(
    "SG 3: ASPIA in ASP-ACTIVE, not the last one: Ack, INACTIVE, its traffic goes to the other") {
    Story s = one_as();
    s.active(A);
    s.active(B);
    CHECK(s.tell(A, aspia({rc({100})})) == Said{"A ASPIA_ACK rc=100"});
    CHECK(s.asp(A) == AspState::inactive);
    CHECK(s.as() == AsState::active);
    const Distribution d = s.gateway.distribution();
    for (const PeerIndex peer : d.servers[0].serving) REQUIRE(peer == B);
}

TEST_CASE(
    "SG 3: ASPIA of the last ASP: Ack, AS-PENDING with T(r), NTFY AS-Pending to all that are up",
    "[asptm-v-006][asptm-v-008]") {
    Story s = one_as();
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(A, aspia({rc({100})})) ==
          Said{"A ASPIA_ACK rc=100", "A NTFY status=1/4 rc=100", "B NTFY status=1/4 rc=100"});
    CHECK(s.as() == AsState::pending);
    CHECK(s.gateway.next_deadline() == s.now + 2s);
}

TEST_CASE(
    "SG 3: ASPIA with unknown routing contexts: the served ones acknowledged, ERR 0x19 with the "
    "rest") {
    Story s = two_as();
    s.active(A);
    CHECK(s.tell(A, aspia({rc({100, 8})})) == Said{"A ASPIA_ACK rc=100",
                                                   "A ERR code=19 rc=8 diagnostic=20",
                                                   "A NTFY status=1/4 rc=100"});
    CHECK(s.tell(A, aspia({rc({8})})) == Said{"A ERR code=19 rc=8 diagnostic=16"});
}

TEST_CASE("override: the displaced ASP hears that an alternate is active, with its identifier",
          "[asptm-v-013][asptm-v-014]") {
    Story s = one_as(TrafficMode::override_);
    s.active(A);
    s.associate(B);
    s.tell(B, aspup({asp_id(72)}));
    CHECK(s.tell(B, aspac({mode(1), rc({100})})) == Said{"B ASPAC_ACK mode=1 rc=100",
                                                         "A NTFY status=2/2 asp=72 rc=100",
                                                         "B NTFY status=1/3 rc=100"});
    CHECK(s.asp(A) == AspState::inactive);
    CHECK(s.as() == AsState::active);
    CHECK(s.gateway.distribution().servers[0].serving[9] == B);
}

TEST_CASE("override: an ASPAC of the one that serves displaces nobody") {
    Story s = one_as(TrafficMode::override_);
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=1 rc=100"});
}

TEST_CASE("broadcast: the distribution lists all active ASPs") {
    Story s = one_as(TrafficMode::broadcast);
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(B, aspac({mode(3)})) ==
          Said{"B ASPAC_ACK mode=3 rc=100", "B NTFY status=1/3 rc=100"});
    const AsView v = s.gateway.distribution().servers[0];
    CHECK(v.active == std::vector<PeerIndex>{A, B});
    CHECK(v.mode == TrafficMode::broadcast);
    CHECK(v.serving[3] == A);
}

TEST_CASE("SG 3: ASPAC in the mode of its AS is acknowledged in each mode, in another refused 0x05",
          "[m3ua-field-04]") {
    for (const auto of_as :
         {TrafficMode::override_, TrafficMode::loadshare, TrafficMode::broadcast}) {
        for (const auto asked : {1u, 2u, 3u}) {
            Story s = one_as(of_as);
            s.inactive(A);
            const Said said = s.tell(A, aspac({mode(asked), rc({100})}));
            const bool fits = asked == static_cast<std::uint32_t>(of_as);
            CHECK(said.front() == (fits ? "A ASPAC_ACK mode=" + std::to_string(asked) + " rc=100"
                                        : "A ERR code=05 rc=100 diagnostic=24"));
            CHECK(s.asp(A) == (fits ? AspState::active : AspState::inactive));
        }
    }
}
