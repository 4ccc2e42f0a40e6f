// SPDX-License-Identifier: Apache-2.0
// DATA and SACK: sections DAT of the requirements, D, S, V, P and X of the adversarial list.
#include <catch2/catch.hpp>

#include "crafted.h"
#include "wire/sack.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

std::uint32_t first_tsn(const std::vector<InFlight>& packets) {
    for (const InFlight& p : packets) {
        wire::ChunkWalker walker{std::span{p.bytes}.subspan(12)};
        while (const auto c = walker.next())
            if (c->type == 0) return wire::load_u32(c->value, 0);
    }
    return 0;
}

}  // namespace

TEST_CASE("DAT-3: SACK at once on the first DATA, a gap, a closed gap, a duplicate and the I bit") {
    Crafted c;
    c.data(1000, 0, 0, 3, "a");
    CHECK(c.sack());
    c.data(1001, 0, 1, 3, "b");
    CHECK_FALSE(c.sack());
    c.data(1002, 0, 2, 3, "c");
    CHECK(c.sack()->cumulative_tsn.value == 1002);
    c.data(1003, 0, 3, 3 | 8, "I bit");
    CHECK(c.sack());
    c.data(1005, 0, 5, 3, "gap");
    auto sack = c.sack();
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 1003);
    REQUIRE(sack->gap_count() == 1);
    CHECK(sack->gap(0) == wire::GapBlock{2, 2});
    c.data(1005, 0, 5, 3, "gap");
    sack = c.sack();
    REQUIRE(sack);
    REQUIRE(sack->duplicate_count() == 1);
    CHECK(sack->duplicate(0).value == 1005);
    c.data(1004, 0, 4, 3, "closes it");
    sack = c.sack();
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 1005);
    CHECK(c.z.messages.size() == 6);
    CHECK(c.z.drops(Drop::data_duplicate) == 1);
    CHECK(c.z.blocks.blocks_in_use() == 0);
}

TEST_CASE("DAT-3: a lone DATA is acknowledged after the delay") {
    Crafted c;
    c.data(1000, 0, 0, 3, "a");
    c.capture();
    c.data(1001, 0, 1, 3, "b");
    CHECK(c.z.association->next_deadline() == c.now + 200ms);
    c.advance(199ms);
    CHECK(c.wire.empty());
    c.z.now += 1ms;
    c.z.advance();
    CHECK(c.sack());
}

TEST_CASE(
    "D01: DATA on a stream that was not negotiated is acknowledged and reported, not delivered") {
    Crafted c;
    c.data(1000, 10, 0, 3, "no such stream");
    c.data(1001, 65535, 0, 3, "nor this");
    CHECK(c.z.messages.empty());
    CHECK(c.z.drops(Drop::data_invalid_stream) == 2);
    const auto sack = c.sack();
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 1001);
    CHECK(c.kept[0].first_type() == 9);
    CHECK(c.kept[0].bytes[17] == 1);
}

TEST_CASE("D02: DATA without user data is answered by ABORT that names the TSN") {
    Crafted c;
    c.data(1000, 0, 0, 3, "");
    CHECK(c.z.saw(Event::aborted));
    const auto packets = c.capture();
    REQUIRE(packets.size() == 1);
    CHECK(packets[0].first_type() == 6);
    CHECK(packets[0].bytes[17] == 9);
    CHECK(wire::load_u32(packets[0].bytes, 20) == 1000);
}

TEST_CASE("D04: fragments that contradict each other end the association") {
    SECTION("a middle without a beginning") {
        Crafted c;
        c.data(1000, 0, 0, 0, "m");
        CHECK(c.z.saw(Event::aborted));
    }
    SECTION("two beginnings") {
        Crafted c;
        c.data(1000, 0, 0, 2, "b");
        c.data(1001, 0, 0, 2, "b");
        CHECK(c.z.saw(Event::aborted));
    }
    SECTION("another stream in the middle") {
        Crafted c;
        c.data(1000, 0, 0, 2, "b");
        c.data(1001, 1, 0, 1, "e");
        CHECK(c.z.saw(Event::aborted));
    }
    SECTION("the contradiction comes from the front") {
        Crafted c;
        c.data(1001, 0, 0, 0, "m");
        c.data(1000, 0, 0, 3, "whole");
        CHECK(c.z.saw(Event::aborted));
    }
}

TEST_CASE("D05: a TSN at the far edge is dropped") {
    Crafted c;
    c.data(999 + 0x7fffffffu, 0, 0, 3, "far");
    c.data(999 + kTsnMapBits, 0, 0, 3, "one too far");
    CHECK(c.z.drops(Drop::data_out_of_range) == 2);
    CHECK(c.z.blocks.blocks_in_use() == 0);
}

TEST_CASE("D06, DAT-4: every second TSN only: the gap blocks are ordered, disjoint and isolated") {
    Crafted c;
    for (std::uint32_t i = 1; i < 2000; i += 2)
        c.data(1000 + i, 0, static_cast<std::uint16_t>(i), 3, "x");
    const auto sack = c.sack();
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 999);
    REQUIRE(sack->gap_count() > 100);
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < sack->gap_count(); ++i) {
        CHECK(sack->gap(i).start > end + 1);
        end = sack->gap(i).end;
    }
    CHECK(c.z.association->receive_window() <= 262144 - 1000 * 65);
    CHECK(c.z.association->is_consistent());
}

TEST_CASE("D08, DAT-1: at a closed window a new high TSN is dropped, a missing low one is taken") {
    Profile profile;
    profile.receive_window_bytes = 4000;
    Crafted c{profile};
    const std::string text(936, 'x');
    for (std::uint32_t i = 1; i <= 4; ++i)
        c.data(1000 + i, 0, static_cast<std::uint16_t>(i), 3, text);
    CHECK(c.z.association->receive_window() == 0);
    c.capture();
    c.data(1005, 0, 5, 3, text);
    CHECK(c.z.drops(Drop::data_window_full) == 1);
    CHECK(c.sack()->a_rwnd_bytes == 0);
    c.data(1000, 0, 0, 3, text);  // 1004 is given up for it
    const auto sack = c.sack();
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn.value == 1003);
    CHECK(c.z.messages.size() == 4);
    CHECK(sack->a_rwnd_bytes == 4000);
    c.data(1004, 0, 4, 3, text);
    CHECK(c.z.messages.size() == 5);
}

TEST_CASE("D10: TSN and SSN wrap without loss") {
    Pair pair{78};
    pair.z.input(init_packet({}, {.tsn = 0xfffffffe}));
    const InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    pair.z.input(echo);
    for (std::uint32_t i = 0; i < 70000; ++i) {
        const std::uint32_t swapped = i ^ 1;  // each pair in the wrong order
        InFlight packet = packet_to_z(pair);
        append_data(packet, 0xfffffffe + swapped, 0, static_cast<std::uint16_t>(swapped), 3,
                    std::to_string(swapped));
        pair.z.input(packet);
    }
    REQUIRE(pair.z.messages.size() == 70000);
    for (std::size_t i = 0; i < 70000; ++i) REQUIRE(pair.z.messages[i].data == std::to_string(i));
}

TEST_CASE("D13: a message over the limit is never delivered in part") {
    Profile profile;
    profile.receive_window_bytes = 1 << 20;
    Crafted c{profile};
    const std::string piece(1400, 'x');
    for (std::uint32_t i = 0; i < 60 && c.z.state() == State::established; ++i)
        c.data(1000 + i, 0, 0, i == 0 ? 2 : 0, piece);
    CHECK(c.z.saw(Event::aborted));
    CHECK(c.z.drops(Drop::data_too_long) == 1);
    CHECK(c.z.messages.empty());
}

TEST_CASE("D12: DATA behind COOKIE ECHO is taken, DATA after the peer's SHUTDOWN is not") {
    Pair pair{79};
    pair.z.input(init_packet({}));
    InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    append_data(echo, 1000, 0, 0, 3, "early");
    pair.z.input(echo);
    REQUIRE(pair.z.messages.size() == 1);
    InFlight down = packet_to_z(pair);
    pair.z.send(0, "keeps z in SHUTDOWN-RECEIVED");
    const auto sent = pair.capture();
    append_chunk(down, 7, 0, be32({first_tsn(sent) - 1}));
    append_data(down, 1001, 0, 1, 3, "late");
    pair.z.input(down);
    CHECK(pair.z.state() == State::shutdown_received);
    CHECK(pair.z.messages.size() == 1);
    CHECK(pair.z.drops(Drop::data_not_accepted) == 1);
}

TEST_CASE(
    "S01, S02, S05: impossible SACKs are dropped whole, a SACK of what was never sent ends it") {
    Crafted c;
    for (int i = 0; i < 4; ++i) c.z.send(0, std::string(1000, 'x'));
    const std::uint32_t tsn = first_tsn(c.capture());
    const auto sack = [&c](std::uint32_t cum, std::vector<std::uint32_t> blocks,
                           std::uint32_t counts) {
        auto value = be32({cum, 100000, counts});
        for (const std::uint32_t b : blocks)
            for (const std::uint8_t byte : be32({b})) value.push_back(byte);
        c.chunk(3, 0, value);
    };
    const std::uint32_t queued = c.z.association->queued_bytes();
    sack(tsn - 1, {0x00030002}, 1u << 16);              // start > end
    sack(tsn - 1, {0x00000001}, 1u << 16);              // start 0
    sack(tsn - 1, {0x00030003, 0x00020002}, 2u << 16);  // unsorted
    sack(tsn - 1, {0x00020003, 0x00030003}, 2u << 16);  // overlapping
    sack(tsn - 1, {}, 65535u << 16 | 65535u);           // counts lie
    CHECK(c.z.drops(Drop::sack_malformed) == 5);
    CHECK(c.z.association->queued_bytes() == queued);
    sack(tsn, {}, 0);
    CHECK(c.z.association->queued_bytes() == queued - 1000);
    sack(tsn - 1, {}, 0);
    CHECK(c.z.drops(Drop::sack_old) == 1);
    CHECK(c.z.state() == State::established);
    SECTION("cumulative") {
        sack(tsn + 4, {}, 0);
    }
    SECTION("in a gap block") {
        sack(tsn, {0x00040004}, 1u << 16);
    }
    SECTION("S07: by SHUTDOWN") {
        c.chunk(7, 0, be32({tsn + 4}));
    }
    CHECK(c.z.saw(Event::aborted));
    CHECK(c.z.drops(Drop::sack_unsent) == 1);
}

TEST_CASE("V01: any chunk with a wrong tag changes nothing and is answered by nothing") {
    Crafted c;
    const auto tag = c.z.association->local_tag().value;
    for (unsigned type = 0; type < 256; ++type) {
        for (std::uint8_t flags = 0; flags < 2; ++flags) {
            InFlight packet = packet_to_z(tag ^ 0x5a5a5a5a);
            append_chunk(packet, static_cast<std::uint8_t>(type), flags,
                         std::vector<std::uint8_t>(24, 1));
            c.z.input(packet);
        }
    }
    CHECK(c.z.state() == State::established);
    CHECK(c.capture().empty());
    CHECK(c.z.events.size() == 1);
}

TEST_CASE("V02: ABORT is believed with our tag and T clear, or the peer's and T set") {
    const auto attempt = [](bool peers, std::uint8_t flags) {
        Crafted c;
        InFlight packet = packet_to_z(peers ? c.z.association->remote_tag().value
                                            : c.z.association->local_tag().value);
        append_chunk(packet, 6, flags, {});
        c.z.input(packet);
        return c.z.state() == State::closed;
    };
    CHECK(attempt(false, 0));
    CHECK(attempt(true, 1));
    CHECK_FALSE(attempt(true, 0));
    CHECK_FALSE(attempt(false, 1));
}

TEST_CASE("P02, P09, X03: lying lengths end the packet; reports and echoes fit one packet") {
    Crafted c;
    InFlight lies = packet_to_z(c);
    lies.bytes.insert(lies.bytes.end(), {0, 3, 0, 2, 0, 0, 0, 0});
    c.z.input(lies);
    CHECK(c.z.drops(Drop::chunk_bad_length) == 1);
    CHECK(c.capture().empty());
    InFlight unknown = packet_to_z(c);
    for (int i = 0; i < 300; ++i) append_chunk(unknown, 0xfe, 0, {});
    c.z.input(unknown);
    const auto reports = c.capture();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].bytes.size() <= unknown.bytes.size() + 32);
    InFlight stops = packet_to_z(c);
    append_chunk(stops, 0x3e, 0, {});
    append_data(stops, 1000, 0, 0, 3, "not reached");
    c.z.input(stops);
    CHECK(c.z.messages.empty());
    InFlight beats = packet_to_z(c);
    for (int i = 0; i < 90; ++i) append_chunk(beats, 4, 0, {0, 1, 0, 5, 7, 0, 0, 0});
    c.z.input(beats);
    const auto echoes = c.capture();
    REQUIRE(echoes.size() == 1);
    CHECK(echoes[0].bytes.size() <= beats.bytes.size());
    CHECK(c.z.drops(Drop::chunk_too_many) == 236 + 26);
}

TEST_CASE("END-2, V07: out of the blue is answered once, by the RFC's rules") {
    Pair pair{80};
    pair.z.listening = false;
    const auto answer = [&pair](const InFlight& packet) {
        pair.z.sink.sent.clear();
        pair.z.input(packet);
        return pair.z.sink.sent.empty() ? std::vector<std::uint8_t>{} : pair.z.sink.sent[0].bytes;
    };
    for (const std::uint8_t type : {std::uint8_t{6}, std::uint8_t{14}, std::uint8_t{11}}) {
        InFlight packet = packet_to_z(0x1234);
        append_chunk(packet, type, 0, {});
        CHECK(answer(packet).empty());
    }
    InFlight stale = packet_to_z(0x1234);
    append_chunk(stale, 9, 0, {0, 3, 0, 8, 0, 0, 0, 1});
    CHECK(answer(stale).empty());
    InFlight data = packet_to_z(0x1234);
    append_data(data, 1, 0, 0, 3, "x");
    auto bytes = answer(data);
    REQUIRE(bytes.size() == 16);
    CHECK(bytes[12] == 6);
    CHECK(bytes[13] == 1);
    CHECK(wire::load_u32(bytes, 4) == 0x1234);
    bytes = answer(init_packet({}));
    REQUIRE(bytes.size() == 16);
    CHECK(bytes[12] == 6);
    CHECK(bytes[13] == 0);
    CHECK(wire::load_u32(bytes, 4) == kCraftedTag);
    InFlight down = packet_to_z(0x1234);
    append_chunk(down, 8, 0, {});
    bytes = answer(down);
    REQUIRE(bytes.size() == 16);
    CHECK(bytes[12] == 14);
    CHECK(bytes[13] == 1);
    down.source = IpAddress::v4(0xe0000001);
    CHECK(answer(down).empty());
}

TEST_CASE(
    "DAT-6: a closed window is probed, backed off, and never counted as a failure while answered") {
    Profile profile;
    profile.receive_window_bytes = 8000;
    Pair pair{81, profile};
    pair.connect();
    pair.z.consuming = false;
    for (int i = 0; i < 60; ++i) pair.a.send(0, std::string(500, static_cast<char>('a' + i % 26)));
    pair.advance(600s);
    CHECK(pair.a.state() == State::established);
    CHECK(pair.a.association->path(0).error_count == 0);
    CHECK(pair.a.association->queued_bytes() > 0);
    CHECK(pair.now - pair.a.association->stalled_since() > 500s);
    CHECK(pair.sent < 200);
    pair.z.consuming = true;
    pair.z.drain_ready();
    pair.advance(120s);
    REQUIRE(pair.z.messages.size() == 60);
    for (std::size_t i = 0; i < 60; ++i)
        CHECK(pair.z.messages[i].data[0] == static_cast<char>('a' + i % 26));
}

TEST_CASE("DAT-8: a refused page is a chunk not received; it is sent again and nothing is lost") {
    Pair pair{82};
    pair.connect();
    pair.z.pages.refuse = true;
    bool lost = false;
    pair.lose = [&lost](const InFlight& p) {
        return p.has(wire::ChunkType::data) && !std::exchange(lost, true);
    };
    for (int i = 0; i < 10; ++i) {
        pair.a.send(0, std::to_string(i));
        pair.exchange();
    }
    CHECK(pair.z.drops(Drop::data_no_memory) > 0);
    pair.z.pages.refuse = false;
    pair.advance(60s);
    CHECK(pair.z.messages.size() == 10);
    pair.a.pages.refuse = true;
    SendStatus status = SendStatus::ok;
    for (int i = 0; i < 1000 && status == SendStatus::ok; ++i)
        status = pair.a.send(1, std::string(3000, 'x'));
    CHECK(status == SendStatus::no_memory);
    CHECK(pair.a.association->is_consistent());
}

TEST_CASE("DAT-9: what is queued in one burst leaves in as few packets as fit") {
    Pair pair{83};
    pair.connect();
    for (int i = 0; i < 20; ++i) pair.a.send(0, std::string(50, 'x'));
    const auto packets = pair.capture();
    CHECK(packets.size() == 1);
    CHECK(packets[0].types().size() == 20);
}

TEST_CASE("DAT-11: after the end, unsent and unacknowledged messages are taken back in order") {
    Pair pair{84};
    pair.connect();
    pair.lose = [](const InFlight& p) { return p.has(wire::ChunkType::data); };
    for (int i = 0; i < 30; ++i) pair.a.send(0, std::to_string(i) + std::string(2000, '.'));
    pair.exchange();
    pair.a.abort();
    Environment env = pair.a.env();
    int n = 0;
    bool was_sent = true;
    while (const auto unsent = pair.a.association->take_back(env)) {
        CHECK(std::stoi(
                  std::string(reinterpret_cast<const char*>(unsent->message.data.data()), 4)) == n);
        CHECK((was_sent || !unsent->sent));
        was_sent = unsent->sent;
        ++n;
    }
    CHECK(n == 30);
    CHECK_FALSE(was_sent);
    CHECK(pair.a.association->queued_bytes() == 0);
}

TEST_CASE("decision 8: what is kept of the send buffer is there for what matters more") {
    Pair pair{85};
    pair.connect();
    Environment data = pair.a.env();
    data.kept_send_bytes = data.profile.send_buffer_bytes / 16;
    const std::vector<std::uint8_t> user(1000);
    const std::span<const std::uint8_t> pieces[] = {user};
    const auto send = [&](Environment& env) {
        return pair.a.association->send(env, StreamId{1}, Ppid{3}, false, pieces);
    };
    std::size_t sent = 0;
    while (send(data) == SendStatus::ok) ++sent;
    CHECK(send(data) == SendStatus::buffer_full);
    CHECK(sent == data.profile.send_buffer_bytes / 16 * 15 / 1000);
    Environment management = pair.a.env();
    std::size_t more = 0;
    while (send(management) == SendStatus::ok) ++more;
    CHECK(more * 1000 > data.profile.send_buffer_bytes / 16 - 2000);
}
