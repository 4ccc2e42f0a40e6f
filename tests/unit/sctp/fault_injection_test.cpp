// SPDX-License-Identifier: Apache-2.0
// Every allocation of a dialog is refused in turn (adversarial F10). What the dialog should bring
// about it brings about all the same: the peer sends again what was not received, the user offers
// again what was not accepted; at the end nothing is held.
#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

#include "pair.h"

namespace signalbox::sctp::test {
namespace {

using namespace std::chrono_literals;

Profile profile_of_test() {
    Profile profile;
    profile.streams_out = profile.streams_in = 65535;
    return profile;
}

struct Dialog {
    explicit Dialog(std::uint64_t seed)
        : pair(seed, profile_of_test(), {kA1, kA2, IpAddress::v4(0x0a000201)},
               {kZ1, kZ2, IpAddress::v4(0x0a000202)}) {}

    /// The user's side: what was refused for want of memory is offered again, later.
    void send(Endpoint& from, std::uint16_t stream, const std::string& text,
              bool unordered = false) {
        for (int tries = 0;; ++tries) {
            REQUIRE(tries < 10);
            const auto queued = from.association->queued_bytes();
            const auto status = from.send(stream, text, unordered);
            if (status == SendStatus::ok) break;
            REQUIRE(status == SendStatus::no_memory);
            REQUIRE(from.association->queued_bytes() == queued);  // all or nothing
            REQUIRE(from.association->is_consistent());
            pair.advance(100ms);
        }
        (&from == &pair.a ? expected_at_z : expected_at_a).push_back(text);
    }
    void connect() {
        for (int tries = 0; !pair.a.connect(pair.z.local, kPortA, kPortZ); ++tries) {
            REQUIRE(tries < 10);
            REQUIRE(pair.a.blocks.blocks_in_use() == 0);
            pair.a.association.reset();
        }
        pair.exchange();
        // INIT, INIT ACK, COOKIE ECHO or its answer may have met the refusal: T1 repeats them.
        for (int waits = 0; waits < 20 && !up(); ++waits) pair.advance(1s);
        REQUIRE(up());
    }
    bool up() const {
        return pair.a.state() == State::established && pair.z.state() == State::established;
    }
    /// Loses every third packet with DATA of the next `packets`, so that both ends hold data out of
    /// order.
    void lossy(unsigned packets) {
        pair.lose = [packets, n = 0u](const InFlight& p) mutable {
            return n < packets && p.has(wire::ChunkType::data) && n++ % 3 == 0;
        };
    }
    void run() {
        connect();
        pair.advance(5s);  // HEARTBEATs confirm the paths
        lossy(12);
        for (std::uint16_t i = 0; i < 12; ++i) {
            send(pair.a, static_cast<std::uint16_t>(i % 3), "a" + std::to_string(i));
            send(pair.z, static_cast<std::uint16_t>(20000 + 4000 * (i % 4)),
                 "z" + std::to_string(i), i % 4 == 3);
            pair.exchange();
        }
        send(pair.a, 65534, std::string(9000, 'f'));
        send(pair.z, 7, std::string(5000, 'g'));
        pair.z.consuming = false;  // what comes is held and charged to the window
        send(pair.a, 1, "held");
        send(pair.a, 40000, "held too");
        pair.advance(3s);
        pair.z.consuming = true;
        pair.z.drain_ready();
        pair.advance(20s);
        pair.a.shutdown();
        pair.advance(20s);
    }
    void judge() {
        const auto texts = [](const Endpoint& e) {
            std::multiset<std::string> all;
            for (const auto& m : e.messages) all.insert(m.data);
            return all;
        };
        REQUIRE(texts(pair.z) ==
                std::multiset<std::string>(expected_at_z.begin(), expected_at_z.end()));
        REQUIRE(texts(pair.a) ==
                std::multiset<std::string>(expected_at_a.begin(), expected_at_a.end()));
        for (Endpoint* e : {&pair.a, &pair.z}) {
            REQUIRE(e->state() == State::closed);
            REQUIRE(e->saw(Event::closed));
            e->drop_association();
            REQUIRE(e->blocks.blocks_in_use() == 0);
            e->blocks.trim();
            REQUIRE(e->pages.taken == 0);
        }
    }

    Pair pair;
    std::vector<std::string> expected_at_a, expected_at_z;
};

enum class What { blocks_of_a, blocks_of_z, pages_of_a, pages_of_z };

mem::FaultPoint& point(Dialog& d, What what) {
    switch (what) {
        case What::blocks_of_a:
            return d.pair.a.blocks.faults();
        case What::blocks_of_z:
            return d.pair.z.blocks.faults();
        case What::pages_of_a:
            return d.pair.a.pages.faults;
        default:
            return d.pair.z.pages.faults;
    }
}

/// Requests that the dialog makes of the kind.
std::uint64_t sites(What what) {
    Dialog d(3);
    d.run();
    const auto n = point(d, what).counted();
    d.judge();
    return n;
}

void refuse_each(What what, std::uint64_t at_least, std::uint64_t refused) {
    const std::uint64_t n = sites(what);
    REQUIRE(n >= at_least);
    for (std::uint64_t k = 0; k < n; ++k) {
        INFO("refused: " << k << " of " << n << ", " << refused << " times");
        Dialog d(3);
        point(d, what).arm(k, refused);
        d.run();
        d.judge();
    }
}

}  // namespace

TEST_CASE("F10: every block of a dialog is refused in turn, and nothing is lost or kept") {
    refuse_each(What::blocks_of_a, 25, 1);
    refuse_each(What::blocks_of_z, 25, 1);
}

TEST_CASE("F10: every block is refused three times in a row, and nothing is lost or kept") {
    refuse_each(What::blocks_of_z, 25, 3);
}

TEST_CASE("F10, STR-2: every page of a dialog is refused in turn, stream pages among them") {
    refuse_each(What::pages_of_a, 6, 1);
    refuse_each(What::pages_of_z, 6, 1);
    refuse_each(What::pages_of_a, 6, 3);
    refuse_each(What::pages_of_z, 6, 3);
}

TEST_CASE("F05, DAT-1: without a page a COOKIE ECHO is refused whole and a later one is taken") {
    Dialog d(5);
    d.pair.z.pages.refuse = true;
    d.pair.a.connect(d.pair.z.local, kPortA, kPortZ);
    d.pair.exchange();
    CHECK(d.pair.z.state() == State::closed);
    CHECK_FALSE(d.pair.z.association.has_value());
    CHECK(d.pair.z.blocks.blocks_in_use() == 0);
    CHECK(d.pair.a.state() == State::cookie_echoed);
    d.pair.z.pages.refuse = false;
    for (int waits = 0; waits < 20 && !d.up(); ++waits) d.pair.advance(1s);
    CHECK(d.up());
    CHECK(d.pair.z.association->path_count() == 3);
}

}  // namespace signalbox::sctp::test
