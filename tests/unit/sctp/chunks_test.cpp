// SPDX-License-Identifier: Apache-2.0
// Chunks that are not known, lie about their length or come in masses; HEARTBEATs and paths: RFC
// 9260 3.2, 5.4, 6.3.3, 6.4, 8.3.
#include <catch2/catch.hpp>

#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// z is up; the test is its peer.
struct Up : Pair {
    explicit Up(Profile profile = {}) : Pair(80, profile) {
        z.input(init_packet({}));
        const InFlight echo = cookie_echo_for(z.sink.sent[0]);
        z.sink.sent.clear();
        z.input(echo);
        capture();
    }
    std::vector<InFlight> said_to(const InFlight& packet) {
        z.input(packet);
        return capture();
    }
};

std::size_t total(const std::vector<InFlight>& packets) {
    std::size_t bytes = 0;
    for (const InFlight& p : packets) bytes += p.bytes.size();
    return bytes;
}

}  // namespace

TEST_CASE(
    "PKT-3: an unknown chunk before DATA: its high bits say whether DATA counts and who hears",
    "[P09][m-i-10-1][m-i-10-2][m-i-10-3][m-i-10-4]") {
    const struct {
        std::uint8_t type;
        bool stop, report;
    } cases[]{{0xfe, false, true}, {0x3e, true, false}, {0x7e, true, true}, {0xbe, false, false}};
    for (const auto& c : cases) {
        INFO(unsigned{c.type});
        Up up;
        InFlight packet = packet_to_z(up);
        append_chunk(packet, c.type, 5, {1, 2, 3, 4, 5, 6});
        append_data(packet, 1000, 0, 0, 3, "behind");
        const auto said = up.said_to(packet);
        CHECK(up.z.messages.size() == (c.stop ? 0 : 1));
        Bytes error;
        bool acknowledged = false;
        for (const InFlight& p : said) {
            if (p.has(wire::ChunkType::error)) error = value_of(p, 9);
            acknowledged |= p.has(wire::ChunkType::sack);
        }
        CHECK(acknowledged == !c.stop);
        CHECK(error ==
              (c.report ? Bytes{0, 6, 0, 14, c.type, 5, 0, 10, 1, 2, 3, 4, 5, 6} : Bytes{}));
        CHECK(up.z.state() == State::established);
    }
}

TEST_CASE("P02, PKT-1: a chunk of length 0 to 3 ends its packet, whatever its type and state") {
    for (const State state : {State::cookie_echoed, State::established, State::shutdown_sent}) {
        InState it{state};
        const auto before = picture(it.a);
        for (unsigned type = 0; type < 256; ++type)
            for (std::uint8_t length = 0; length < 4; ++length) {
                InFlight packet = it.packet(it.own_tag());
                packet.bytes.insert(packet.bytes.end(),
                                    {static_cast<std::uint8_t>(type), 0, 0, length});
                append_chunk(packet, 6, 0, {});  // not reached
                it.a.input(packet);
                REQUIRE(it.capture().empty());
                REQUIRE(it.a.state() == state);
            }
        CHECK(picture(it.a) == before);
    }
}

TEST_CASE(
    "P03, PKT-1: the last chunk may lack its padding; one that is longer than the packet is "
    "nothing") {
    Up up;
    InFlight packet = packet_to_z(up);
    append_data(packet, 1000, 0, 0, 3, "odd");
    packet.bytes.pop_back();
    up.said_to(packet);
    REQUIRE(up.z.messages.size() == 1);
    CHECK(up.z.messages[0].data == "odd");
    for (const unsigned length : {20u, 24u, 65535u}) {
        InFlight lies = packet_to_z(up);
        append_data(lies, 1001, 0, 1, 3, "xyz");
        wire::store_u16(lies.bytes, 14, static_cast<std::uint16_t>(length + 1));
        CHECK(up.said_to(lies).empty());
    }
    InFlight padded = packet_to_z(up);  // more than 3 bytes: a chunk of length 0
    append_data(padded, 1001, 0, 1, 3, "xyz");
    padded.bytes.insert(padded.bytes.end(), 8, 0);
    up.said_to(padded);
    CHECK(up.z.messages.size() == 2);
    CHECK(up.z.drops(Drop::chunk_bad_length) == 4);
}

TEST_CASE(
    "P12: packets stuffed with the smallest chunks: control beyond 64 is counted, all DATA taken") {
    Up up;
    InFlight control = packet_to_z(up);
    for (int i = 0; i < 350; ++i) append_chunk(control, 11, 0, {});  // COOKIE ACK
    CHECK(up.said_to(control).empty());
    CHECK(up.z.drops(Drop::chunk_too_many) == 350 - 64);
    InFlight data = packet_to_z(up);
    for (std::uint16_t i = 0; data.bytes.size() + 20 <= 1480; ++i)
        append_data(data, 1000u + i, 0, i, 3, "x");
    const auto said = up.said_to(data);
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types{3});
    CHECK(up.z.messages.size() == 73);
    CHECK(up.z.messages.size() >= 1480 / 20 - 1);
}

TEST_CASE("P13: an ERROR with 300 causes, lying ones and a short stale-cookie cause end nothing") {
    Up up;
    InFlight many = packet_to_z(up);
    Bytes causes;
    for (int i = 0; i < 300; ++i) causes.insert(causes.end(), {0, 8, 0, 4});
    append_chunk(many, 9, 0, causes);
    CHECK(up.said_to(many).empty());
    CHECK(up.z.count(Event::remote_error) == 1);
    for (const Bytes& bad :
         {Bytes{0, 1, 0, 200}, Bytes{0, 1, 0, 0}, Bytes{0, 1, 0, 3}, Bytes{0, 1}}) {
        InFlight lies = packet_to_z(up);
        append_chunk(lies, 9, 0, bad);
        CHECK(up.said_to(lies).empty());
    }
    CHECK(up.z.count(Event::remote_error) == 1);
    CHECK(up.z.drops(Drop::chunk_malformed) == 4);
    InState echoed{State::cookie_echoed};
    const auto said = echoed.chunk(9, 0, {0, 3, 0, 4});  // stale, by how much it does not say
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types{1});
}

TEST_CASE("P11: one ERROR inside another, and a chain of causes, are data of the outer one") {
    Up up;
    InFlight nested = packet_to_z(up);
    Bytes inner{0, 6, 0, 12, 9, 0,
                0, 8, 0, 3,  0, 4};  // cause "unrecognized chunk" quoting an ERROR
    append_chunk(nested, 9, 0, inner);
    CHECK(up.said_to(nested).empty());
    CHECK(up.z.count(Event::remote_error) == 1);
    CHECK(up.z.state() == State::established);
}

TEST_CASE("X03: HEARTBEAT is answered with exactly what it holds, in one packet no longer than it",
          "[fh-v-5-2]") {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{8}, std::size_t{57}, std::size_t{1400}}) {
        Up up;
        Bytes info(4 + size, 0x77);
        wire::store_u16(info, 0, 1);
        wire::store_u16(info, 2, static_cast<std::uint16_t>(4 + size));
        InFlight beat = packet_to_z(up);
        append_chunk(beat, 4, 0, info);
        const auto said = up.said_to(beat);
        REQUIRE(said.size() == 1);
        CHECK(said[0].types() == Types{5});
        CHECK(value_of(said[0], 5) == info);
        CHECK(total(said) <= beat.bytes.size());
    }
    Up up;
    InFlight beats = packet_to_z(up);
    for (std::uint8_t i = 0; i < 60; ++i) append_chunk(beats, 4, 0, {0, 1, 0, 5, i, 0, 0, 0});
    const auto said = up.said_to(beats);
    REQUIRE(said.size() == 1);
    CHECK(said[0].types() == Types(60, 5));
    CHECK(total(said) <= beats.bytes.size());
}

TEST_CASE(
    "X04: an address that never answered gets HEARTBEATs and no DATA, even when the other dies") {
    Pair pair{81, kProfileSigtranLan, {kA1}, {kZ1, kZ2}};
    bool second_dead = true;
    bool first_dead = false;
    std::size_t beats = 0;
    std::size_t data = 0;
    pair.lose = [&](const InFlight& p) {
        const bool second = p.destination == kZ2 || p.source == kZ2;
        if (p.destination == kZ2) {
            data += p.has(wire::ChunkType::data);
            beats += p.has(wire::ChunkType::heartbeat);
            CHECK(p.types().size() == 1);
        }
        return second ? second_dead : first_dead;
    };
    pair.connect();
    pair.advance(1s);
    REQUIRE(pair.a.association->path_count() == 2);
    CHECK_FALSE(pair.a.association->path(1).confirmed);
    first_dead = true;
    for (int i = 0; i < 20; ++i) pair.a.send(0, std::string(500, 'x'));
    pair.advance(30s);
    CHECK(data == 0);
    CHECK(beats > 2);
    CHECK(pair.a.state() == State::closed);
}

TEST_CASE(
    "PATH-4: RTO, cwnd and error count are each path's own; a repetition takes the other path",
    "[rt-i-11-3]") {
    Profile profile;
    profile.potentially_failed_after = profile.path_max_retransmits;  // plain RFC 9260
    Pair pair{82, profile, {kA1, kA2}, {kZ1, kZ2}};
    pair.connect();
    pair.advance(3s);
    REQUIRE(pair.a.association->path(1).confirmed);
    std::vector<std::pair<Duration, IpAddress>> sent;
    const Time start = pair.now;
    pair.lose = [&](const InFlight& p) {
        if (p.source.as_v4() != kZ1.as_v4() && p.has(wire::ChunkType::data))
            sent.emplace_back(pair.now - start, p.destination);
        return p.destination == kZ1 || p.source == kZ1;
    };
    const Duration rto = pair.a.association->path(0).rto;
    const PathView other = pair.a.association->path(1);
    pair.a.send(0, "x");
    pair.advance(rto + 100ms);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0] == std::pair{Duration{0}, kZ1});
    CHECK(sent[1] == std::pair{rto, kZ2});
    CHECK(pair.z.messages.size() == 1);
    CHECK(pair.a.association->path(0).rto == 2 * rto);
    CHECK(pair.a.association->path(0).error_count == 1);
    CHECK(pair.a.association->path(1).rto == other.rto);
    CHECK(pair.a.association->path(1).error_count == 0);
    CHECK(pair.a.association->path(1).cwnd_bytes >= other.cwnd_bytes);
    pair.a.send(0, "y");  // the second time-out of the first path
    pair.advance(2 * rto + 100ms);
    REQUIRE(sent.size() == 4);
    CHECK(sent[3].first - sent[2].first == 2 * rto);
    CHECK(pair.a.association->path(0).rto == 4 * rto);
}

TEST_CASE("PATH-1: one HEARTBEAT an interval and RTO on an idle path, each with another nonce") {
    Profile profile;
    Pair pair{83, profile};
    pair.connect();
    std::vector<Duration> times;
    std::vector<Bytes> nonces;
    Time last = pair.now;
    pair.lose = [&](const InFlight& p) {
        if (p.source == kA1 && p.has(wire::ChunkType::heartbeat)) {
            times.push_back(pair.now - last);
            last = pair.now;
            nonces.push_back(value_of(p, 4));
            CHECK(nonces.back().size() == 12);  // 64 bits
        }
        return false;
    };
    pair.advance(1000s);
    REQUIRE(times.size() > 25);
    REQUIRE(times.size() < 34);
    bool differ = false;
    for (std::size_t i = 1; i < times.size(); ++i) {
        CHECK(times[i] >= 30s + 500ms);  // 8.3: RTO and half of it either way
        CHECK(times[i] <= 30s + 1500ms);
        differ |= times[i] != times[1];
        CHECK(nonces[i] != nonces[i - 1]);
    }
    CHECK(differ);
}

TEST_CASE(
    "PATH-1: a HEARTBEAT ACK with another nonce, a repeated or a malformed one confirms nothing") {
    Pair pair{84, {}, {kA1}, {kZ1, kZ2}};
    pair.lose = [](const InFlight& p) { return p.destination == kZ2; };
    pair.connect();
    REQUIRE(pair.a.association->path_count() == 2);
    pair.advance(1s);
    RandomSource random{4};
    for (int i = 0; i < 1000; ++i) {
        InFlight ack{kZ2, kA1, std::vector<std::uint8_t>(12)};
        wire::write_sctp_header(ack.bytes, {kPortZ, kPortA, pair.a.association->local_tag()});
        Bytes value{0, 1, 0, 12};
        for (int n = 0; n < 8; ++n) value.push_back(static_cast<std::uint8_t>(random.u32()));
        if (i == 0) std::fill(value.begin() + 4, value.end(), std::uint8_t{0});
        if (i == 1) value.resize(8), value[3] = 8;
        append_chunk(ack, 5, 0, value);
        pair.a.input(ack);
    }
    CHECK_FALSE(pair.a.association->path(1).confirmed);
    CHECK(pair.a.drops(Drop::heartbeat_ack_unmatched) == 1000);
}

TEST_CASE("PATH-2: more retransmissions for the association than all paths bear: the sum counts") {
    Profile profile = kProfileSigtranLan;
    profile.path_max_retransmits = 2;
    profile.association_max_retransmits = 10;
    Pair pair{85, profile, {kA1, kA2}, {kZ1, kZ2}};
    pair.connect();
    pair.advance(2s);
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(0, "x");
    pair.advance(60s);
    CHECK(pair.a.count(Event::lost) == 1);
    CHECK(pair.a.counters.get(Count::associations_lost) == 1);
}

TEST_CASE(
    "PATH-5, HS-8: a path's packets leave with its own local address, replies from where it was "
    "asked") {
    Pair pair{86, kProfileSigtranLan, {kA1, kA2}, {kZ1, kZ2}};
    std::size_t packets = 0;
    pair.lose = [&packets](const InFlight& p) {
        ++packets;
        const bool first = p.source == kA1 || p.source == kZ1;
        CHECK((p.destination == kA1 || p.destination == kZ1) == first);
        return false;
    };
    pair.connect();
    for (int i = 0; i < 20; ++i) {
        pair.a.send(0, "x");
        pair.z.send(0, "y");
        pair.advance(500ms);
    }
    pair.a.shutdown();
    pair.advance(1s);
    CHECK(pair.z.state() == State::closed);
    CHECK(packets > 60);
}
