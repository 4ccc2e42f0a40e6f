// SPDX-License-Identifier: Apache-2.0
// What ASPs are told of destinations (RFC 4666 3.4, 4.3.4.3, 4.5.1): DUNA, DRST, SCON and DAVA
// before an ASPAC Ack and afterwards; rounds and slices.
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

Story three_as() {
    AsSettings two_needed = server(200, 20, {B, C});
    two_needed.required_active = 2;
    return Story{{server(100, 10, {A}), two_needed, server(300, 30, {D})}};
}

}  // namespace

TEST_CASE("RFC 4666 4.3.4.3: DUNA, DRST and SCON for what is not well go before the ASPAC Ack") {
    Story s = three_as();
    s.active(B);
    s.active(C);
    s.tell(C, aspia());  // one of the two that are needed
    s.tell(B, scon({affected({20}), congestion(1)}));
    s.inactive(A);
    CHECK(s.tell(A, aspac()) == Said{"A DUNA rc=100 pc=30", "A DRST rc=100 pc=20",
                                     "A SCON rc=100 pc=20 level=1", "A ASPAC_ACK mode=2 rc=100",
                                     "A NTFY status=1/3 rc=100", "B DAVA rc=200 pc=10"});
}

TEST_CASE("RFC 4666 3.4.6, ETSI ssnm-002: DRST when an AS has fewer ASPs than it needs") {
    Story s = three_as();
    s.active(A);
    s.active(B);
    s.inactive(C);
    CHECK(s.tell(C, aspac()).back() == "A DAVA rc=100 pc=20");
    CHECK(s.tell(C, aspia()).back() == "A DRST rc=100 pc=20");
    CHECK(s.tell(A, daud({affected({20})})) == Said{"A DRST pc=20"});
    CHECK(s.tell(C, aspac()).back() == "A DAVA rc=100 pc=20");
}

TEST_CASE(
    "RFC 4666 3.4.4, ETSI ssnm-001: SCON at the onset and the end of our send queue's congestion") {
    Story s = three_as();
    s.active(A);
    s.active(D);
    s.gateway.send_queue_level(D, 1, s.now);
    CHECK(s.heard() == Said{"A SCON rc=100 pc=30 level=1"});
    s.gateway.send_queue_level(D, 3, s.now);
    CHECK(s.heard() == Said{"A SCON rc=100 pc=30 level=3"});
    CHECK(s.tell(A, daud({affected({30})})) == Said{"A SCON pc=30 level=3", "A DAVA pc=30"});
    s.gateway.send_queue_level(D, 0, s.now);
    CHECK(s.heard() == Said{"A SCON rc=100 pc=30 level=0"});
}

TEST_CASE("the send queue's congestion ends with the association") {
    Story s = three_as();
    s.active(A);
    s.active(D);
    s.gateway.send_queue_level(D, 2, s.now);
    s.heard();
    s.lose(D);
    s.active(D);
    CHECK(s.tell(A, daud({affected({30})})) == Said{"A DAVA pc=30"});
}

TEST_CASE(
    "RFC 4666 3.4.4: SCON answers a message that was discarded in congestion, once a second") {
    Story s = three_as();
    s.active(A);
    s.active(D);
    const Message m = data({rc({100}), protocol_data({.opc = 10, .dpc = 30})});
    CHECK(s.refuse(A, m, Drop::peer_congested) == Said{"A SCON rc=100 pc=30 level=3"});
    CHECK(s.refuse(A, m, Drop::peer_congested).empty());
    CHECK(s.counters.drops(Drop::audit_limited) == 1);
}

TEST_CASE("M08: DUNA, DAVA, DRST and DUPU from an ASP get ERR 0x06 and change nothing") {
    Story s = three_as();
    s.active(A);
    s.active(D);
    for (const unsigned type : {1u, 2u, 5u, 6u})
        CHECK(s.tell(A, message(2, type, {affected({30}), numbers(0x0204, {1u << 16 | 3})})) ==
              Said{"A ERR code=06 diagnostic=24"});
    CHECK(s.tell(A, daud({affected({30})})) == Said{"A DAVA pc=30"});
}

TEST_CASE("decision 8: 10,000 ASPs are told in slices, a few hundred messages a call") {
    constexpr std::uint32_t kPeers = 10000;
    AsSettings crowd = server(100, 10, {});
    for (std::uint32_t i = 1; i < kPeers; ++i) crowd.members.push_back({PeerIndex{i}, 1});
    Story s{{crowd, server(200, 20, {A})}, std::vector<PeerSettings>(kPeers)};
    for (std::uint32_t i = 1; i < kPeers; ++i) {
        s.gateway.association_up(PeerIndex{i}, 16, s.now);
        s.gateway.receive(PeerIndex{i}, StreamId{0}, aspup(), s.now);
        s.gateway.receive(PeerIndex{i}, StreamId{0}, aspac(), s.now);
        s.gateway.take_outgoing();
        s.now += 1ms;
    }
    s.inactive(A);
    s.now += 10s;
    s.gateway.receive(A, StreamId{0}, aspac(), s.now);
    std::size_t told = 0;
    std::size_t most = 0;
    for (int turn = 0; turn < 100; ++turn) {
        const std::size_t said = s.gateway.take_outgoing().size();
        most = std::max(most, said);
        told += said;
        s.now += 1ms;
        s.gateway.advance(s.now);
    }
    CHECK(told == kPeers - 1 + 2);  // all of the crowd; Ack and NTFY of A
    CHECK(most <= 514);
}

TEST_CASE("a publication copies what changed, not every AS") {
    std::vector<AsSettings> servers;
    for (std::uint32_t i = 0; i < 1000; ++i) servers.push_back(server(i, 1000 + i, {PeerIndex{i}}));
    Story s{servers, std::vector<PeerSettings>(1000)};
    const Distribution before = s.gateway.distribution();
    s.active(PeerIndex{7});
    const Distribution after = s.gateway.distribution();
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < 1000; ++i) fresh += &before.servers[i] != &after.servers[i];
    CHECK(fresh == 1);
    CHECK(before.servers[7].state == AsState::down);
    CHECK(after.servers[7].state == AsState::active);
}
