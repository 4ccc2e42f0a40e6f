// SPDX-License-Identifier: Apache-2.0
// RFC 6525: stream reset and added streams, both ways.
#include <catch2/catch.hpp>

#include "crafted.h"
#include "wire/re_config.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;
using wire::ParameterType;
using wire::ReconfigResult;

namespace {

constexpr auto kReConfig = static_cast<std::uint8_t>(wire::ChunkType::re_config);
const std::vector<std::uint8_t> kOffersReConfig{0x80, 0x08, 0x00, 0x05, kReConfig, 0, 0, 0};

Profile resetting() {
    Profile p = kProfileSigtranLan;
    p.stream_reset = true;
    return p;
}

struct Pairing : Pair {
    explicit Pairing(Profile profile = resetting()) : Pair(5, profile) { connect(); }
    ReconfigStatus reset(Endpoint& e, StreamDirection direction, std::vector<StreamId> list = {}) {
        Environment env = e.env();
        return e.association->reset_streams(env, direction, list);
    }
    ReconfigStatus add(Endpoint& e, StreamDirection direction, std::uint16_t count) {
        Environment env = e.env();
        return e.association->add_streams(env, direction, count);
    }
    ReconfigStatus reset_tsns(Endpoint& e) {
        Environment env = e.env();
        return e.association->reset_tsns(env);
    }
};

/// z is up with a crafted peer whose request numbers begin at its initial TSN.
struct CraftedRequests : Crafted {
    explicit CraftedRequests(std::uint32_t tsn = 1000, std::uint16_t streams = 10)
        : Crafted(resetting(), kOffersReConfig, {.streams_out = streams, .tsn = tsn}) {}
    void request(const wire::ReconfigRequest& r) {
        std::vector<std::uint8_t> bytes(1500);
        wire::PacketWriter out{bytes, {kPortA, kPortZ, z.association->local_tag()}};
        out.begin_chunk(wire::ChunkType::re_config);
        wire::write_reconfig_request(out, r);
        out.end_chunk();
        bytes.resize(out.size());
        z.input(InFlight{kA1, kZ1, bytes});
    }
    /// Results of the responses that z sends now.
    std::vector<ReconfigResult> results() {
        std::vector<ReconfigResult> all;
        for (const InFlight& p : capture()) {
            wire::ChunkWalker walker{std::span{p.bytes}.subspan(12)};
            while (const auto c = walker.next()) {
                if (c->type != kReConfig) continue;
                wire::ParameterWalker parameters{c->value};
                while (const auto parameter = parameters.next())
                    if (const auto r = wire::parse_reconfig_response(*parameter))
                        all.push_back(static_cast<ReconfigResult>(r->result));
            }
        }
        return all;
    }
    void add(std::uint32_t number, std::uint16_t count) {
        request({.type = ParameterType::add_outgoing_streams,
                 .number = {number},
                 .count = count,
                 .streams = {}});
    }
    void reset(std::uint32_t number, std::uint32_t last_tsn, std::vector<std::uint8_t> list) {
        request({.type = ParameterType::outgoing_ssn_reset,
                 .number = {number},
                 .last_tsn = {last_tsn},
                 .streams = list});
    }
};

using Results = std::vector<ReconfigResult>;

}  // namespace

TEST_CASE("R01: RE-CONFIG that was not negotiated is an unknown chunk, and off by default") {
    Crafted c{{}, kOffersReConfig};
    CHECK_FALSE(c.z.association->extensions().has(Extension::re_config));
    c.chunk(kReConfig, 0, be32({13u << 16 | 16u, 1000, 0, 999}));
    CHECK(c.z.drops(Drop::chunk_unknown) == 1);
    CHECK(c.capture().empty());  // type 10: skipped without a report
}

TEST_CASE("R01: a repeated request gets the same response, one out of turn an error") {
    const std::uint32_t first = GENERATE(1000u, 0xfffffffeu);  // and across the wrap
    CraftedRequests c{first};
    for (std::uint32_t i = 0; i < 5; ++i) {
        c.add(first + i, 1);
        CHECK(c.results() == Results{ReconfigResult::performed});
        c.add(first + i, 1);
        CHECK(c.results() == Results{ReconfigResult::performed});
        CHECK(c.z.association->streams_in() == 11 + i);
    }
    for (const std::uint32_t wrong : {first + 6, first + 0x7fffffff, first + 2, first - 1}) {
        c.add(wrong, 1);
        CHECK(c.results() == Results{ReconfigResult::bad_sequence_number});
    }
    CHECK(c.z.association->streams_in() == 15);
    CHECK(c.z.drops(Drop::reconfig_bad_number) == 4);
}

TEST_CASE("R01: responses without a request and malformed ones are ignored") {
    CraftedRequests c;
    for (const std::uint32_t number : {0u, 999u, c.z.association->local_tag().value})
        c.chunk(kReConfig, 0, be32({16u << 16 | 12u, number, 1}));
    CHECK(c.z.drops(Drop::reconfig_unmatched) == 3);
    c.chunk(kReConfig, 0, {});
    c.chunk(kReConfig, 0, be32({13u << 16 | 12u, 1000, 0}));              // too short
    c.chunk(kReConfig, 0, be32({15u << 16 | 8u, 1000, 99u << 16 | 4u}));  // unknown second
    c.chunk(kReConfig, 0, be32({15u << 16 | 8u, 1, 15u << 16 | 8u, 2, 15u << 16 | 8u, 3}));
    c.chunk(kReConfig, 0, be32({15u << 16 | 400u, 1000}));  // lies
    CHECK(c.z.drops(Drop::reconfig_malformed) == 5);
    CHECK(c.results().empty());
    CHECK(c.z.state() == State::established);
}

TEST_CASE("R02: unknown streams are Wrong SSN, DATA under way is In progress, doubles are fine") {
    CraftedRequests c;
    c.data(1000, 3, 0, 3, "0");
    c.data(1001, 4, 0, 3, "0");
    c.reset(1000, 1001, {0, 3, 0, 10});
    CHECK(c.results() == Results{ReconfigResult::wrong_ssn});
    c.reset(1001, 1002, {0, 3, 0, 3});
    CHECK(c.results() == Results{ReconfigResult::in_progress});
    CHECK_FALSE(c.z.saw(Event::streams_reset));
    c.data(1002, 3, 1, 3, "1");
    c.reset(1001, 1002, {0, 3, 0, 3});
    CHECK(c.results() == Results{ReconfigResult::performed});
    CHECK(c.z.count(Event::streams_reset) == 1);
    c.data(1003, 3, 0, 3, "begins anew");
    c.data(1004, 4, 1, 3, "goes on");
    CHECK(c.z.messages.size() == 5);
}

TEST_CASE("R02: as many streams as fit a packet, and all") {
    CraftedRequests c{1000, 65535};
    std::vector<std::uint8_t> list;
    for (unsigned i = 0; i < 700; ++i)
        list.insert(list.end(),
                    {static_cast<std::uint8_t>(i * 90 >> 8), static_cast<std::uint8_t>(i * 90)});
    c.data(1000, 63, 0, 3, "x");
    c.reset(1000, 999, list);
    CHECK(c.results() == Results{ReconfigResult::performed});
    const std::size_t pages = c.z.pages.taken;
    c.reset(1001, 999, {});
    CHECK(c.results() == Results{ReconfigResult::performed});
    CHECK(c.z.pages.taken == pages);  // a reset touches what was used and takes nothing
}

TEST_CASE("R03: streams beyond 65535 or beyond the limit are denied whole") {
    CraftedRequests c{1000, 65000};
    c.add(1000, 65535);
    CHECK(c.results() == Results{ReconfigResult::denied});
    c.add(1001, 536);
    CHECK(c.results() == Results{ReconfigResult::denied});
    CHECK(c.z.association->streams_in() == 65000);
    c.add(1002, 535);
    CHECK(c.results() == Results{ReconfigResult::performed});
    CHECK(c.z.association->streams_in() == 65535);
    c.add(1003, 0);
    CHECK(c.results() == Results{ReconfigResult::nothing_to_do});
}

TEST_CASE("RFC 6525 5.1.2: outgoing streams begin anew after everything older arrived") {
    Pairing pair;
    for (int i = 0; i < 50; ++i) pair.a.send(static_cast<std::uint16_t>(i % 3), "before");
    REQUIRE(pair.reset(pair.a, StreamDirection::outgoing, {{1}, {2}}) == ReconfigStatus::ok);
    CHECK(pair.reset(pair.a, StreamDirection::outgoing) == ReconfigStatus::busy);
    for (int i = 0; i < 9; ++i) pair.a.send(static_cast<std::uint16_t>(i % 3), "after");
    pair.advance(5s);
    CHECK(pair.z.messages.size() == 59);
    CHECK(pair.a.count(Event::streams_reset) == 1);
    CHECK(pair.z.count(Event::streams_reset) == 1);
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.z.state() == State::established);
}

TEST_CASE("RFC 6525 5.1.3: the peer is asked to reset its streams, and does") {
    Pairing pair;
    for (int i = 0; i < 10; ++i) pair.z.send(4, "before");
    REQUIRE(pair.reset(pair.a, StreamDirection::incoming, {{4}}) == ReconfigStatus::ok);
    pair.z.send(4, "meanwhile");
    pair.advance(5s);
    pair.z.send(4, "after");
    pair.advance(1s);
    CHECK(pair.a.messages.size() == 12);
    CHECK(pair.a.count(Event::streams_reset) == 1);
    CHECK(pair.z.count(Event::streams_reset) == 1);
    CHECK(pair.reset(pair.a, StreamDirection::incoming) == ReconfigStatus::ok);  // free again
    pair.advance(1s);
    CHECK(pair.z.count(Event::streams_reset) == 2);
}

TEST_CASE("RFC 6525 5.1.4: TSNs and all streams begin anew on both sides") {
    Pairing pair;
    for (int i = 0; i < 20; ++i) {
        pair.a.send(1, std::string(3000, 'a'));
        pair.z.send(1, std::string(3000, 'z'));
    }
    REQUIRE(pair.reset_tsns(pair.a) == ReconfigStatus::ok);
    for (int i = 0; i < 20; ++i) {
        pair.a.send(1, "after");
        pair.z.send(1, "after");
        pair.advance(20ms);
    }
    pair.advance(10s);
    CHECK(pair.a.saw(Event::streams_reset));
    CHECK(pair.z.saw(Event::streams_reset));
    CHECK(pair.z.messages.size() == 40);
    CHECK(pair.a.messages.size() == 40);
}

TEST_CASE("RFC 6525 5.2.4: a message is finished before TSNs begin anew, whoever's turn it is") {
    Profile profile = resetting();
    profile.message_interleaving = true;
    profile.scheduler = Scheduler::priority;
    profile.scheduler_values = {0, 5};
    Pairing pair{profile};
    pair.z.send(1, std::string(60000, 'L'));
    pair.flush();
    REQUIRE(pair.reset_tsns(pair.a) == ReconfigStatus::ok);
    pair.advance(1ms);
    pair.z.send(0, "S");  // would go first, and waits: only the rest of the long one is sent
    pair.advance(200s);
    REQUIRE(pair.a.messages.size() == 2);
    CHECK(pair.a.messages[0].data == std::string(60000, 'L'));
    CHECK(pair.a.messages[1].data == "S");
    CHECK(pair.a.saw(Event::streams_reset));
}

TEST_CASE("RFC 6525: added streams carry messages, those sent before the answer too") {
    Pairing pair;
    const std::uint16_t before = pair.a.association->streams_out();
    CHECK(pair.a.send(before, "too early") == SendStatus::bad_stream);
    REQUIRE(pair.add(pair.a, StreamDirection::outgoing, 30) == ReconfigStatus::ok);
    CHECK(pair.a.send(static_cast<std::uint16_t>(before + 29), "waits") == SendStatus::ok);
    pair.advance(2s);
    CHECK(pair.a.association->streams_out() == before + 30);
    CHECK(pair.z.association->streams_in() == before + 30);
    REQUIRE(pair.z.messages.size() == 1);
    CHECK(pair.z.messages[0].stream == before + 29);
    REQUIRE(pair.add(pair.a, StreamDirection::incoming, 5) == ReconfigStatus::ok);
    pair.advance(2s);
    CHECK(pair.z.association->streams_out() == 16 + 5);
    CHECK(pair.a.association->streams_in() == 16 + 5);
}

TEST_CASE("STR-2: denied add-streams purges and reports what was queued") {
    Profile profile = resetting();
    profile.streams_in = 16;
    Pairing pair{profile};
    REQUIRE(pair.add(pair.a, StreamDirection::outgoing, 4) == ReconfigStatus::ok);
    pair.a.send(18, "one");
    pair.a.send(17, std::string(4000, '2'));
    pair.a.send(0, "other streams go on");
    pair.advance(2s);
    CHECK(pair.a.association->streams_out() == 16);
    CHECK(pair.a.saw(Event::reconfiguration_refused));
    CHECK(pair.a.drops(Drop::stream_not_added) == 2);
    CHECK(pair.a.count(Event::send_failed) == 1);
    CHECK(pair.a.association->queued_bytes() == 0);
    CHECK(pair.z.messages.size() == 1);
}

TEST_CASE(
    "STR-2: streams are added without a page; what needs one is refused, and nothing is lost") {
    Pairing pair;
    pair.a.send(0, "a block's page is there");
    pair.advance(1s);
    const std::uint16_t before = pair.a.association->streams_out();
    const std::size_t pages = pair.a.pages.taken;
    pair.a.pages.refuse = pair.z.pages.refuse = true;
    REQUIRE(pair.add(pair.a, StreamDirection::outgoing, 60000) == ReconfigStatus::ok);
    const auto last = static_cast<std::uint16_t>(before + 60000 - 1);
    CHECK(pair.a.send(last, "refused") == SendStatus::no_memory);
    pair.advance(2s);
    CHECK(pair.a.pages.taken == pages);
    CHECK(pair.a.association->streams_out() == before + 60000);
    CHECK(pair.z.association->streams_in() == before + 60000);
    CHECK(pair.a.send(last, "refused") == SendStatus::no_memory);
    CHECK(pair.a.association->queued_bytes() == 0);
    pair.a.pages.refuse = false;
    CHECK(pair.a.send(last, "sent") == SendStatus::ok);
    pair.a.send(0, "behind it");
    pair.advance(200ms);
    CHECK(pair.z.drops(Drop::data_no_memory) > 0);
    CHECK(pair.a.association->queued_bytes() > 0);
    pair.z.pages.refuse = false;
    pair.advance(60s);
    CHECK(pair.z.messages.size() == 3);
    CHECK(pair.a.association->queued_bytes() == 0);
}

TEST_CASE("RFC 6525: without the agreement, or out of the established state, nothing is asked") {
    Pairing pair{kProfileSigtranLan};
    CHECK(pair.reset(pair.a, StreamDirection::outgoing) == ReconfigStatus::not_negotiated);
    pair.a.shutdown();
    CHECK(pair.reset_tsns(pair.a) == ReconfigStatus::not_open);
}

TEST_CASE("RFC 6525: a reset under way does not keep SHUTDOWN back, nor lose what it holds") {
    Pairing pair;
    pair.a.send(2, "before");
    REQUIRE(pair.reset(pair.a, StreamDirection::outgoing, {{2}}) == ReconfigStatus::ok);
    pair.a.send(2, "held");
    pair.a.shutdown();
    pair.advance(5s);
    CHECK(pair.z.messages.size() == 2);
    CHECK(pair.a.saw(Event::closed));
    CHECK(pair.z.saw(Event::closed));
}

TEST_CASE("DAT-11: what waits for a reset is taken back when the association ends") {
    Pairing pair;
    pair.lose = [](const InFlight&) { return true; };
    pair.a.send(2, "sent");
    pair.reset(pair.a, StreamDirection::outgoing);
    pair.a.send(2, "held");
    pair.advance(60s);
    REQUIRE(pair.a.saw(Event::lost));
    Environment env = pair.a.env();
    CHECK(pair.a.association->take_back(env)->sent);
    CHECK_FALSE(pair.a.association->take_back(env)->sent);
    CHECK_FALSE(pair.a.association->take_back(env).has_value());
}

TEST_CASE("R01: an unanswered request is repeated with its number, and a dead peer is noticed") {
    Pairing pair;
    std::vector<std::uint32_t> numbers;
    pair.lose = [&](const InFlight& p) {
        if (p.first_type() == kReConfig) numbers.push_back(wire::load_u32(p.bytes, 20));
        return true;
    };
    pair.add(pair.a, StreamDirection::outgoing, 1);
    pair.advance(60s);
    CHECK(pair.a.saw(Event::lost));
    REQUIRE(numbers.size() > 2);
    for (const std::uint32_t n : numbers) CHECK(n == numbers[0]);
}

TEST_CASE("HS-6 case A: a restart forgets requests, their numbers begin anew") {
    Pairing pair;
    pair.add(pair.z, StreamDirection::outgoing, 3);
    pair.lose = [](const InFlight&) { return true; };
    pair.advance(50ms);
    pair.lose = nullptr;
    pair.a.drop_association();
    pair.connect();
    pair.advance(1s);
    REQUIRE(pair.z.saw(Event::restarted));
    CHECK(pair.add(pair.a, StreamDirection::outgoing, 3) == ReconfigStatus::ok);
    pair.advance(1s);
    CHECK(pair.a.association->streams_out() == 19);
}
