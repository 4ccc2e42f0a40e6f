// SPDX-License-Identifier: Apache-2.0
// The AS state machine: required number of ASPs, AS-PENDING and T(r), NTFY (RFC
// 4666 4.3.2, 4.3.4.5).
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

AsSettings requiring(std::uint16_t n, std::initializer_list<PeerIndex> members) {
    AsSettings s = server(100, 10, members);
    s.required_active = n;
    return s;
}

}  // namespace

TEST_CASE("decision 9: every AS begins DOWN and serves nothing") {
    Story s{{server(100, 10, {A})}};
    const Distribution d = s.gateway.distribution();
    CHECK(d.servers[0].state == AsState::down);
    for (const PeerIndex peer : d.servers[0].serving) REQUIRE(peer == kNoPeer);
    CHECK_FALSE(d.peers[0].up);
    CHECK(s.gateway.next_deadline() == kNever);
}

TEST_CASE("n+k: the AS becomes ACTIVE with the required number of ASPs, and all hear it") {
    Story s{{requiring(2, {A, B, C})}};
    s.inactive(A);
    s.inactive(B);
    s.inactive(C);
    CHECK(s.tell(A, aspac()) == Said{"A ASPAC_ACK mode=2 rc=100"});
    CHECK(s.as() == AsState::inactive);
    CHECK(s.gateway.distribution().servers[0].serving[1] == kNoPeer);
    CHECK(s.tell(B, aspac()) == Said{"B ASPAC_ACK mode=2 rc=100", "A NTFY status=1/3 rc=100",
                                     "B NTFY status=1/3 rc=100", "C NTFY status=1/3 rc=100"});
    CHECK(s.as() == AsState::active);
}

TEST_CASE(
    "n+k: below the required number traffic goes on, and the inactive ASPs hear that one is "
    "needed") {
    Story s{{requiring(2, {A, B, C})}};
    s.active(A);
    s.active(B);
    s.inactive(C);
    CHECK(s.lose(A) ==
          Said{"B NTFY status=2/3 rc=100", "C NTFY status=2/3 rc=100", "C NTFY status=2/1 rc=100"});
    CHECK(s.as() == AsState::active);
    const AsView v = s.gateway.distribution().servers[0];
    for (const PeerIndex peer : v.serving) REQUIRE(peer == B);
}

TEST_CASE("n+k: an AS that never was ACTIVE is never PENDING") {
    Story s{{requiring(2, {A, B})}};
    s.active(A);
    s.tell(A, aspia());
    CHECK(s.as() == AsState::inactive);
    CHECK(s.gateway.next_deadline() == kNever);
}

TEST_CASE("AS-PENDING: an ASP that becomes ACTIVE within T(r) ends it, and no T(r) runs on") {
    Story s{{server(100, 10, {A, B})}};
    s.active(A);
    s.inactive(B);
    s.lose(A);
    CHECK(s.wait(1s).empty());
    CHECK(s.as() == AsState::pending);
    CHECK(s.tell(B, aspac()) == Said{"B ASPAC_ACK mode=2 rc=100", "B NTFY status=1/3 rc=100"});
    CHECK(s.as() == AsState::active);
    CHECK(s.gateway.next_deadline() == kNever);
    CHECK(s.wait(10s).empty());
}

TEST_CASE("AS-PENDING: T(r) over with an ASP up: AS-INACTIVE, and it hears so") {
    Story s{{server(100, 10, {A, B})}};
    s.active(A);
    s.inactive(B);
    s.lose(A);
    CHECK(s.wait(1999ms).empty());
    CHECK(s.wait(1ms) == Said{"B NTFY status=1/2 rc=100"});
    CHECK(s.as() == AsState::inactive);
}

TEST_CASE("AS-PENDING: T(r) over with no ASP up: AS-DOWN, and the change is told for the events") {
    Story s{{server(100, 10, {A})}};
    s.active(A);
    s.lose(A);
    s.gateway.take_changes();
    CHECK(s.wait(2s).empty());
    CHECK(s.as() == AsState::down);
    const auto changes = s.gateway.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].kind == ChangeKind::as_state);
    CHECK(changes[0].as == AsIndex{0});
    CHECK(changes[0].from == static_cast<std::uint8_t>(AsState::pending));
    CHECK(changes[0].to == static_cast<std::uint8_t>(AsState::down));
}

TEST_CASE("AS-PENDING: T(r) is not begun anew by ASPs that come and go without becoming ACTIVE") {
    Story s{{server(100, 10, {A, B})}};
    s.active(A);
    s.lose(A);
    const Time deadline = s.gateway.next_deadline();
    s.wait(1s);
    s.inactive(B);
    s.lose(B);
    CHECK(s.gateway.next_deadline() == deadline);
}

TEST_CASE("AS-PENDING: an ASP that comes up meanwhile hears AS-PENDING") {
    Story s{{server(100, 10, {A, B})}};
    s.active(A);
    s.lose(A);
    s.associate(B);
    CHECK(s.tell(B, aspup()) == Said{"B ASPUP_ACK", "B NTFY status=1/4 rc=100"});
}

TEST_CASE("AS-PENDING: one ASP is enough to end it even where the AS needs two to begin") {
    Story s{{requiring(2, {A, B})}};
    s.active(A);
    s.active(B);
    s.tell(A, aspia());
    s.tell(B, aspia());
    CHECK(s.as() == AsState::pending);
    s.tell(A, aspac());
    CHECK(s.as() == AsState::active);
}

TEST_CASE("AS-PENDING: each AS has its own T(r)") {
    AsSettings slow = server(100, 10, {A});
    slow.recovery_timer = 5s;
    Story s{{slow, server(200, 20, {A})}};
    s.active(A);
    s.tell(A, aspia());
    CHECK(s.gateway.next_deadline() == s.now + 2s);
    s.wait(2s);
    CHECK(s.as(0) == AsState::pending);
    CHECK(s.as(1) == AsState::inactive);
    CHECK(s.gateway.next_deadline() == s.now + 3s);
}

TEST_CASE("NTFY: an ASP failure in several AS names them all in one message") {
    Story s{{server(100, 10, {A, B}), server(200, 20, {A, B})}};
    s.active(A);
    s.active(B);
    CHECK(s.lose(A) == Said{"B NTFY status=2/3 rc=100,200"});
}

TEST_CASE("NTFY goes to nobody that is DOWN") {
    Story s{{server(100, 10, {A, B, C})}};
    s.active(A);
    s.associate(B);
    s.inactive(C);
    CHECK(s.tell(A, aspia()) ==
          Said{"A ASPIA_ACK rc=100", "A NTFY status=1/4 rc=100", "C NTFY status=1/4 rc=100"});
}

TEST_CASE(
    "changes for the events: ASP and AS with from and to, ERR sent and received with its code") {
    Story s{{server(100, 10, {A})}};
    s.inactive(A);
    s.tell(A, aspac({rc({7})}));
    s.tell(A, err(0x0d));
    const auto changes = s.gateway.take_changes();
    REQUIRE(changes.size() == 4);
    CHECK((changes[0].kind == ChangeKind::asp_state && changes[0].peer == A &&
           changes[0].from == 0 && changes[0].to == 1));
    CHECK((changes[1].kind == ChangeKind::as_state && changes[1].from == 0 && changes[1].to == 1));
    CHECK((changes[2].kind == ChangeKind::error_sent && changes[2].peer == A &&
           changes[2].to == 0x1a));
    CHECK((changes[3].kind == ChangeKind::error_received && changes[3].peer == A &&
           changes[3].to == 0x0d));
    CHECK(s.gateway.take_changes().empty());
}

TEST_CASE("a member that is no peer of the configuration is not part of the AS") {
    Story s{{server(100, 10, {PeerIndex{999}, A})}};
    s.active(A);
    CHECK(s.as() == AsState::active);
    CHECK(s.gateway.distribution().servers[0].serving[7] == A);
}
