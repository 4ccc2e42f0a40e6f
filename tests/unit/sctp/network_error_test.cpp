// SPDX-License-Identifier: Apache-2.0
// ICMP errors towards an association: PATH-8, V06, RFC 9260 section 10.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;
using wire::IcmpKind;

namespace {
void tell(Endpoint& endpoint, const NetworkError& error) {
    Environment env = endpoint.env();
    endpoint.effects.clear();
    endpoint.association->network_error(env, error, endpoint.effects);
    for (const EventRecord& record : endpoint.effects.happened()) endpoint.events.push_back(record);
}
NetworkError about(const Endpoint& sender, IcmpKind kind, const IpAddress& remote = kZ1) {
    return {.kind = kind,
            .remote = remote,
            .tag = sender.association->remote_tag(),
            .initiate_tag = {}};
}
}  // namespace

TEST_CASE("PATH-8: protocol unreachable that quotes the peer's tag ends the association silently") {
    Pair pair{40};
    pair.connect();
    pair.a.now += pair.a.association->path(0).rto;  // nothing was heard for so long
    tell(pair.a, about(pair.a, IcmpKind::protocol_unreachable));
    CHECK(pair.a.count(Event::aborted) == 1);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.capture().empty());  // as an ABORT: nothing answers it
    CHECK(pair.a.counters.get(Count::icmp_errors) == 1);
}

TEST_CASE("PATH-8: a peer that was heard a moment ago is asked first, one that is gone ends then") {
    const bool gone = GENERATE(true, false);
    Pair pair{45};
    pair.connect();
    // The kernel below the peer's process: full buffer, or nobody there any more.
    if (gone) pair.lose = [](const InFlight& p) { return p.destination == kZ1; };
    tell(pair.a, about(pair.a, IcmpKind::protocol_unreachable));
    CHECK(pair.a.state() == State::established);
    CHECK(pair.a.association->path(0).error_count == 1);
    const Duration rto = pair.a.association->path(0).rto;
    pair.advance(rto);
    CHECK(pair.a.counters.get(Count::heartbeats_sent) == 1);
    pair.advance(100ms);
    tell(pair.a, about(pair.a, IcmpKind::protocol_unreachable));
    CHECK((pair.a.state() == State::closed) == gone);
    CHECK(pair.a.count(Event::aborted) == (gone ? 1 : 0));
}

TEST_CASE("PATH-8, V06: an error with a wrong tag, no tag or a stranger's address is nothing") {
    Pair pair{41};
    pair.connect();
    NetworkError error = about(pair.a, IcmpKind::protocol_unreachable);
    error.tag.value ^= 1;
    tell(pair.a, error);
    error.tag = pair.a.association->local_tag();
    tell(pair.a, error);
    error.tag = {};  // an INIT, but we are long past that
    error.initiate_tag = pair.a.association->local_tag();
    tell(pair.a, error);
    tell(pair.a, about(pair.a, IcmpKind::protocol_unreachable, kZ2));
    CHECK(pair.a.state() == State::established);
    CHECK(pair.a.drops(Drop::icmp_unmatched) == 4);
    CHECK(pair.a.association->path(0).error_count == 0);
}

TEST_CASE("PATH-8: in COOKIE-WAIT the quoted INIT must carry our Initiate Tag") {
    Pair pair{42};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.capture();
    NetworkError error{.kind = IcmpKind::protocol_unreachable,
                       .remote = kZ1,
                       .tag = {},
                       .initiate_tag = VerificationTag{pair.a.association->local_tag().value + 1}};
    tell(pair.a, error);
    CHECK(pair.a.state() == State::cookie_wait);
    error.initiate_tag.reset();  // a quote too short for the INIT proves nothing
    tell(pair.a, error);
    CHECK(pair.a.state() == State::cookie_wait);
    error.initiate_tag = pair.a.association->local_tag();
    tell(pair.a, error);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.a.count(Event::aborted) == 1);
}

TEST_CASE("PATH-8: other unreachables cost the path one error, at most once per RTO") {
    Pair pair{43, kProfileSigtranLan};
    pair.connect();
    for (int i = 0; i < 10; ++i) tell(pair.a, about(pair.a, IcmpKind::unreachable));
    CHECK(pair.a.association->path(0).error_count == 1);
    CHECK(pair.a.drops(Drop::icmp_ignored) == 9);
    pair.a.now += pair.a.association->path(0).rto;
    tell(pair.a, about(pair.a, IcmpKind::unreachable));
    CHECK(pair.a.association->path(0).error_count == 2);
    for (int i = 0; i < 10 && pair.a.state() != State::closed; ++i) {
        pair.a.now += 1s;
        tell(pair.a, about(pair.a, IcmpKind::unreachable));
    }
    CHECK(pair.a.count(Event::lost) == 1);  // the limit counts these errors like time-outs
}

TEST_CASE("PATH-8: port unreachable is for UDP: ignored, but ends an encapsulated association") {
    Pair pair{44};
    pair.connect();
    NetworkError error = about(pair.a, IcmpKind::port_unreachable);
    tell(pair.a, error);
    CHECK(pair.a.state() == State::established);
    CHECK(pair.a.association->path(0).error_count == 0);
    CHECK(pair.a.drops(Drop::icmp_ignored) == 1);
    error.encapsulated = true;
    pair.a.now += pair.a.association->path(0).rto;
    tell(pair.a, error);
    CHECK(pair.a.state() == State::closed);
}
