// SPDX-License-Identifier: Apache-2.0
// Set-up as the passive side: what INIT and COOKIE ECHO may hold (RFC 9260 3.3.2, 5.1, 5.2).
#include <catch2/catch.hpp>

#include "sctp/cookie_case.h"
#include "states.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// z answers one INIT; the parameters of its INIT ACK.
struct Answer {
    explicit Answer(const InFlight& init, Profile profile = {}, std::vector<IpAddress> at_z = {kZ1})
        : pair(51, profile, {kA1}, std::move(at_z)) {
        pair.z.input(init);
        if (!pair.z.sink.sent.empty()) packet = pair.z.sink.sent[0];
        count = pair.z.sink.sent.size();
        pair.z.sink.sent.clear();
    }
    bool is_init_ack() const { return count == 1 && packet.first_type() == 2; }
    std::uint16_t streams_out() const { return wire::load_u16(packet.bytes, 24); }
    std::uint16_t streams_in() const { return wire::load_u16(packet.bytes, 26); }
    /// Values of the parameters of this type.
    std::vector<Bytes> parameters(std::uint16_t type) const {
        std::vector<Bytes> all;
        wire::ParameterWalker walker{std::span{packet.bytes}.subspan(32)};
        while (const auto p = walker.next())
            if (p->type == type) all.emplace_back(p->value.begin(), p->value.end());
        return all;
    }
    Association& up() {
        pair.z.input(cookie_echo_for(packet));
        REQUIRE(pair.z.state() == State::established);
        return *pair.z.association;
    }
    Pair pair;
    InFlight packet;
    std::size_t count = 0;
};

Bytes parameter(std::uint16_t type, const Bytes& value) {
    const std::size_t length = 4 + value.size();
    Bytes all{static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type),
              static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)};
    all.insert(all.end(), value.begin(), value.end());
    while (all.size() % 4 != 0) all.push_back(0);
    return all;
}
Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
const Bytes kAddressA2 = parameter(5, {10, 0, 1, 1});

}  // namespace

TEST_CASE("HS-1: the passive side needs nothing before COOKIE ECHO and is up with it",
          "[as-v-1-1-2][as-i-1-4]") {
    Pair pair{52};
    for (int i = 0; i < 10000; ++i) pair.z.input(init_packet({}));
    CHECK_FALSE(pair.z.association);
    CHECK(pair.z.pages.taken == 0);
    CHECK(pair.z.blocks.blocks_in_use() == 0);
    const InFlight answer = pair.z.sink.sent.back();
    CHECK(answer.types() == Types{2});
    CHECK(tag_of(answer) == kCraftedTag);
    pair.z.sink.sent.clear();
    pair.z.input(cookie_echo_for(answer));
    CHECK(pair.z.state() == State::established);
    CHECK(pair.z.count(Event::up) == 1);
    const auto acknowledged = pair.capture();
    REQUIRE(acknowledged.size() == 1);
    CHECK(acknowledged[0].types() == Types{11});
    CHECK(tag_of(acknowledged[0]) == kCraftedTag);
}

TEST_CASE("HS-1: a cookie is at most 84 bytes and 4 or 16 for each address, and holds no key",
          "[as-v-1-11-1]") {
    Answer plain{init_packet({})};
    REQUIRE(plain.parameters(7).size() == 1);
    CHECK(plain.parameters(7)[0].size() <= 84 + 4);
    Answer two{init_packet(kAddressA2)};
    CHECK(two.parameters(7)[0].size() == plain.parameters(7)[0].size() + 4);
}

TEST_CASE("PKT-3: an INIT with every optional parameter is answered", "[as-v-1-6-1]") {
    const Bytes all = kAddressA2 + parameter(9, {0, 0, 3, 232}) + parameter(12, {0, 5, 0, 6}) +
                      parameter(0x8000, {}) + parameter(0x8008, {0xc1, 0x80}) +
                      parameter(0xc000, {}) + parameter(0xc006, {0, 0, 0, 3});
    Answer answer{init_packet(all)};
    REQUIRE(answer.is_init_ack());
    CHECK(answer.up().path_count() == 2);
}

TEST_CASE(
    "HS-10, STR-4: streams are the lesser of what one wants and the other takes, at every message",
    "[as-v-1-7-1][as-v-1-7-5]") {
    Answer few{init_packet({}, {.streams_out = 40, .streams_in = 3})};
    REQUIRE(few.is_init_ack());
    CHECK(few.streams_out() == 3);
    Association& a = few.up();
    CHECK(a.streams_out() == 3);
    CHECK(a.streams_in() == 40);
    CHECK(few.pair.z.send(2, "last") == SendStatus::ok);
    CHECK(few.pair.z.send(3, "one too far") == SendStatus::bad_stream);
    Answer two{init_packet({}, {.streams_out = 2, .streams_in = 2})};
    Association& b = two.up();
    CHECK(b.streams_out() == 2);
    CHECK(b.streams_in() == 2);
    for (const std::uint16_t stream : {std::uint16_t{0}, std::uint16_t{1}}) {
        CHECK(two.pair.z.send(stream, "x") == SendStatus::ok);
        InFlight packet = packet_to_z(two.pair);
        append_data(packet, 1000u + stream, stream, 0, 3, "y");
        two.pair.z.input(packet);
    }
    CHECK(two.pair.z.messages.size() == 2);
    // 10 streams more at the restart: the mapping is redone.
    two.pair.z.input(init_packet({}, {.initiate_tag = 5, .streams_out = 12, .streams_in = 12}));
    const auto again = two.pair.capture();
    for (const InFlight& p : again)
        if (p.first_type() == 2) two.pair.z.input(cookie_echo_for(p));
    CHECK(two.pair.z.saw(Event::restarted));
    CHECK(two.pair.z.association->streams_out() == 12);
    CHECK(two.pair.z.association->streams_in() == 12);
}

TEST_CASE("PKT-3, P10: unknown parameters of INIT go on or stop, are reported or not",
          "[as-i-1-8-1][as-i-1-8-2][as-i-1-8-3][as-i-1-8-4]") {
    const struct {
        std::uint16_t type;
        bool stop, report;
    } cases[]{
        {0xf001, false, true}, {0x3001, true, false}, {0x7001, true, true}, {0xb001, false, false}};
    for (const auto& c : cases) {
        INFO(c.type);
        const Bytes unknown = parameter(c.type, {1, 2, 3, 4, 5});
        Answer answer{init_packet(unknown + kAddressA2)};
        REQUIRE(answer.is_init_ack());
        const auto reports = answer.parameters(8);
        REQUIRE(reports.size() == (c.report ? 1 : 0));
        if (c.report) CHECK(reports[0] == Bytes(unknown.begin(), unknown.begin() + 9));
        CHECK(answer.up().path_count() == (c.stop ? 1 : 2));
    }
}

TEST_CASE("HS-8, PATH-5: INIT without addresses means its source, with addresses all of them",
          "[as-v-1-10-1][as-v-1-11-1]") {
    Answer none{init_packet({})};
    CHECK(none.up().path_count() == 1);
    CHECK(none.up().remote_address(0) == kA1);
    CHECK(none.parameters(5).empty());
    Answer all{init_packet(kAddressA2 + parameter(5, {10, 0, 0, 1})), {}, {kZ1, kZ2}};
    Association& up = all.up();
    REQUIRE(up.path_count() == 2);
    CHECK(up.remote_address(0) == kA1);
    CHECK(up.remote_address(1) == kA2);
    CHECK(all.packet.source == kZ1);
    CHECK(all.packet.destination == kA1);
    CHECK(all.parameters(5) == std::vector<Bytes>{{10, 0, 0, 2}, {10, 0, 1, 2}});
}

TEST_CASE("PKT-8: Supported Address Types are no reason to refuse the address that INIT came from",
          "[as-v-1-13-1][as-i-1-13-2]") {
    CHECK(Answer{init_packet(parameter(12, {0, 5}))}.up().path_count() == 1);
    CHECK(Answer{init_packet(parameter(12, {0, 6}))}.up().path_count() == 1);
    CHECK(Answer{init_packet(parameter(12, {0, 11}))}.is_init_ack());
}

TEST_CASE("H02, imh: an INIT too short, cut off, with tag 0 or with company is nothing",
          "[as-i-1-14-1][bdc-i-7-1][imh-i-3-1][imh-i-3-8]") {
    InFlight small = packet_to_z(0u);
    append_chunk(small, 1, 0, be32({kCraftedTag, 100000, 65537}));
    CHECK(Answer{small}.count == 0);
    InFlight cut = init_packet({});
    cut.bytes.resize(cut.bytes.size() - 4);
    CHECK(Answer{cut}.count == 0);
    CHECK(Answer{init_packet({}, {.initiate_tag = 0})}.count == 0);
    InFlight company = init_packet({});
    append_data(company, 1000, 0, 0, 3, "early");
    Answer answer{company};
    CHECK(answer.count == 0);
    CHECK(answer.pair.z.drops(Drop::init_bundled) == 1);
    CHECK(answer.pair.z.messages.empty());
}

TEST_CASE("P11: a parameter of INIT that lies or ends outside condemns the INIT") {
    for (const Bytes& bad : {Bytes{0, 5, 0, 3, 1, 2, 3, 4}, Bytes{0, 5, 0, 200, 1, 2, 3, 4},
                             Bytes{0, 5, 0, 0, 0, 0, 0, 0}, kAddressA2 + Bytes{0x80, 0, 0, 12}}) {
        Answer answer{init_packet(bad)};
        CHECK(answer.count == 0);
        CHECK(answer.pair.z.drops(Drop::init_malformed) == 1);
    }
}

TEST_CASE("H05: 200 addresses are refused for want of resources, 200 times the same are one") {
    Bytes many;
    Bytes same;
    for (std::uint8_t i = 0; i < 200; ++i) {
        many = many + parameter(5, {10, 7, 7, i});
        same = same + kAddressA2;
    }
    Answer refused{init_packet(many)};
    REQUIRE(refused.count == 1);
    CHECK(refused.packet.first_type() == 6);
    CHECK(refused.packet.bytes[17] == 4);
    CHECK(Answer{init_packet(same)}.up().path_count() == 2);
}

TEST_CASE("H11: a wish for cookie life is granted up to twice our own, however great it is") {
    Answer greedy{init_packet(parameter(9, {0xff, 0xff, 0xff, 0xff}))};
    Pair& pair = greedy.pair;
    pair.advance(120s - 1ms);
    pair.z.input(cookie_echo_for(greedy.packet));
    CHECK(pair.z.state() == State::established);
    Answer late{init_packet(parameter(9, {0xff, 0xff, 0xff, 0xff}))};
    late.pair.advance(120s + 1ms);
    late.pair.z.input(cookie_echo_for(late.packet));
    CHECK(late.pair.z.last_verdict == CookieVerdict::stale);
}

TEST_CASE("HS-4, H10: an expired cookie draws its staleness and nothing behind it is looked at",
          "[imh-i-3-6]") {
    Answer answer{init_packet({})};
    Pair& pair = answer.pair;
    pair.advance(60s + 250ms);
    InFlight echo = cookie_echo_for(answer.packet);
    append_data(echo, 1000, 0, 0, 3, "late");
    pair.z.input(echo);
    CHECK(pair.z.state() == State::closed);
    CHECK(pair.z.messages.empty());
    REQUIRE(pair.z.sink.sent.size() == 1);
    const InFlight& error = pair.z.sink.sent[0];
    CHECK(error.types() == Types{9});
    CHECK(tag_of(error) == kCraftedTag);
    CHECK(value_of(error, 9) == Bytes{0, 3, 0, 8} + be32({250'000}));
    InFlight wrong = cookie_echo_for(answer.packet);
    set_tag(wrong, tag_of(wrong) ^ 1);
    pair.z.input(wrong);
    CHECK(pair.z.last_verdict == CookieVerdict::mismatch);
    CHECK(pair.z.sink.sent.size() == 1);
}

TEST_CASE("HS-4: on an association an expired cookie counts when its tags match, else it is stale",
          "[dm-o-4-8]") {
    Answer answer{init_packet({})};
    Pair& pair = answer.pair;
    answer.up();
    pair.z.input(init_packet({}, {.initiate_tag = 5}));  // a restart that comes too late
    InFlight restart;
    for (const InFlight& p : pair.capture())
        if (p.first_type() == 2) restart = cookie_echo_for(p);
    pair.now += 70s;
    pair.z.now = pair.now;
    pair.z.input(cookie_echo_for(answer.packet));
    CHECK(pair.capture().at(0).first_type() == 11);
    append_data(restart, 1000, 0, 0, 3, "late");
    pair.z.input(restart);
    const auto answers = pair.capture();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].types() == Types{9});
    CHECK(pair.z.messages.empty());
    CHECK(pair.z.count(Event::restarted) == 0);
    InFlight forged = cookie_echo_for(answer.packet);
    forged.bytes[20] ^= 1;
    const auto before = picture(pair.z);
    pair.z.input(forged);
    CHECK(pair.capture().empty());
    CHECK(picture(pair.z) == before);
    CHECK(pair.z.drops(Drop::cookie_bad_mac) == 1);
}

TEST_CASE("imh: COOKIE ECHO under another tag or with a changed cookie is dropped in silence",
          "[imh-i-3-3][imh-i-3-5]") {
    Answer answer{init_packet({})};
    InFlight other = cookie_echo_for(answer.packet);
    set_tag(other, tag_of(other) + 1);
    answer.pair.z.input(other);
    CHECK(answer.pair.z.last_verdict == CookieVerdict::mismatch);
    InFlight changed = cookie_echo_for(answer.packet);
    changed.bytes.back() ^= 1;
    answer.pair.z.input(changed);
    CHECK(answer.pair.z.last_verdict == CookieVerdict::bad_mac);
    CHECK(answer.pair.z.sink.sent.empty());
    CHECK_FALSE(answer.pair.z.association);
}

TEST_CASE("H07: also under a good MAC a cookie whose counts or lengths lie is refused") {
    RandomSource random{6};
    CookieKeys keys{random, 1};
    const std::array<std::uint8_t, 32> key{9};
    keys.rotate(key);
    HmacKey forger{key};
    CookieContents contents;
    contents.local_port = kPortZ;
    contents.remote_port = kPortA;
    contents.local_tag = {7};
    contents.local_address = kZ1;
    contents.addresses[0] = kA1;
    contents.address_count = 1;
    contents.life = 60s;
    std::array<std::uint8_t, CookieKeys::kMaxBytes> sealed{};
    const std::size_t size = keys.seal(contents, sealed);
    const Packet packet{kA1, kZ1, kPortA, kPortZ, {7}, {}};
    CookieContents out;
    REQUIRE(keys.open(std::span{sealed}.first(size), packet, Time{1s}, out) == CookieVerdict::good);
    const auto open_forged = [&](std::size_t bytes) {
        const auto mac = forger.mac(std::span{sealed}.subspan(16, bytes - 16));
        std::copy_n(mac.begin(), 16, sealed.begin());
        return keys.open(std::span{sealed}.first(bytes), packet, Time{1s}, out);
    };
    for (std::size_t cut = 16; cut <= sealed.size(); ++cut)
        if (cut != size) CHECK(open_forged(cut) == CookieVerdict::malformed);
    for (unsigned shape = 0; shape < 256; ++shape) {  // address count and family of the local one
        sealed[17] = static_cast<std::uint8_t>(shape);
        const CookieVerdict verdict = open_forged(size);
        if ((shape & 0x9f) == 1)
            CHECK(verdict == CookieVerdict::good);
        else
            CHECK(verdict == CookieVerdict::malformed);
    }
}

TEST_CASE("H08: a cookie 200,000 times: one association, one COOKIE ACK a burst, no HEARTBEATs") {
    Answer answer{init_packet({})};
    answer.up();
    answer.pair.capture();
    const InFlight echo = cookie_echo_for(answer.packet);
    std::size_t packets = 0;
    for (int i = 0; i < 200'000; ++i) {
        answer.pair.z.input(echo);
        if (i % 1000 != 999) continue;
        for (const InFlight& p : answer.pair.capture()) {
            CHECK(p.types() == Types{11});
            ++packets;
        }
    }
    CHECK(packets == 200);
    CHECK(answer.pair.z.count(Event::up) == 1);
    CHECK(answer.pair.z.counters.get(Count::heartbeats_sent) == 0);
}

TEST_CASE("H09: a cookie from another port or to another local port is dropped") {
    Answer answer{init_packet({})};
    for (const std::size_t at : {std::size_t{0}, std::size_t{2}}) {
        InFlight moved = cookie_echo_for(answer.packet);
        moved.bytes[at + 1] ^= 1;
        answer.pair.z.input(moved);
        CHECK(answer.pair.z.last_verdict == CookieVerdict::mismatch);
        CHECK_FALSE(answer.pair.z.association);
    }
    CHECK(answer.up().path_count() == 1);
}

TEST_CASE("H16: COOKIE ECHO and ABORT 20,000 times leave nothing behind") {
    Pair pair{53};
    pair.z.input(init_packet({}));
    const InFlight echo = cookie_echo_for(pair.z.sink.sent[0]);
    pair.z.sink.sent.clear();
    for (int i = 0; i < 20'000; ++i) {
        pair.z.input(echo);
        REQUIRE(pair.z.state() == State::established);
        InFlight end = packet_to_z(pair);
        append_chunk(end, 6, 0, {});
        pair.z.input(end);
        REQUIRE(pair.z.state() == State::closed);
        pair.z.sink.sent.clear();
    }
    pair.z.drop_association();
    CHECK(pair.z.blocks.blocks_in_use() == 0);
    CHECK(pair.z.counters.get(Count::associations_up) == 20'000);
    CHECK(pair.z.counters.get(Count::associations_aborted) == 20'000);
}

TEST_CASE("a COOKIE ECHO may bring an ERROR about parameters, and DATA", "[e-i-6-6][bdc-v-7-4]") {
    Answer answer{init_packet({})};
    InFlight echo = cookie_echo_for(answer.packet);
    append_chunk(echo, 9, 0, {0, 8, 0, 8, 0x80, 7, 0, 4});
    append_data(echo, 1000, 0, 0, 3, "with it");
    answer.pair.z.input(echo);
    CHECK(answer.pair.z.state() == State::established);
    CHECK(answer.pair.z.saw(Event::remote_error));
    REQUIRE(answer.pair.z.messages.size() == 1);
    const auto sent = answer.pair.capture();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].types() == Types{11, 3});
}

TEST_CASE("HS-6, H13: the table of 5.2.4 decides for every combination of tags and tie-tags") {
    const AssociationTags own{{1}, {2}, {3}, {4}};
    for (unsigned bits = 0; bits < 81; ++bits) {
        // 0: matches, 1: differs, 2: none
        const unsigned local = bits % 3, remote = bits / 3 % 3, tie = bits / 9 % 3,
                       peer_tie = bits / 27;
        const auto pick = [](unsigned how, std::uint32_t match) {
            return VerificationTag{how == 0 ? match : how == 1 ? 99u : 0u};
        };
        CookieContents cookie;
        cookie.local_tag = pick(local, 1);
        cookie.remote_tag = pick(remote, 2);
        cookie.local_tie_tag = pick(tie, 3);
        cookie.remote_tie_tag = pick(peer_tie, 4);
        CookieCase expected = CookieCase::stranger;
        if (local != 0 && remote != 0 && tie == 0 && peer_tie == 0) expected = CookieCase::restart;
        if (local == 0 && remote != 0) expected = CookieCase::collision;
        if (local != 0 && remote == 0 && tie == 2 && peer_tie == 2) expected = CookieCase::late;
        if (local == 0 && remote == 0) expected = CookieCase::expected;
        CHECK(judge_cookie(own, cookie) == expected);
    }
}
