// SPDX-License-Identifier: Apache-2.0
// Our own BEAT (RFC 4666 3.5.5, 4.3.4.6) with T(beat), and what the operator does: block, unblock,
// drain.
#include "unit/sigtran/story.h"

using namespace signalbox;
using namespace signalbox::sigtran;
using namespace signalbox::sigtran::test;

namespace {

Story beating() {
    PeerSettings p;
    p.beat_interval = 1s;
    return Story{{server(100, 10, {A, B})}, {p, {}}};
}

}  // namespace

TEST_CASE("T(beat): a silent ASP gets BEAT, and its acknowledgement keeps it alive") {
    Story s = beating();
    s.active(A);
    CHECK(s.gateway.next_deadline() == s.now + 1s);
    CHECK(s.wait(1s) == Said{"A BEAT heartbeat=0000000000000001"});
    s.tell(A, message(3, 6, {parameter(9, {0, 0, 0, 0, 0, 0, 0, 1})}));
    CHECK(s.wait(1s) == Said{"A BEAT heartbeat=0000000000000002"});
    CHECK(s.gateway.take_disconnects().empty());
}

TEST_CASE("T(beat): traffic of any kind is a sign of life, and no BEAT is sent") {
    Story s = beating();
    s.active(A);
    for (int i = 0; i < 10; ++i) {
        s.now += 900ms;
        s.gateway.heard(A, s.now);  // DATA, as a worker saw it
        CHECK(s.wait(100ms).empty());
    }
}

TEST_CASE("T(beat): after 2 x T(beat) without a word the association is to be aborted, once",
          "[m3ua-field-02]") {
    Story s = beating();
    s.active(A);
    s.wait(1s);
    s.wait(1s);
    CHECK(s.gateway.take_disconnects() == std::vector<PeerIndex>{A});
    CHECK(s.counters.drops(Drop::m3ua_beat_unanswered) == 1);
    s.lose(A);
    s.wait(5s);
    CHECK(s.gateway.take_disconnects().empty());
}

TEST_CASE("T(beat) 0: no BEAT of ours; an unsolicited BEAT Ack is ignored (M06)",
          "[m3ua-field-03]") {
    Story s = beating();
    s.active(B);
    CHECK(s.gateway.next_deadline() == kNever);
    CHECK(s.tell(B, message(3, 6)).empty());
    CHECK(s.counters.drops(Drop::m3ua_unexpected) == 0);
}

TEST_CASE(
    "blocking: the ASP is taken out with the Acks it did not ask for, and ASPUP gets ERR 0x0d",
    "[m3ua-field-26]") {
    Story s = beating();
    s.active(A);
    s.active(B);
    s.gateway.block(A, s.now);
    CHECK(s.heard() == Said{"A ASPIA_ACK rc=100", "A ASPDN_ACK"});
    CHECK(s.asp(A) == AspState::down);
    CHECK(s.as() == AsState::active);
    CHECK(s.tell(A, aspup()) == Said{"A ERR code=0d diagnostic=8"});
    s.gateway.unblock(A);
    CHECK(s.tell(A, aspup()) == Said{"A ASPUP_ACK", "A NTFY status=1/3 rc=100"});
}

TEST_CASE("blocking the last ASP starts T(r)") {
    Story s = beating();
    s.active(A);
    s.inactive(B);
    s.gateway.block(A, s.now);
    CHECK(s.heard() == Said{"A ASPIA_ACK rc=100", "A ASPDN_ACK", "B NTFY status=1/4 rc=100"});
    CHECK(s.as() == AsState::pending);
}

TEST_CASE(
    "REL-41: drain tells every ASP DUNA, NTFY AS-INACTIVE, ASPIA Ack and ASPDN Ack, then gives "
    "it up") {
    Story s{{server(100, 10, {A}), server(200, 20, {B})}};
    s.active(A);
    s.active(B);
    s.associate(C);
    s.gateway.drain(s.now);
    CHECK(s.heard() == Said{"A DUNA rc=100 pc=20", "A NTFY status=1/2 rc=100", "A ASPIA_ACK rc=100",
                            "A ASPDN_ACK", "B DUNA rc=200 pc=10", "B NTFY status=1/2 rc=200",
                            "B ASPIA_ACK rc=200", "B ASPDN_ACK"});
    CHECK(s.gateway.take_drained() == std::vector<PeerIndex>{A, B, C});
    CHECK(s.tell(C, aspup()) == Said{"C ERR code=0d diagnostic=8"});
}
