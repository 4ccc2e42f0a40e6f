// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <vector>

#include "io/neighbour_table.h"

namespace signalbox::io {

namespace {

using Answer = NeighbourTable::Answer;
using std::chrono::milliseconds;
using std::chrono::seconds;

const NeighbourKey kPeer{IpAddress::v4(0x0a4d0001), 0};
const MacAddress kMac{{2, 0, 0, 0, 0, 1}};
const MacAddress kOtherMac{{2, 0, 0, 0, 0, 2}};

/// Packets are only pointers here: four distinct ones.
struct Packets {
    int storage[4] = {};
    NeighbourTable::Packet at(unsigned i) { return &storage[i]; }
};

/// The table with its requests and the packets it gave up.
struct Link {
    explicit Link(std::size_t entries = 16) : table(7, entries) {}
    void advance(Duration d) {
        now += d;
        table.tick(
            now,
            [this](const NeighbourKey& key, std::optional<MacAddress> known) {
                asked.push_back(key);
                probes += known.has_value() ? 1u : 0u;
            },
            [this](NeighbourTable::Packet) { ++discarded; });
    }
    NeighbourTable table;
    Time now{seconds{1000}};
    std::vector<NeighbourKey> asked;
    unsigned probes = 0;
    unsigned discarded = 0;
};

}  // namespace

TEST_CASE("the first packet for a neighbour is kept and asks for it") {
    Link link;
    Packets packets;
    const auto r = link.table.resolve(kPeer, packets.at(0), link.now);
    CHECK(r.answer == Answer::queued);
    CHECK(r.ask);
    const auto second = link.table.resolve(kPeer, packets.at(1), link.now);
    CHECK(second.answer == Answer::queued);
    CHECK_FALSE(second.ask);
}

TEST_CASE("N01: a fourth packet for an unresolved neighbour is refused") {
    Link link;
    Packets packets;
    for (unsigned i = 0; i < 3; ++i)
        CHECK(link.table.resolve(kPeer, packets.at(i), link.now).answer == Answer::queued);
    CHECK(link.table.resolve(kPeer, packets.at(3), link.now).answer == Answer::refused);
}

TEST_CASE("an answer releases the kept packets in order, and later ones go at once") {
    Link link;
    Packets packets;
    link.table.resolve(kPeer, packets.at(0), link.now);
    link.table.resolve(kPeer, packets.at(1), link.now);
    const auto released = link.table.learn(kPeer, kMac, link.now);
    REQUIRE(released.count == 2);
    CHECK(released.packets[0] == packets.at(0));
    CHECK(released.packets[1] == packets.at(1));
    const auto r = link.table.resolve(kPeer, packets.at(2), link.now);
    CHECK(r.answer == Answer::known);
    CHECK(r.mac == kMac);
    CHECK_FALSE(r.ask);
}

TEST_CASE("N01: what a stranger says of himself makes no entry") {
    Link link;
    CHECK_FALSE(link.table.learn(kPeer, kMac, link.now).changed);
    CHECK(link.table.size() == 0);
}

TEST_CASE("a neighbour that never answers is asked three times, then its packets are given up") {
    Link link;
    Packets packets;
    link.table.resolve(kPeer, packets.at(0), link.now);
    link.advance(seconds{1});
    link.advance(seconds{1});
    CHECK(link.asked.size() == 2);  // beside the first, which resolve() asked for
    CHECK(link.probes == 0);
    link.advance(seconds{1});
    CHECK(link.discarded == 1);
    CHECK(link.table.size() == 0);
}

TEST_CASE("an established path is probed after 30 s and kept until unreachability is proved") {
    Link link;
    Packets packets;
    link.table.resolve(kPeer, packets.at(0), link.now);
    link.table.learn(kPeer, kMac, link.now);
    link.advance(seconds{31});
    auto r = link.table.resolve(kPeer, packets.at(1), link.now);
    CHECK(r.answer == Answer::known);
    CHECK(r.ask);
    link.advance(seconds{1});
    CHECK(link.probes == 1);
    r = link.table.resolve(kPeer, packets.at(1), link.now);
    CHECK(r.answer == Answer::known);
    CHECK_FALSE(r.ask);

    SECTION("an answer confirms it, with a new address when it has moved") {
        link.table.learn(kPeer, kOtherMac, link.now);
        link.advance(seconds{10});
        CHECK(link.probes == 1);
        CHECK(link.table.find(kPeer) == kOtherMac);
    }
    SECTION("silence removes it, and the next packet asks everybody") {
        link.advance(seconds{1});
        link.advance(seconds{1});
        CHECK(link.table.size() == 0);
        CHECK(link.table.resolve(kPeer, packets.at(1), link.now).answer == Answer::queued);
    }
}

TEST_CASE("a full table makes room from neighbours unused for a minute, else it refuses") {
    Link link{4};
    Packets packets;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const NeighbourKey key{IpAddress::v4(0x0a4d0100 + i), 0};
        link.table.resolve(key, packets.at(0), link.now);
        link.table.learn(key, kMac, link.now);
    }
    CHECK(link.table.resolve(kPeer, packets.at(0), link.now).answer == Answer::refused);
    link.now += seconds{61};
    CHECK(link.table.resolve(kPeer, packets.at(0), link.now).answer == Answer::queued);
    CHECK(link.table.size() == 4);
}

TEST_CASE("the same address on two ports is two neighbours") {
    Link link;
    Packets packets;
    const NeighbourKey other{kPeer.address, 1};
    link.table.resolve(kPeer, packets.at(0), link.now);
    link.table.resolve(other, packets.at(1), link.now);
    link.table.learn(kPeer, kMac, link.now);
    CHECK(link.table.find(kPeer) == kMac);
    CHECK_FALSE(link.table.find(other));
}

TEST_CASE("what is still kept at the end is given back") {
    Link link;
    Packets packets;
    link.table.resolve(kPeer, packets.at(0), link.now);
    unsigned given_back = 0;
    link.table.clear([&](NeighbourTable::Packet) { ++given_back; });
    CHECK(given_back == 1);
}

}  // namespace signalbox::io
