// SPDX-License-Identifier: Apache-2.0
// SSNM (RFC 4666 3.4, 4.5): DAUD, SCON, DUNA and DAVA to the others, and answers to DATA that
// cannot be delivered.
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

/// A serves 10, B serves 20, C both.
Story two_as() {
    return Story{{server(100, 10, {A, C}), server(200, 20, {B, C})}};
}

constexpr std::uint32_t range(std::uint32_t point_code, std::uint32_t mask) {
    return mask << 24 | point_code;
}

AsSettings serving_range(std::uint32_t context, std::uint32_t dpc, std::uint8_t mask_bits,
                         PeerIndex member) {
    AsSettings s = server(context, dpc, {member});
    s.keys[0].mask_bits = mask_bits;
    return s;
}

}  // namespace

TEST_CASE("SG 3: DAUD in ASP-DOWN and ASP-INACTIVE gets ERR 0x06") {
    Story s = two_as();
    s.associate(A);
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A ERR code=06 diagnostic=16"});
    s.tell(A, aspup());
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A ERR code=06 diagnostic=16"});
    CHECK(s.tell(A, daud({rc({100}), affected({20})})) == Said{"A ERR code=06 diagnostic=24"});
}

TEST_CASE("SG 3: DAUD in ASP-ACTIVE: DUNA, then DAVA, with the same routing context") {
    Story s = two_as();
    s.active(A);
    CHECK(s.tell(A, daud({rc({100}), affected({20, 10})})) ==
          Said{"A DUNA rc=100 pc=20", "A DAVA rc=100 pc=10"});
    CHECK(s.tell(A, daud({affected({10})})).empty());  // asked within the second
    s.active(B);
    CHECK(s.tell(A, daud({rc({100}), affected({20})})) == Said{"A DAVA rc=100 pc=20"});
}

TEST_CASE("decision 9: DAUD for an unknown point code is answered DUNA", "[m3ua-field-23]") {
    Story s = two_as();
    s.active(A);
    CHECK(s.tell(A, daud({affected({999})})) == Said{"A DUNA pc=999"});
}

TEST_CASE(
    "SG 3: DAUD for an AS that is PENDING is answered DUNA, and its return is told with DAVA") {
    Story s = two_as();
    s.active(A);
    s.active(B);
    s.lose(B);
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A DUNA pc=20"});
    s.inactive(B);
    CHECK(s.tell(B, aspac({rc({200})})) ==
          Said{"B ASPAC_ACK mode=2 rc=200", "B NTFY status=1/3 rc=200", "A DAVA rc=100 pc=20"});
}

TEST_CASE("SG 3: DAUD for a range is answered as a range, its exceptions after it") {
    Story s{{server(100, 1000, {A}), serving_range(200, 64, 4, B), server(300, 67, {C})}};
    s.active(A);
    CHECK(s.tell(A, daud({affected({range(64, 4)})})) == Said{"A DUNA pc=64/4"});
    s.active(B);
    CHECK(s.tell(A, daud({affected({range(64, 4)})})) == Said{"A DAVA pc=64/4", "A DUNA pc=67"});
    s.active(C);
    CHECK(s.tell(A, daud({affected({range(64, 4)})})) == Said{"A DAVA pc=64/4"});
    s.wait(1s);
    CHECK(s.tell(A, daud({affected({range(0, 255)})})) ==
          Said{"A DUNA pc=0/24", "A DAVA pc=67,1000,64/4"});
    CHECK(s.tell(A, daud({affected({70, range(68, 2)})})) == Said{"A DAVA pc=70,68/2"});
}

TEST_CASE("SG 3: a congested point code gets SCON, then DAVA; the route itself stays as it is") {
    Story s = two_as();
    s.active(A);
    s.active(B);
    CHECK(s.tell(B, scon({rc({200}), affected({5}), congestion(2)})) ==
          Said{"A SCON rc=100 pc=20 level=2"});
    CHECK(s.as(1) == AsState::active);
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A SCON pc=20 level=2", "A DAVA pc=20"});
    CHECK(s.tell(B, scon({rc({200}), affected({5}), congestion(0)})) ==
          Said{"A SCON rc=100 pc=20 level=0"});
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A DAVA pc=20"});
}

TEST_CASE("SG 3: an AS is congested only when all of its active ASPs are") {
    Story s = two_as();
    s.active(A);
    s.active(B);
    s.inactive(C);
    s.tell(C, aspac({rc({200})}));
    s.tell(B, scon({rc({200}), affected({5})}));
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A DAVA pc=20"});
    s.tell(C, scon({rc({200}), affected({5}), congestion(3)}));
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A SCON pc=20 level=1", "A DAVA pc=20"});
}

TEST_CASE("SG 3: SCON in ASP-DOWN and ASP-INACTIVE gets ERR 0x06") {
    Story s = two_as();
    s.associate(A);
    CHECK(s.tell(A, scon({affected({5})})) == Said{"A ERR code=06 diagnostic=16"});
    s.tell(A, aspup());
    CHECK(s.tell(A, scon({affected({5})})) == Said{"A ERR code=06 diagnostic=16"});
}

TEST_CASE(
    "SG 3: SSNM without Affected Point Code 0x16, of a wrong length 0x12, with an unknown level "
    "0x12") {
    Story s = two_as();
    s.active(A);
    CHECK(s.tell(A, daud()) == Said{"A ERR code=16 diagnostic=8"});
    CHECK(s.tell(A, scon()) == Said{"A ERR code=16 diagnostic=8"});
    CHECK(s.tell(A, daud({parameter(0x12, {1, 2, 3})})) == Said{"A ERR code=12 diagnostic=16"});
    CHECK(s.tell(A, scon({affected({5}), congestion(4)})) == Said{"A ERR code=12 diagnostic=24"});
}

TEST_CASE(
    "SG 3: SSNM with an unknown routing context 0x19, with an unknown network appearance 0x15") {
    Story s = two_as();
    s.active(A);
    CHECK(s.tell(A, daud({rc({8}), affected({20})})) == Said{"A ERR code=19 rc=8 diagnostic=24"});
    CHECK(s.tell(A, daud({na(3), rc({100}), affected({20})})) ==
          Said{"A ERR code=15 na=3 diagnostic=32"});
}

TEST_CASE("decision 2: DAUD answers carry the network appearance that was asked with") {
    AsSettings with = server(100, 10, {A});
    with.network_appearance = 0;
    Story s{{with}};
    s.active(A);
    CHECK(s.tell(A, daud({na(0), rc({100}), affected({10})})) == Said{"A DAVA na=0 rc=100 pc=10"});
}

TEST_CASE("quirk snm_in_inactive: DAUD is answered in ASP-INACTIVE, not in ASP-DOWN") {
    PeerSettings early;
    early.quirks.snm_in_inactive = true;
    Story s{{server(100, 10, {A})}, {early}};
    s.associate(A);
    CHECK(s.tell(A, daud({affected({10})})) == Said{"A ERR code=06 diagnostic=16"});
    s.tell(A, aspup());
    CHECK(s.tell(A, daud({affected({10})})) == Said{"A DUNA pc=10"});
}

TEST_CASE(
    "M10, decision 8: a DAUD flood gets one answer a second for each point code, 256 in all") {
    Story s = two_as();
    s.active(A);
    std::size_t answered = 0;
    for (int i = 0; i < 500; ++i) answered += s.tell(A, daud({affected({20})})).size();
    CHECK(answered == 1);
    s.wait(1s);
    CHECK(s.tell(A, daud({affected({20})})).size() == 1);

    s.wait(1s);
    Message list(4 * 10000, 0);
    for (std::size_t i = 0; i < 10000; ++i) {
        list[4 * i + 2] = static_cast<std::uint8_t>(i >> 8);
        list[4 * i + 3] = static_cast<std::uint8_t>(i);
    }
    const Said said = s.tell(A, daud({parameter(0x12, list)}));
    REQUIRE(said.size() == 2);
    CHECK(said[0].ends_with(",255"));
    CHECK(s.tell(A, daud({affected({7777})})).empty());
}

TEST_CASE(
    "DAVA goes to the active ASPs of the other AS when an AS becomes available, DUNA when T(r) is "
    "over",
    "[ssnm-003][ssnm-004][m3ua-field-18]") {
    Story s = two_as();
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(B, aspac()) ==
          Said{"B ASPAC_ACK mode=2 rc=200", "B NTFY status=1/3 rc=200", "A DAVA rc=100 pc=20"});
    CHECK(s.lose(B).empty());  // PENDING: its traffic waits
    CHECK(s.wait(2s) == Said{"A DUNA rc=100 pc=20"});
    s.inactive(B);
    CHECK(s.tell(B, aspac()).back() == "A DAVA rc=100 pc=20");
}

TEST_CASE("an AS that comes back within T(r) is not talked about") {
    Story s = two_as();
    s.active(A);
    s.active(B);
    s.tell(B, aspia());
    CHECK(s.tell(B, aspac()) == Said{"B ASPAC_ACK mode=2 rc=200", "B NTFY status=1/3 rc=200"});
}

TEST_CASE("ASPs that are not active, or serve the same AS only, are not told") {
    Story s{{server(100, 10, {A, B}), server(200, 20, {C, D})}};
    s.active(A);
    s.inactive(C);
    s.inactive(D);
    s.inactive(B);
    CHECK(s.tell(B, aspac()) ==
          Said{"B DUNA rc=100 pc=20", "B ASPAC_ACK mode=2 rc=100", "B NTFY status=1/3 rc=100"});
}

TEST_CASE("an ASP that is active in both AS is told of each in the name of the other") {
    Story s = two_as();
    s.inactive(C);
    CHECK(s.tell(C, aspac()) == Said{"C ASPAC_ACK mode=2 rc=100,200",
                                     "C NTFY status=1/3 rc=100,200", "C DAVA rc=100 pc=20",
                                     "C DAVA rc=200 pc=10"});
}

TEST_CASE("AS of another instance are not told") {
    AsSettings elsewhere = server(200, 20, {B});
    elsewhere.instance = 1;
    Story s{{server(100, 10, {A}), elsewhere}};
    s.active(A);
    s.inactive(B);
    CHECK(s.tell(B, aspac()).size() == 2);
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A DUNA pc=20"});
}

TEST_CASE(
    "decision 8: when many AS come up at once, the others are told in lists and not at once of "
    "each",
    "[m3ua-field-20]") {
    std::vector<AsSettings> servers;
    std::vector<PeerSettings> peers(200);
    for (std::uint32_t i = 0; i < 200; ++i) servers.push_back(server(i, 1000 + i, {PeerIndex{i}}));
    Story s{servers, peers};
    std::size_t messages = 0;
    for (std::uint32_t i = 0; i < 200; ++i) {
        s.gateway.association_up(PeerIndex{i}, 16, s.now);
        s.gateway.receive(PeerIndex{i}, StreamId{0}, aspup(), s.now);
        s.gateway.receive(PeerIndex{i}, StreamId{0}, aspac(), s.now);
        messages += s.gateway.take_outgoing().size() - 4;  // two Acks, two NTFY
    }
    CHECK(messages < 1300);
    REQUIRE(s.gateway.next_deadline() != kNever);
    s.now = s.gateway.next_deadline();
    s.gateway.advance(s.now);
    std::size_t told = 0;
    for (const Outgoing& o : s.gateway.take_outgoing())
        told += text_of(o.bytes).find(",1199") != std::string::npos ? 1 : 0;
    CHECK(told == 199);
    CHECK(s.gateway.next_deadline() == kNever);
}

TEST_CASE(
    "RFC 4666 3.4.1: DATA to a destination without route or without AS is answered DUNA, once a "
    "second") {
    Story s = two_as();
    s.active(A);
    const Message m = data({rc({100}), protocol_data({.opc = 10, .dpc = 20})});
    CHECK(s.refuse(A, m, Drop::as_unavailable) == Said{"A DUNA rc=100 pc=20"});
    CHECK(s.refuse(A, m, Drop::as_unavailable).empty());
    s.wait(1s);
    CHECK(s.refuse(A, m, Drop::mtp3_no_route) == Said{"A DUNA rc=100 pc=20"});
}

TEST_CASE("RFC 4666 3.4.5: DATA to a user of our own point code is answered DUPU",
          "[m3ua-field-22]") {
    Story s = two_as();
    s.active(A);
    const Message m = data({rc({100}), protocol_data({.opc = 10, .dpc = 1, .si = 5})});
    CHECK(s.refuse(A, m, Drop::mtp3_local_user) == Said{"A DUPU rc=100 pc=1 cause=1 user=5"});
}

TEST_CASE("RFC 4666 3.4.4: SCON with a concerned destination is passed on to whose messages met it",
          "[m3ua-field-21]") {
    // C is not congested, so that nobody else is told.
    Story s{{server(100, 10, {A, C}), server(200, 20, {B}), server(300, 30, {D})}};
    for (const PeerIndex peer : {A, B, C, D}) s.active(peer);
    const auto concerned = [](std::uint32_t pc) { return numbers(0x0206, {pc}); };
    CHECK(s.tell(A, scon({rc({100}), affected({10}), concerned(20), congestion(2)})) ==
          Said{"B SCON rc=200 pc=10 level=2"});
    // Only about point codes of its own, and not to itself or nobody.
    CHECK(s.tell(A, scon({rc({100}), affected({30}), concerned(20), congestion(2)})).empty());
    CHECK(s.tell(A, scon({rc({100}), affected({10}), concerned(10), congestion(2)})).empty());
    CHECK(s.tell(A, scon({rc({100}), affected({10}), concerned(99), congestion(2)})).empty());
}

TEST_CASE("RFC 4666 4.3.4.4: ASPIA of the last ASP: the others are told DUNA when T(r) is over",
          "[m3ua-field-19]") {
    Story s = two_as();
    s.active(A);
    s.active(B);
    CHECK(s.tell(B, aspia()) == Said{"B ASPIA_ACK rc=200", "B NTFY status=1/4 rc=200"});
    CHECK(s.wait(2s) == Said{"B NTFY status=1/2 rc=200", "A DUNA rc=100 pc=20"});
}
