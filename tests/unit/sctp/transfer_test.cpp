// SPDX-License-Identifier: Apache-2.0
// User data and its acknowledgement, requirement by requirement: RFC 9260 6 and 7.
#include <catch2/catch.hpp>

#include <numeric>

#include "states.h"
#include "wire/sack.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t kData = 0, kSack = 3;

/// a is up and says what the test says; its peer is the test.
struct Sender : InState {
    explicit Sender(Profile profile = {}) : InState(State::established, profile) {
        z.drop_association();
        z.listening = false;
    }
    std::vector<std::uint32_t> tsns(const std::vector<InFlight>& packets) const {
        std::vector<std::uint32_t> all;
        for (const InFlight& p : packets) {
            wire::ChunkWalker walker{std::span{p.bytes}.subspan(12)};
            while (const auto c = walker.next())
                if (c->type == kData) all.push_back(wire::load_u32(c->value, 0));
        }
        return all;
    }
    /// What a sends after this SACK; gaps as pairs of offsets.
    std::vector<InFlight> sack(std::uint32_t cumulative, std::vector<std::uint32_t> gaps = {},
                               std::uint32_t window = 100'000, IpAddress from = kZ1) {
        auto value = be32({cumulative, window, static_cast<std::uint32_t>(gaps.size()) << 16});
        for (const std::uint32_t gap : gaps)
            for (const std::uint8_t b : be32({gap})) value.push_back(b);
        InFlight p = packet(own_tag());
        p.source = from;
        append_chunk(p, kSack, 0, value);
        a.input(p);
        return capture();
    }
    void send(int messages, std::size_t bytes = 1000) {
        for (int i = 0; i < messages; ++i) a.send(0, std::string(bytes, 'x'));
    }
    std::uint32_t outstanding() const { return a.association->path(0).outstanding_bytes; }
    std::uint32_t cwnd() const { return a.association->path(0).cwnd_bytes; }
};

constexpr std::uint32_t gap(std::uint32_t start, std::uint32_t end) {
    return start << 16 | end;
}

/// z is up and hears what the test says.
struct Receiver : Pair {
    explicit Receiver(Profile profile = {}, std::uint32_t tsn = 1000) : Pair(70, profile) {
        z.input(init_packet({}, {.streams_out = 65535, .tsn = tsn}));
        const InFlight echo = cookie_echo_for(z.sink.sent[0]);
        z.sink.sent.clear();
        z.input(echo);
        capture();
    }
    std::vector<InFlight> data(std::uint32_t tsn, std::uint16_t stream, std::uint16_t ssn,
                               std::uint8_t flags, std::string_view text) {
        InFlight p = packet_to_z(*this);
        append_data(p, tsn, stream, ssn, flags, text);
        z.input(p);
        return capture();
    }
    void wait(Duration time) {  // what z says meanwhile is lost
        lose = [](const InFlight&) { return true; };
        advance(time);
        lose = nullptr;
    }
};

std::optional<wire::Sack> sack_of(const std::vector<InFlight>& packets,
                                  std::vector<std::uint8_t>& kept) {
    for (const InFlight& p : packets)
        if (p.has(wire::ChunkType::sack)) {
            kept = value_of(p, kSack);
            return wire::parse_sack(kept);
        }
    return std::nullopt;
}

}  // namespace

TEST_CASE("DAT-7: a message leaves in one chunk, or in first, middle and last ones in TSN order",
          "[d-v-8-1][d-v-8-2]") {
    Sender s;
    s.a.send(4, "short");
    auto packets = s.capture();
    REQUIRE(packets.size() == 1);
    const auto chunk = wire::ChunkWalker{std::span{packets[0].bytes}.subspan(12)}.next();
    CHECK((chunk->flags & 3) == 3);
    s.sack(wire::load_u32(chunk->value, 0));
    s.a.send(4, std::string(4000, 'x'));
    std::vector<unsigned> flags;
    for (const InFlight& p : s.capture()) {
        wire::ChunkWalker walker{std::span{p.bytes}.subspan(12)};
        while (const auto c = walker.next()) {
            flags.push_back(c->flags & 3u);
            CHECK(wire::load_u16(c->value, 4) == 4);  // stream
            CHECK(wire::load_u16(c->value, 6) == 1);  // one SSN for all
        }
        CHECK(p.bytes.size() <= 1480);
    }
    CHECK(flags == std::vector<unsigned>{2, 0, 1});
}

TEST_CASE("DAT-7: fragments are put together in any order, and the greatest message arrives whole",
          "[d-v-8-3][d-v-8-13][d-v-8-15]") {
    std::vector<int> order{0, 1, 2, 3};
    do {
        Receiver r;
        const std::string_view parts[]{"fi", "rst ", "and ", "last"};
        for (const int i : order)
            r.data(1000u + static_cast<std::uint32_t>(i), 2, 0,
                   i == 0   ? 2
                   : i == 3 ? 1
                            : 0,
                   parts[i]);
        REQUIRE(r.z.messages.size() == 1);
        CHECK(r.z.messages[0].data == "first and last");
    } while (std::next_permutation(order.begin(), order.end()));
    Receiver r;
    const std::string part(1024, 'y');
    for (std::uint32_t i = 0; i < 64; ++i)
        r.data(1000 + i, 2, 0, i == 0 ? 2 : i == 63 ? 1 : 0, part);
    REQUIRE(r.z.messages.size() == 1);
    CHECK(r.z.messages[0].data.size() == kMaxMessageBytes);
    for (std::uint32_t i = 0; i < 65 && r.z.state() == State::established; ++i)
        r.data(1064 + i, 2, 1, i == 0 ? 2 : i == 64 ? 1 : 0, part);
    CHECK(r.z.messages.size() == 1);
    CHECK(r.z.saw(Event::aborted));
}

TEST_CASE("D13: the greatest message is sent, one byte more is refused before it is queued",
          "[d-v-8-14]") {
    Pair pair{71};
    pair.connect();
    CHECK(pair.a.send(0, std::string(kMaxMessageBytes, 'x')) == SendStatus::ok);
    CHECK(pair.a.send(0, std::string(kMaxMessageBytes + 1, 'x')) == SendStatus::too_long);
    CHECK(pair.a.send(0, "") == SendStatus::too_long);
    pair.advance(5s);
    REQUIRE(pair.z.messages.size() == 1);
    CHECK(pair.z.messages[0].data.size() == kMaxMessageBytes);
}

TEST_CASE("DAT-5: a SACK frees what it covers, from whatever address of the peer it comes",
          "[d-v-8-4][d-v-8-10]") {
    Sender s;
    s.send(3);
    const auto tsn = s.tsns(s.capture());
    REQUIRE(tsn.size() == 3);
    CHECK(s.outstanding() == 3000);
    s.sack(tsn[0]);
    CHECK(s.outstanding() == 2000);
    s.sack(tsn[2], {}, 100'000, kZ2);
    CHECK(s.outstanding() == 0);
    CHECK(s.a.association->queued_bytes() == 0);
}

TEST_CASE("DAT-2, DAT-5: T3 runs while something is outstanding, sends it again, backs off",
          "[d-i-8-5][rt-i-11-2]") {
    Sender s;
    s.send(1);
    const auto first = s.tsns(s.capture());
    CHECK(s.a.association->next_deadline() == s.now + 1s);
    std::vector<Duration> times;
    const Time start = s.now;
    s.lose = [&](const InFlight& p) {
        if (p.has(wire::ChunkType::data)) {
            times.push_back(s.now - start);
            CHECK(wire::load_u32(value_of(p, kData), 0) == first[0]);
        }
        return true;
    };
    s.advance(40s);
    CHECK(times == std::vector<Duration>{1s, 3s, 7s, 15s, 31s});
    CHECK(s.a.association->path(0).rto == 32s);
    CHECK(s.cwnd() == 1468);
    s.lose = nullptr;
    s.sack(first[0]);
    CHECK(s.outstanding() == 0);
    CHECK(s.a.association->next_deadline() > s.now + 1s);  // T3 is off
    CHECK(s.a.association->is_consistent());
}

TEST_CASE("PATH-2: DATA is given up after Association.Max.Retrans, and a SACK clears the count",
          "[fh-i-5-1-1][fh-i-5-1-2]") {
    Profile profile;
    profile.rto_max = 2s;
    profile.association_max_retransmits = profile.path_max_retransmits = 4;
    Sender s{profile};
    s.send(1);
    const auto tsn = s.tsns(s.capture());
    s.lose = [](const InFlight&) { return true; };
    s.advance(6s);  // 1, 3, 5: three failures
    CHECK(s.a.association->path(0).error_count == 3);
    s.lose = nullptr;
    s.sack(tsn[0]);
    CHECK(s.a.association->path(0).error_count == 0);
    s.send(1);
    std::size_t sent = 0;
    s.lose = [&sent](const InFlight& p) {
        sent += p.has(wire::ChunkType::data);
        return true;
    };
    s.advance(60s);
    CHECK(sent == 5);
    CHECK(s.a.count(Event::lost) == 1);
    CHECK(s.a.state() == State::closed);
}

TEST_CASE("DAT-5: the RTO follows the round trips that were measured", "[rt-i-11-1]") {
    Profile profile;
    profile.rto_min = 10ms;
    profile.sack_delay = 0ms;
    Pair pair{72, profile};
    pair.latency = 50ms;
    pair.connect();
    for (int i = 0; i < 50; ++i) {
        pair.a.send(0, "x");
        pair.exchange();
    }
    CHECK(pair.a.association->path(0).srtt == 100ms);
    CHECK(pair.a.association->path(0).rto < 130ms);
    pair.latency = 200ms;
    for (int i = 0; i < 100; ++i) {
        pair.a.send(0, "x");
        pair.exchange();
    }
    CHECK(pair.a.association->path(0).srtt > 390ms);
    CHECK(pair.a.association->path(0).rto > 400ms);
}

TEST_CASE("DAT-5: Karn's rule: what was sent twice measures nothing") {
    Profile profile;
    profile.rto_min = 10ms;
    Sender s{profile};
    s.send(1);
    const auto tsn = s.tsns(s.capture());
    const Duration before = s.a.association->path(0).srtt;
    s.advance(1s);
    s.capture();
    s.sack(tsn[0]);
    CHECK(s.a.association->path(0).srtt == before);
}

TEST_CASE("DAT-3: duplicates are reported at once, a SACK covers all DATA of a packet",
          "[d-o-8-6][a-v-9-1][a-v-9-2][a-o-9-3][bdc-v-7-7]") {
    Receiver r;
    std::vector<std::uint8_t> kept;
    auto sack = sack_of(r.data(1000, 0, 0, 3, "first"), kept);
    REQUIRE(sack);  // 5.1: the first at once
    CHECK(sack->cumulative_tsn.value == 1000);
    InFlight bundle = packet_to_z(r);
    for (std::uint16_t i = 1; i < 6; ++i) append_data(bundle, 1000u + i, 0, i, 3, "more");
    r.z.input(bundle);
    CHECK(r.capture().empty());  // one packet: it may wait
    r.wait(200ms);
    r.data(1006, 0, 6, 3, "x");
    r.wait(300ms);
    CHECK(r.z.messages.size() == 7);
    sack = sack_of(r.data(1008, 0, 8, 3, "ahead"), kept);
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 1006);
    REQUIRE(sack->gap_count() == 1);
    CHECK(sack->gap(0) == wire::GapBlock{2, 2});
    for (int i = 0; i < 3; ++i)
        r.z.input([&] {
            InFlight p = packet_to_z(r);
            append_data(p, 1003, 0, 3, 3, "again");
            return p;
        }());
    const auto answers = r.capture();
    CHECK(answers.size() == 3);
    for (const InFlight& answer : answers) {
        sack = sack_of({answer}, kept);
        REQUIRE(sack);
        CHECK(sack->duplicate_count() == 1);
    }
    InFlight both = packet_to_z(r);  // SACK and DATA together
    r.z.send(0, "out");
    const auto out = r.capture();
    auto value = be32({wire::load_u32(value_of(out.at(0), kData), 0), 100'000, 0});
    append_chunk(both, kSack, 0, value);
    append_data(both, 1007, 0, 7, 3, "in");
    r.z.input(both);
    CHECK(r.z.association->queued_bytes() == 0);
    CHECK(r.z.messages.size() == 9);
}

TEST_CASE("DAT-9: a SACK that is due rides in front of DATA of the same burst", "[bdc-v-7-7]") {
    Receiver r;
    r.data(1000, 0, 0, 3, "a");
    r.data(1001, 0, 1, 3, "b");  // its SACK may wait
    r.z.send(0, "answer");
    const auto out = r.capture();
    REQUIRE(out.size() == 1);
    CHECK(out[0].types() == Types{kSack, kData});
}

TEST_CASE("DAT-6: into a closed window goes one chunk after an RTO, whole or a fragment",
          "[d-o-8-7][d-o-8-8]") {
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}}) {
        INFO(bytes);
        Sender s;
        s.send(1, bytes);
        const auto tsn = s.tsns(s.capture());
        s.sack(tsn.back(), {}, 0);
        s.send(5, bytes);
        CHECK(s.capture().empty());
        std::vector<Duration> times;
        const Time start = s.now;
        std::vector<std::uint32_t> probed;
        s.lose = [&](const InFlight& p) {
            if (p.has(wire::ChunkType::data)) {
                times.push_back(s.now - start);
                for (const std::uint32_t t : s.tsns({p})) probed.push_back(t);
            }
            return true;
        };
        s.advance(999ms);
        CHECK(times.empty());
        s.advance(3s);
        CHECK(times.size() == 2);
        REQUIRE_FALSE(probed.empty());
        CHECK(std::count(probed.begin(), probed.end(), probed[0]) == 2);  // one chunk, again
        CHECK(s.outstanding() <= 1468);
        s.lose = nullptr;
        CHECK_FALSE(s.sack(probed[0], {}, 100'000).empty());
    }
}

TEST_CASE(
    "D09, DAT-6: a peer that answers and never consumes is aborted by policy, its messages come "
    "back") {
    Profile profile = kProfileSigtranLan;
    profile.receive_window_bytes = 8000;
    Pair pair{77, profile};
    pair.connect();
    pair.z.consuming = false;
    int accepted = 0;
    for (int i = 0; i < 40; ++i)
        accepted += pair.a.send(0, std::string(500, 'x')) == SendStatus::ok;
    pair.advance(9s);
    CHECK(pair.a.state() == State::established);
    CHECK(pair.now - pair.a.association->stalled_since() > 8s);
    pair.advance(2s);
    CHECK(pair.a.state() == State::closed);
    CHECK(pair.a.count(Event::aborted) == 1);
    CHECK(pair.z.saw(Event::aborted));
    Environment env = pair.a.env();
    int back = 0;
    while (pair.a.association->take_back(env)) ++back;
    pair.z.consuming = true;
    CHECK(back > 20);
    CHECK(back < accepted);
    // One that consumes slowly is no such peer, nor is one that is not heard.
    Pair slow{78, profile};
    slow.connect();
    slow.z.consuming = false;
    for (int i = 0; i < 40; ++i) slow.a.send(0, std::string(500, 'x'));
    for (int s = 0; s < 10; ++s) {
        slow.advance(4s);
        slow.z.drain_ready();
    }
    CHECK(slow.a.state() == State::established);
}

TEST_CASE("DAT-5: what was reported missing goes again before anything new", "[d-v-8-9]") {
    Sender s;
    s.send(4);
    const auto tsn = s.tsns(s.capture());
    REQUIRE(tsn.size() == 4);
    s.send(6);
    s.sack(tsn[0] - 1, {gap(2, 2)});
    s.sack(tsn[0] - 1, {gap(2, 3)});
    const auto again = s.tsns(s.sack(tsn[0] - 1, {gap(2, 4)}));
    REQUIRE_FALSE(again.empty());
    CHECK(again[0] == tsn[0]);
    CHECK(s.a.counters.get(Count::tx_fast_retransmits) == 1);
    CHECK(s.a.counters.get(Count::t3_expiries) == 0);
}

TEST_CASE("S05: an old SACK changes nothing, 100,000 times", "[d-o-8-12]") {
    Sender s;
    s.send(4);
    const auto tsn = s.tsns(s.capture());
    s.sack(tsn[2]);
    const auto before = picture(s.a);
    InFlight old = s.packet(s.own_tag());
    append_chunk(old, kSack, 0, be32({tsn[1], 5, 0}));
    for (int i = 0; i < 100'000; ++i) s.a.input(old);
    CHECK(picture(s.a) == before);
    CHECK(s.a.drops(Drop::sack_old) == 100'000);
    CHECK(s.capture().empty());
}

TEST_CASE(
    "S03: SACKs ahead of delivery raise cwnd by no more than what they acknowledge, and to a cap") {
    Profile profile;
    profile.send_buffer_bytes = 64 * 1024;
    Sender s{profile};
    std::uint32_t last = s.cwnd();
    for (int round = 0; round < 500; ++round) {
        s.send(40);
        const auto tsn = s.tsns(s.capture());
        if (tsn.empty()) break;
        s.sack(tsn.back());
        CHECK(s.cwnd() <= last + 1468);
        last = s.cwnd();
    }
    CHECK(s.cwnd() <= profile.send_buffer_bytes + 1468);
    CHECK(s.a.state() == State::established);
}

TEST_CASE("S04: SACKs that renege and alternate cause no storm of retransmissions") {
    Sender s;
    s.send(200, 1000);
    std::vector<std::uint32_t> tsn = s.tsns(s.capture());
    for (int i = 0; i < 5; ++i) {
        const auto more = s.tsns(s.sack(tsn.back()));
        if (more.empty()) break;
        tsn = more;
    }
    REQUIRE(tsn.size() >= 4);
    const std::uint32_t cumulative = tsn[0] - 1;
    const auto n = static_cast<std::uint32_t>(tsn.size());
    std::size_t sent = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::uint32_t> gaps;
        for (std::uint32_t at = 2 + static_cast<std::uint32_t>(round & 1); at <= n; at += 2)
            gaps.push_back(gap(at, at));
        for (const InFlight& p : s.sack(cumulative, gaps)) sent += s.tsns({p}).size();
        REQUIRE(s.a.association->is_consistent());
    }
    CHECK(sent < 2000u * 2);  // not each time all
    CHECK(s.a.state() == State::established);
}

TEST_CASE("S06: a window that flaps or is one byte wide draws at most a chunk for each SACK") {
    Sender s;
    s.send(100, 1000);
    auto tsn = s.tsns(s.capture());
    std::uint32_t last = tsn.back();
    std::size_t chunks = 0;
    for (int i = 0; i < 20; ++i) {
        const auto more = s.tsns(s.sack(last, {}, 1));
        chunks += more.size();
        if (!more.empty()) last = more.back();
    }
    CHECK(chunks <= 20);
    for (int i = 0; i < 10'000; ++i) {
        const auto more = s.tsns(s.sack(last, {}, i % 2 == 0 ? 0 : 64'000));
        if (!more.empty()) last = more.back();
        REQUIRE(s.a.association->is_consistent());
    }
    CHECK(s.a.state() == State::established);
    Profile profile;  // and we never advertise less than a packet
    profile.receive_window_bytes = 8000;
    Receiver r{profile};
    r.z.consuming = false;
    std::vector<std::uint8_t> kept;
    for (std::uint32_t i = 0; i < 12; ++i) {
        const auto sack = sack_of(
            r.data(1000 + i, 0, static_cast<std::uint16_t>(i), 3 | 8, std::string(700, 'x')), kept);
        REQUIRE(sack);
        CHECK((sack->a_rwnd_bytes == 0 || sack->a_rwnd_bytes >= 1500));
    }
}

TEST_CASE(
    "S08: ECNE and CWR that nobody agreed on change nothing, without an association they are "
    "out of the blue") {
    for (const State state : kOpenStates) {
        INFO(name_of(state));
        InState it{state};
        const auto before = picture(it.a);
        CHECK(it.chunk(12, 0, be32({1})).empty());
        CHECK(it.chunk(13, 0, be32({1})).empty());
        CHECK(picture(it.a) == before);
    }
    Pair closed{73};
    closed.z.listening = false;
    for (const std::uint8_t type : {std::uint8_t{12}, std::uint8_t{13}}) {
        InFlight p = packet_to_z(7u);
        append_chunk(p, type, 0, be32({1}));
        closed.z.sink.sent.clear();
        closed.z.input(p);
        REQUIRE(closed.z.sink.sent.size() == 1);
        CHECK(closed.z.sink.sent[0].first_type() == 6);
    }
}

TEST_CASE("D03: messages that begin on 65,535 streams and never end cost no more than the window") {
    Receiver r;
    const std::size_t pages = r.z.pages.taken;
    std::uint32_t tsn = 1000;
    for (std::uint32_t stream = 0; stream < 65'535; ++stream, tsn += 2) {
        InFlight p = packet_to_z(r);
        append_data(p, tsn, static_cast<std::uint16_t>(stream), 0, 2, "begins");
        r.z.input(p);
        if (stream % 512 == 0) r.capture();
    }
    CHECK(r.z.state() == State::established);
    CHECK(r.z.messages.empty());
    const std::size_t held = (r.z.pages.taken - pages) * mem::kPageBytes;
    CHECK(held < 262'144 * 3);
    CHECK(r.z.drops(Drop::data_window_full) + r.z.drops(Drop::data_out_of_range) > 40'000);
    CHECK(r.z.drops(Drop::data_duplicate) == 0);
    r.z.drop_association();
    CHECK(r.z.blocks.blocks_in_use() == 0);
}

TEST_CASE("D07: the first SSN missing on every stream: what waits is charged and bounded") {
    Receiver r;
    std::uint32_t tsn = 1000;
    for (std::uint32_t i = 0; i < 20'000; ++i, ++tsn) {
        InFlight p = packet_to_z(r);
        append_data(p, tsn, static_cast<std::uint16_t>(i % 64),
                    static_cast<std::uint16_t>(1 + i / 64), 3, "waits");
        r.z.input(p);
        if (i % 256 == 0) r.capture();
    }
    CHECK(r.z.messages.empty());
    CHECK(r.z.association->receive_window() == 0);
    CHECK(r.z.drops(Drop::data_window_full) > 10'000);
    CHECK(r.z.association->is_consistent());
    CHECK(r.z.pages.taken * mem::kPageBytes < 262'144 * 3);
}

TEST_CASE("D11: every packet twice: nothing is delivered twice") {
    Pair pair{74};
    pair.connect();
    for (int i = 0; i < 200; ++i) {
        pair.a.send(static_cast<std::uint16_t>(i % 10), std::to_string(i));
        pair.z.send(static_cast<std::uint16_t>(i % 10), std::to_string(i));
        for (const InFlight& p : pair.capture()) {
            pair.deliver(p);
            pair.deliver(p);
        }
    }
    pair.advance(2s);
    CHECK(pair.z.messages.size() == 200);
    CHECK(pair.a.messages.size() == 200);
    CHECK(pair.z.drops(Drop::data_duplicate) >= 200);
}

TEST_CASE("D10: TSN and SSN wrap under 10 % loss, nothing lost, nothing twice") {
    Pair pair{75, kProfileSigtranLan};
    pair.a.profile.association_max_retransmits = pair.a.profile.path_max_retransmits = 10'000;
    pair.z.profile = pair.a.profile;
    pair.connect();
    RandomSource random{3};
    pair.lose = [&random](const InFlight&) { return random.below(10) == 0; };
    for (int i = 0; i < 70'000; ++i) {  // SSN wraps on stream 0
        while (pair.a.send(0, std::to_string(i)) != SendStatus::ok) pair.advance(50ms);
        if (i % 64 == 63) pair.advance(2ms);
    }
    pair.advance(120s);
    REQUIRE(pair.z.messages.size() == 70'000);
    for (std::size_t i = 0; i < 70'000; ++i) REQUIRE(pair.z.messages[i].data == std::to_string(i));
    Receiver wraps{{}, 0xfffffff0};
    wraps.data(0xfffffff0, 0, 0, 3, "before");
    for (std::uint32_t i = 31; i > 0; --i)
        wraps.data(0xfffffff0 + i, 0, static_cast<std::uint16_t>(i), 3, "x");
    CHECK(wraps.z.messages.size() == 32);
}

TEST_CASE(
    "DAT-3: however many packets a burst brings, each second one is acknowledged, and each gap") {
    Receiver r;
    r.data(1000, 0, 0, 3, "first");
    const auto burst = [&](std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t tsn = first; tsn <= last; ++tsn) {
            InFlight p = packet_to_z(r);
            append_data(p, tsn, 0, static_cast<std::uint16_t>(tsn - 1000), 3, "x");
            r.z.input(p);
        }
        std::vector<std::uint32_t> acked;
        std::vector<std::uint8_t> kept;
        for (const InFlight& p : r.capture())
            acked.push_back(sack_of({p}, kept)->cumulative_tsn.value);
        return acked;
    };
    CHECK(burst(1001, 1008) == std::vector<std::uint32_t>{1002, 1004, 1006, 1008});
    CHECK(burst(1010, 1013) == std::vector<std::uint32_t>(4, 1008));  // RFC 9260 6.7
    CHECK(burst(1009, 1009) == std::vector<std::uint32_t>{1013});
}

TEST_CASE(
    "RFC 9260 7.2.1: each SACK of a burst lets the window grow, and only a window that was full") {
    Sender s;
    for (int i = 0; i < 20; ++i) s.a.send(0, std::string(1000, 'x'));
    const std::uint32_t first = s.tsns(s.capture()).at(0);
    const auto acknowledge = [&](std::uint32_t tsn) {
        InFlight p = s.packet(s.own_tag());
        append_chunk(p, kSack, 0, be32({tsn, 100'000, 0}));
        s.a.input(p);
    };
    CHECK(s.cwnd() == 4404);  // five messages are on their way
    acknowledge(first + 1);
    acknowledge(first + 3);
    CHECK(s.cwnd() == 4404 + 2 * 1468);
    acknowledge(first + 4);  // all that was sent
    const std::uint32_t grown = s.cwnd();
    s.now += 1ms;
    s.a.now = s.now;
    REQUIRE(s.tsns(s.capture()).size() > 5);
    s.now += 1ms;
    s.a.now = s.now;
    acknowledge(first + 5);
    CHECK(s.cwnd() == grown + 1000);  // by what was acknowledged
    s.a.now = s.now += 1ms;
    acknowledge(first + 7);  // there was time to send, and nothing was: no growth for the next ones
    s.a.now = s.now += 1ms;
    const std::uint32_t idle = s.cwnd();
    acknowledge(first + 9);
    CHECK(s.cwnd() == idle);
}

TEST_CASE("DATA without data is answered by ABORT", "[d-i-8-11]") {
    Receiver r;
    const auto said = r.data(1000, 0, 0, 3, "");
    REQUIRE(said.size() == 1);
    CHECK(value_of(said[0], 6) == std::vector<std::uint8_t>{0, 9, 0, 8, 0, 0, 3, 232});
}

TEST_CASE("DAT-8: DATA on a stream that does not exist is reported with its number", "[e-i-6-3]") {
    Pair pair{76};
    pair.connect();
    InFlight p = packet_to_z(pair);
    const std::uint32_t tsn = wire::load_u32(
        [&] {
            pair.a.send(0, "x");
            return value_of(pair.capture().at(0), kData);
        }(),
        0);
    append_data(p, tsn, 16, 0, 3, "no such stream");
    pair.z.input(p);
    const auto said = pair.capture();
    REQUIRE_FALSE(said.empty());
    CHECK(value_of(said.front(), 9) == std::vector<std::uint8_t>{0, 1, 0, 8, 0, 16, 0, 0});
    CHECK(wire::load_u32(value_of(said.back(), kSack), 0) == tsn);
    CHECK(pair.z.messages.empty());
}
