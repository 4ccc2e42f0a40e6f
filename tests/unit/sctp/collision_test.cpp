// SPDX-License-Identifier: Apache-2.0
// Both sides open the association at once (RFC 9260 5.2.1, 5.2.4). Each side's handshake is a
// chain: INIT, INIT ACK, COOKIE ECHO, COOKIE ACK; the packet after one is sent only when that one
// has come. So the causal orders are the interleavings of two chains: 20 up to the COOKIE ECHOs, 70
// in all.
#include <catch2/catch.hpp>

#include <algorithm>

#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

enum class Fault { none, lost, doubled };

/// The wire in the test's hands.
class Collision {
 public:
    explicit Collision(std::uint64_t seed) : pair_(seed) {
        pair_.a.connect({kZ1}, kPortA, kPortZ);
        pair_.z.connect({kA1}, kPortZ, kPortA);
        collect();
    }
    /// The next packet of the chain that `a` (else z) began; false: none is on the wire.
    bool step(bool of_a, Fault fault) {
        const auto next = std::find_if(wire_.begin(), wire_.end(), [of_a](const InFlight& p) {
            const bool from_a = p.source == kA1;
            const std::uint8_t type = p.first_type();
            const bool beginners = type == 1 || type == 10;  // INIT, COOKIE ECHO
            const bool answer = type == 2 || type == 11;     // INIT ACK, COOKIE ACK
            return (beginners && from_a == of_a) || (answer && from_a != of_a);
        });
        if (next == wire_.end()) return false;
        const InFlight packet = *next;
        wire_.erase(next);
        for (int copies = fault == Fault::lost      ? 0
                          : fault == Fault::doubled ? 2
                                                    : 1;
             copies > 0; --copies)
            pair_.deliver(packet);
        collect();
        return true;
    }
    /// Everything that is left, then time for every repetition.
    void finish() {
        for (InFlight& packet : wire_) pair_.wire.push_back({pair_.now, std::move(packet)});
        wire_.clear();
        pair_.advance(30s);
    }
    void require_one_association() {
        Endpoint& a = pair_.a;
        Endpoint& z = pair_.z;
        REQUIRE(a.state() == State::established);
        REQUIRE(z.state() == State::established);
        REQUIRE(a.association->local_tag() == z.association->remote_tag());
        REQUIRE(a.association->remote_tag() == z.association->local_tag());
        for (const Endpoint* e : {&a, &z}) {
            REQUIRE(e->count(Event::up) == 1);
            REQUIRE(e->association->is_consistent());
            for (const Event end : {Event::aborted, Event::lost, Event::closed, Event::restarted})
                REQUIRE(e->count(end) == 0);
        }
        a.send(1, "to z");
        z.send(1, "to a");
        pair_.advance(5s);
        REQUIRE(z.messages.size() == 1);
        REQUIRE(a.messages.size() == 1);
        REQUIRE(a.association->queued_bytes() == 0);
    }

 private:
    void collect() {
        for (InFlight& packet : pair_.capture()) wire_.push_back(std::move(packet));
    }
    Pair pair_;
    std::vector<InFlight> wire_;
};

/// Every interleaving of two chains of `length` packets, each with every single fault; how many
/// orders there were, and how often a step found its packet.
std::pair<int, int> run_every_order(unsigned length) {
    std::vector<bool> order(length, true);
    order.insert(order.end(), length, false);
    std::sort(order.begin(), order.end());
    int orders = 0;
    int delivered = 0;
    do {
        ++orders;
        for (std::size_t at = 0; at <= order.size(); ++at)
            for (const Fault fault : {Fault::lost, Fault::doubled}) {
                if (at == order.size() && fault == Fault::doubled) continue;  // no fault, once
                INFO("order " << orders << ", fault " << static_cast<int>(fault) << " at " << at);
                Collision collision{static_cast<std::uint64_t>(orders) * 100 + at};
                for (std::size_t i = 0; i < order.size(); ++i)
                    delivered += collision.step(order[i], i == at ? fault : Fault::none);
                collision.finish();
                collision.require_one_association();
            }
    } while (std::next_permutation(order.begin(), order.end()));
    return {orders, delivered};
}

}  // namespace

TEST_CASE("HS-12, H13: all 20 orders up to the COOKIE ECHOs, with each packet lost or doubled") {
    const auto [orders, delivered] = run_every_order(3);
    CHECK(orders == 20);
    CHECK(delivered > orders * 13 * 5);  // nearly every step had its packet: the orders are real
}

TEST_CASE("HS-12, H13: all 70 orders with the COOKIE ACKs, with each packet lost or doubled") {
    const auto [orders, delivered] = run_every_order(4);
    CHECK(orders == 70);
    CHECK(delivered > orders * 17 * 5);
}

TEST_CASE(
    "HS-6 case B: of two sides that ask at once each takes the other's tag, and one is left") {
    Pair pair{60};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    pair.z.connect({kA1}, kPortZ, kPortA);
    const auto tag_a = pair.a.association->local_tag();
    const auto tag_z = pair.z.association->local_tag();
    pair.exchange();
    pair.advance(10s);
    CHECK(pair.a.association->local_tag() == tag_a);
    CHECK(pair.z.association->local_tag() == tag_z);
    CHECK(pair.a.association->remote_tag() == tag_z);
    CHECK(pair.z.association->remote_tag() == tag_a);
}

TEST_CASE("HS-6 case C: the cookie of an INIT ACK given before our own INIT comes too late") {
    Pair pair{61};
    pair.a.connect({kZ1}, kPortA, kPortZ);
    const auto init = pair.capture();
    pair.deliver(init[0]);  // z answers as a listener that keeps nothing
    const auto answer = pair.capture();
    pair.z.connect({kA1}, kPortZ, kPortA);
    pair.exchange();  // z's own handshake: a answers its INIT with its own tag
    REQUIRE(pair.z.state() == State::established);
    InFlight late = answer[0];
    pair.z.input(cookie_echo_for(late));
    CHECK(pair.z.drops(Drop::cookie_late) == 1);
    CHECK(pair.z.count(Event::up) == 1);
    CHECK(pair.capture().empty());
}

TEST_CASE("HS-6 case D: the cookie of the association itself is acknowledged again, data go on") {
    InState it{State::established};
    InFlight echo;
    {
        InState before{State::cookie_echoed};
        echo = before.said.at(0);
        REQUIRE(echo.first_type() == 10);
        before.deliver(echo);
        before.exchange();
        REQUIRE(before.a.state() == State::established);
        before.a.send(3, "one");
        before.exchange();
        before.deliver(echo);
        const auto answers = before.capture();
        REQUIRE(answers.size() == 1);
        CHECK(answers[0].types() == Types{11});
        before.a.send(3, "two");
        before.exchange();
        CHECK(before.z.messages.size() == 2);
        CHECK(before.z.count(Event::up) == 1);
    }
}
