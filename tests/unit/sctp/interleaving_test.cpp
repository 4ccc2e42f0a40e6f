// SPDX-License-Identifier: Apache-2.0
// RFC 8260: I-DATA, I-FORWARD-TSN and the stream schedulers; RFC 7053.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t kIData = 64;
constexpr std::uint8_t kIForwardTsn = 194;
const std::vector<std::uint8_t> kOffersIData{0x80, 0x08, 0x00, 0x06, kIData, kIForwardTsn, 0, 0};

Profile interleaving(Scheduler scheduler = Scheduler::fcfs) {
    Profile p;
    p.message_interleaving = true;
    p.scheduler = scheduler;
    return p;
}

struct CraftedIData : Crafted {
    CraftedIData() : Crafted(interleaving(), kOffersIData) {}
    void i_data(std::uint32_t tsn, std::uint16_t stream, std::uint32_t mid, std::uint32_t fsn,
                std::uint8_t flags, std::string_view text) {
        std::vector<std::uint8_t> value =
            be32({tsn, std::uint32_t{stream} << 16, mid, (flags & 2) != 0 ? 3 : fsn});
        value.insert(value.end(), text.begin(), text.end());
        chunk(kIData, flags, value);
    }
};

/// Messages in the order in which they were sent.
std::string order_of(const Endpoint& e) {
    std::string all;
    for (const Received& m : e.messages) all += m.data[0];
    return all;
}

std::size_t count_immediate(const std::vector<InFlight>& packets) {
    std::size_t n = 0;
    for (const InFlight& p : packets) {
        wire::ChunkWalker walker{std::span{p.bytes}.subspan(12)};
        while (const auto c = walker.next()) n += c->type == 0 && (c->flags & 8) != 0;
    }
    return n;
}

}  // namespace

TEST_CASE("DAT-10: I-DATA is used when both ends offer it") {
    const bool z_offers = GENERATE(true, false);
    Pair pair{1, interleaving()};
    pair.z.profile.message_interleaving = z_offers;
    pair.connect();
    pair.a.send(1, "a message");
    const auto sent = pair.capture();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].has(wire::ChunkType::i_data) == z_offers);
    pair.deliver(sent[0]);
    CHECK(pair.z.messages.size() == 1);
}

TEST_CASE("DAT-10: a short message overtakes a long one on another stream, with I-DATA only") {
    const bool both = GENERATE(true, false);
    Pair pair{1, interleaving(Scheduler::round_robin)};
    pair.z.profile.message_interleaving = both;
    pair.connect();
    pair.a.send(1, std::string(60000, 'L'));
    pair.flush();
    pair.a.send(2, "S");
    pair.advance(10s);
    CHECK(order_of(pair.z) == (both ? "SL" : "LS"));
    CHECK(pair.z.messages[both ? 1 : 0].data.size() == 60000);
}

TEST_CASE("DAT-10: messages of any size and kind arrive whole and in order as I-DATA under loss") {
    Profile profile = interleaving(Scheduler::round_robin);
    Pair pair{9, profile};
    pair.connect();
    RandomSource dice{77};
    pair.lose = [&](const InFlight&) { return dice.below(10) == 0; };
    std::array<std::vector<std::string>, 4> sent;
    for (int i = 0; i < 200; ++i) {
        const auto stream = static_cast<std::uint16_t>(dice.below(4));
        std::string text(1 + dice.below(5000), static_cast<char>('a' + i % 26));
        pair.a.send(stream, text);
        sent[stream].push_back(std::move(text));
        if (i % 10 == 0) pair.a.send(5, std::string(3000, 'u'), true);
        pair.advance(50ms);
    }
    pair.advance(600s);
    REQUIRE(pair.z.messages.size() == 220);
    std::array<std::size_t, 4> at{};
    for (const Received& m : pair.z.messages)
        if (m.stream < 4) CHECK(m.data == sent[m.stream][at[m.stream]++]);
    CHECK(pair.z.association->receive_window() == profile.receive_window_bytes);
}

TEST_CASE("D04: DATA where I-DATA was agreed ends the association") {
    CraftedIData c;
    c.data(1000, 0, 0, 3, "wrong form");
    CHECK(c.z.saw(Event::aborted));
    CHECK(c.capture()[0].first_type() == 6);
}

TEST_CASE("D04: I-DATA that was not agreed is an unknown chunk of type 01") {
    Crafted c;
    InFlight packet = packet_to_z(c);
    append_chunk(packet, kIData, 3, be32({1000, 0, 0, 3, 0x41414141}));
    append_data(packet, 1000, 0, 0, 3, "behind it");
    c.z.input(packet);
    CHECK(c.z.drops(Drop::chunk_unknown) == 1);
    CHECK(c.z.messages.empty());  // the rest of the packet is not looked at
    CHECK(c.capture()[0].first_type() == 9);
    CHECK(c.z.state() == State::established);
}

TEST_CASE("D04: fragments of I-DATA that contradict each other end the association") {
    struct Row {
        const char* what;
        std::uint32_t mid, fsn;
        std::uint8_t flags;
    };
    const auto row = GENERATE(values<Row>({{"two first ones", 0, 0, 2},
                                           {"the same number twice", 0, 1, 0},
                                           {"beyond the last", 0, 4, 0},
                                           {"two last ones", 0, 5, 1},
                                           {"the last one before others", 0, 2, 1},
                                           {"number 0 that is not the first", 1, 0, 0}}));
    INFO(row.what);
    CraftedIData c;
    c.i_data(1000, 0, 0, 0, 2, "first");
    c.i_data(1001, 0, 0, 1, 0, "second");
    c.i_data(1003, 0, 0, 3, 1, "last");
    CHECK(c.z.state() == State::established);
    c.i_data(1004, 0, row.mid, row.fsn, row.flags, "?");
    CHECK(c.z.saw(Event::aborted));
    CHECK(c.z.drops(Drop::data_protocol_violation) == 1);
    CHECK(c.z.messages.empty());
}

TEST_CASE("RFC 8260 2.2: fragments of several messages may come mixed, in any order") {
    CraftedIData c;
    c.i_data(1004, 0, 1, 1, 1, "d");
    c.i_data(1001, 0, 1, 0, 2, "c");
    c.i_data(1003, 7, 0, 0, 6, "u");
    c.i_data(1002, 0, 0, 1, 1, "b");
    c.i_data(1005, 7, 0, 1, 5, "v");
    c.i_data(1000, 0, 0, 0, 2, "a");
    REQUIRE(c.z.messages.size() == 3);
    CHECK(c.z.messages[0].data == "uv");
    CHECK(c.z.messages[1].data == "ab");
    CHECK(c.z.messages[2].data == "cd");
    CHECK(c.sack()->cumulative_tsn == Tsn{1005});
}

TEST_CASE("D10: MID wraps with I-DATA, SSN with DATA, out and in") {
    const bool both = GENERATE(true, false);
    Pair pair{3, interleaving()};
    pair.z.profile.message_interleaving = both;
    pair.connect();
    const Mid start{both ? 0xfffffffeu : 65534u};
    Environment at_a = pair.a.env();
    Environment at_z = pair.z.env();
    for (const std::uint16_t stream : {std::uint16_t{1}, std::uint16_t{15}}) {
        REQUIRE(pair.a.association->continue_stream(at_a, StreamId{stream}, start, start));
        REQUIRE(pair.z.association->continue_stream(at_z, StreamId{stream}, start, start));
    }
    RandomSource dice{6};
    pair.lose = [&](const InFlight&) { return dice.below(10) == 0; };
    for (int i = 0; i < 12; ++i) {
        const std::uint16_t stream = i % 2 != 0 ? 1 : 15;
        pair.a.send(stream, std::string(2000, static_cast<char>('a' + i)));
        pair.z.send(stream, std::string(100, static_cast<char>('a' + i)));
    }
    pair.advance(300s);
    CHECK(pair.z.messages.size() == 12);
    CHECK(pair.a.messages.size() == 12);
    char last[2] = {};
    for (const Received& m : pair.z.messages) {
        CHECK(m.data[0] > last[m.stream == 1]);
        last[m.stream == 1] = m.data[0];
    }
}

TEST_CASE("D14: I-FORWARD-TSN skips ordered and unordered messages by MID") {
    CraftedIData c;
    c.i_data(1000, 0, 0, 0, 2, "begun");
    c.i_data(1001, 4, 0, 0, 6, "unordered, begun");
    c.i_data(1003, 0, 2, 0, 3, "whole");
    std::vector<std::uint8_t> skip = be32({1002, 0u << 16, 1, 4u << 16 | 1, 0});
    c.chunk(kIForwardTsn, 0, skip);
    REQUIRE(c.z.messages.size() == 1);
    CHECK(c.z.messages[0].data == "whole");
    CHECK(c.z.drops(Drop::data_skipped) == 2);
    c.i_data(1004, 0, 1, 1, 9, "was under way");  // to be acknowledged at once
    CHECK(c.z.drops(Drop::data_skipped) == 3);
    CHECK(c.z.state() == State::established);
    CHECK(c.sack()->cumulative_tsn == Tsn{1004});
    c.chunk(kIForwardTsn, 0, be32({1005, 0}));  // half an entry
    CHECK(c.z.drops(Drop::forward_tsn_malformed) == 1);
    c.chunk(192, 0, be32({1005}));  // the other form
    CHECK(c.z.drops(Drop::chunk_unexpected) + c.z.drops(Drop::chunk_unknown) == 1);
}

TEST_CASE("RFC 8260 2.3: interleaved messages past their lifetime are given up, others arrive") {
    Pair pair{4, interleaving(Scheduler::round_robin)};
    pair.connect();
    RandomSource dice{5};
    pair.lose = [&](const InFlight&) { return dice.below(5) == 0; };
    for (std::uint16_t i = 0; i < 40; ++i) {
        const auto stream = static_cast<std::uint16_t>(i % 8);
        pair.a.send_limited(stream, std::string(6000, 'l'), {.lifetime = 200ms}, i % 5 == 0);
        pair.a.send(stream, "reliable");
        pair.advance(30ms);
    }
    pair.lose = nullptr;
    pair.advance(300s);
    std::size_t reliable = 0;
    for (const Received& m : pair.z.messages) reliable += m.data == "reliable";
    CHECK(reliable == 40);
    CHECK(pair.a.drops(Drop::message_abandoned) > 0);
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.z.association->receive_window() == pair.z.profile.receive_window_bytes);
}

TEST_CASE("DAT-11: interleaved messages come back whole") {
    Pair pair{4, interleaving(Scheduler::round_robin)};
    pair.connect();
    pair.lose = [](const InFlight&) { return true; };
    for (std::uint16_t stream = 0; stream < 3; ++stream)
        pair.a.send(stream, std::string(5000, static_cast<char>('a' + stream)));
    pair.flush();
    pair.a.abort();
    Environment env = pair.a.env();
    std::size_t count = 0;
    while (const auto back = pair.a.association->take_back(env)) {
        ++count;
        CHECK(back->message.data.size() == 5000);
        for (const std::uint8_t byte : back->message.data)
            REQUIRE(byte == 'a' + back->message.stream.value);
    }
    CHECK(count == 3);
}

TEST_CASE("DAT-10: each scheduler serves streams in its own order (RFC 8260 3)") {
    struct Row {
        const char* what;
        Scheduler scheduler;
        std::array<std::uint16_t, 3> values;  // of streams 1 to 3
        std::size_t size_1;
        const char* order;
    };
    const auto row = GENERATE(values<Row>({
        {"first come", Scheduler::fcfs, {}, 300, "aaabbbc"},
        {"in turns", Scheduler::round_robin, {}, 300, "abcabab"},
        {"by priority", Scheduler::priority, {5, 1, 0}, 300, "cbbbaaa"},
        {"equal priorities in turns", Scheduler::priority, {1, 1, 0}, 300, "cababab"},
        {"by bytes", Scheduler::fair, {}, 900, "abcbbaa"},
        {"by weight", Scheduler::weighted, {1, 3, 1}, 300, "abcbbaa"},
    }));
    INFO(row.what);
    const bool interleaved = GENERATE(false, true);
    Profile profile = interleaving(row.scheduler);
    profile.message_interleaving = interleaved;
    for (std::size_t i = 0; i < 3; ++i) profile.scheduler_values[i + 1] = row.values[i];
    Pair pair{1, profile};
    pair.connect();
    for (int i = 0; i < 3; ++i) pair.a.send(1, std::string(row.size_1, 'a'));
    for (int i = 0; i < 3; ++i) pair.a.send(2, std::string(300, 'b'));
    pair.a.send(3, std::string(300, 'c'));
    pair.advance(5s);
    CHECK(order_of(pair.z) == row.order);
}

TEST_CASE("DAT-10: a stream's priority can be set while the association lives") {
    Profile profile;
    profile.scheduler = Scheduler::priority;
    profile.streams_out = 100;
    Pair pair{1, profile};
    pair.connect();
    Environment env = pair.a.env();
    CHECK(pair.a.association->set_stream_value(env, StreamId{1}, 9));
    CHECK(pair.a.association->set_stream_value(env, StreamId{90}, 8));
    CHECK_FALSE(pair.a.association->set_stream_value(env, StreamId{100}, 8));
    pair.a.send(1, "a");
    pair.a.send(90, "b");
    pair.a.send(2, "c");
    pair.advance(1s);
    CHECK(order_of(pair.z) == "cba");
}

TEST_CASE("RFC 7053: the last DATA before SHUTDOWN asks for a SACK at once, DATA before it not") {
    Pair pair;
    pair.connect();
    for (int i = 0; i < 3; ++i) pair.a.send(0, "message");
    CHECK(count_immediate(pair.capture()) == 0);
    pair.advance(3s);  // sent again, acknowledged
    for (int i = 0; i < 3; ++i) pair.a.send(0, "message");
    pair.a.shutdown();
    CHECK(count_immediate(pair.capture()) == 1);
}

TEST_CASE("RFC 7053: a lone DATA that fills the peer's window asks for a SACK at once") {
    Crafted c{{}, {}, {.a_rwnd = 1500}};
    c.z.send(0, std::string(1400, 'x'));
    c.z.send(0, std::string(1400, 'y'));
    const auto sent = c.capture();
    REQUIRE(sent.size() == 1);
    CHECK(count_immediate(sent) == 0);  // there is room for 100 bytes more
    Crafted d{{}, {}, {.a_rwnd = 1500}};
    d.z.send(0, std::string(1400, 'x'));
    d.z.send(0, std::string(100, 'x'));
    d.z.send(0, std::string(100, 'y'));
    CHECK(count_immediate(d.capture()) == 1);  // the one that closes it while more waits
}

TEST_CASE("RFC 7053: DATA with the I bit is acknowledged without delay") {
    Crafted c;
    c.data(1000, 0, 0, 3, "first");
    CHECK(c.sack().has_value());
    c.data(1001, 0, 1, 3, "delayed");
    CHECK_FALSE(c.sack().has_value());
    c.data(1002, 0, 2, 3, "second packet");
    CHECK(c.sack().has_value());
    c.data(1003, 0, 3, 11, "at once");
    CHECK(c.sack().has_value());
}
