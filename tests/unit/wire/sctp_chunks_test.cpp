// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/data.h"
#include "wire/error_causes.h"
#include "wire/heartbeat.h"
#include "wire/init.h"
#include "wire/ip.h"
#include "wire/parameters.h"
#include "wire/sack.h"
#include "wire/shutdown.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

constexpr Bytes kInitSctp = samples::kInit.span().subspan(20);
constexpr Bytes kSackAndDataSctp = samples::kSackAndData.span().subspan(34);

constexpr std::optional<Chunk> first_chunk(Bytes sctp) {
    const auto packet = parse_sctp_packet(sctp);
    return packet ? ChunkWalker{packet->chunks}.next() : std::nullopt;
}
constexpr Init kInit = *parse_init(first_chunk(kInitSctp)->value);

static_assert(parse_sctp_packet(kInitSctp)->header.source_port == 8080);
static_assert(parse_sctp_packet(kInitSctp)->header.tag == VerificationTag{0});
static_assert(kInit.tag == VerificationTag{0x67ab569c});
static_assert(kInit.a_rwnd_bytes == 106496);
static_assert(kInit.streams_out == 10 && kInit.streams_in == 65535);
static_assert(kInit.initial_tsn == Tsn{3179790325});
static_assert(parameters_well_formed(kInit.parameters));

}  // namespace

TEST_CASE("an INIT of the Linux kernel lists its three parameters") {
    ParameterWalker walker{kInit.parameters};
    const auto types = walker.next();
    REQUIRE(types);
    const auto supported = parse_supported_address_types(types->value);
    REQUIRE(supported);
    CHECK(supported->ipv4);
    CHECK_FALSE(supported->ipv6);
    CHECK(walker.next()->type == code(ParameterType::ecn_capable));
    CHECK(walker.next()->type == code(ParameterType::forward_tsn_supported));
    CHECK_FALSE(walker.next());
    CHECK_FALSE(walker.malformed());
}

TEST_CASE("a SACK and a DATA chunk bundled by the Linux kernel are both read") {
    const auto packet = parse_sctp_packet(kSackAndDataSctp);
    REQUIRE(packet);
    CHECK(packet->header.destination_port == 51044);
    ChunkWalker walker{packet->chunks};
    const auto sack = parse_sack(walker.next()->value);
    REQUIRE(sack);
    CHECK(sack->cumulative_tsn == Tsn{518146764});
    CHECK(sack->gap_count() == 0);
    const auto data = parse_data(*walker.next());
    REQUIRE(data);
    CHECK(data->begin());
    CHECK(data->end());
    CHECK_FALSE(data->unordered());
    CHECK_FALSE(data->immediate());
    CHECK(data->tsn == Tsn{2203757252});
    CHECK(data->ssn == Ssn{1});
    CHECK(data->ppid == Ppid{3});
    CHECK(data->payload.size() == 24);
}

TEST_CASE("P01: packets without room for a common header and one chunk are refused") {
    for (std::size_t n = 0; n < 16; ++n) CHECK_FALSE(parse_sctp_packet(exact(kInitSctp.first(n))));
    CHECK(parse_sctp_packet(exact(kInitSctp.first(16))));
}

TEST_CASE("PKT-4: a SACK's counts must be what its length holds") {
    // cumulative TSN 10, a_rwnd 1500, 2 gap blocks (2-3, 5-5), 1 duplicate (9)
    static constexpr auto good = hex("0000000a 000005dc 0002 0001 0002 0003 0005 0005 00000009");
    const auto sack = parse_sack(good);
    REQUIRE(sack);
    CHECK(sack->gap(0) == GapBlock{2, 3});
    CHECK(sack->gap(1) == GapBlock{5, 5});
    CHECK(sack->duplicate(0) == Tsn{9});
    CHECK(sack->blocks_possible());
    for (std::size_t n = 0; n < good.size; ++n)
        CHECK_FALSE(parse_sack(exact(good.span().first(n))));

    static constexpr auto too_many = hex("0000000a 000005dc ffff ffff 0002 0003");
    static constexpr auto too_few = hex("0000000a 000005dc 0000 0000 0002 0003");
    CHECK_FALSE(parse_sack(too_many));
    CHECK_FALSE(parse_sack(too_few));
}

TEST_CASE("DAT-4: a gap block that ends before it starts, or starts at 0, is impossible") {
    static constexpr auto reversed = hex("0000000a 000005dc 0001 0000 0003 0002");
    static constexpr auto zero = hex("0000000a 000005dc 0001 0000 0000 0002");
    CHECK_FALSE(parse_sack(reversed)->blocks_possible());
    CHECK_FALSE(parse_sack(zero)->blocks_possible());
}

TEST_CASE("D02: DATA without user data parses, shorter DATA does not") {
    static constexpr auto bytes = hex("00000001 0002 0003 00000003");
    const auto data = parse_data(0x0f, bytes);
    REQUIRE(data);
    CHECK(data->payload.empty());
    CHECK(data->immediate());
    CHECK(data->unordered());
    for (std::size_t n = 0; n < bytes.size; ++n)
        CHECK_FALSE(parse_data(3, exact(bytes.span().first(n))));
}

TEST_CASE("PKT-8: an address parameter of a wrong length or an IPv4-mapped address is refused") {
    static constexpr auto v4 = hex("0005 0008 c0000201");
    static constexpr auto v4_long = hex("0005 0009 c0000201 00");
    static constexpr auto v6 = hex("0006 0014 20010db8 00000000 00000000 00000001");
    static constexpr auto v6_short = hex("0006 0013 20010db8 00000000 00000000 000000");
    static constexpr auto mapped = hex("0006 0014 00000000 00000000 0000ffff c0000201");
    const auto address = [](Bytes bytes) { return parse_address(*ParameterWalker{bytes}.next()); };
    CHECK(address(v4) == IpAddress::v4(0xc0000201));
    CHECK_FALSE(address(v4_long));
    REQUIRE(address(v6));
    CHECK(address(v6)->is_v6());
    CHECK_FALSE(address(v6_short));
    CHECK_FALSE(address(mapped));
}

TEST_CASE("a HEARTBEAT holds exactly one parameter") {
    static constexpr auto good = hex("0001 000c 0102030405060708");
    static constexpr auto other = hex("0002 000c 0102030405060708");
    static constexpr auto two = hex("0001 0004 0001 0004");
    static constexpr auto lying = hex("0001 000d 0102030405060708");
    CHECK(parse_heartbeat_info(good)->size() == 8);
    CHECK_FALSE(parse_heartbeat_info(other));
    CHECK_FALSE(parse_heartbeat_info(two));
    CHECK_FALSE(parse_heartbeat_info(lying));
    CHECK_FALSE(parse_heartbeat_info({}));
}

TEST_CASE("P13: 300 causes, a cause whose length lies, and a stale-cookie cause of 4 bytes") {
    std::vector<std::uint8_t> many;
    for (int i = 0; i < 300; ++i) many.insert(many.end(), {0x00, 0x06, 0x00, 0x04});
    many.insert(many.end(), {0x00, 0x03, 0x00, 0x04});
    CHECK(first_cause(many) == 6);
    CHECK(has_cause(many, Cause::stale_cookie));
    CHECK_FALSE(has_cause(many, Cause::protocol_violation));
    static constexpr auto lying = hex("0003 0009 00000000");
    CHECK(first_cause(lying) == 0);
    CHECK(first_cause({}) == 0);
    CHECK_FALSE(has_cause(lying, Cause::stale_cookie));
}

TEST_CASE("a SHUTDOWN is exactly one TSN long") {
    static constexpr auto good = hex("0000000a");
    CHECK(parse_shutdown(good) == Tsn{10});
    CHECK_FALSE(parse_shutdown(good.span().first(3)));
    static constexpr auto longer = hex("0000000a 00");
    CHECK_FALSE(parse_shutdown(longer));
}

TEST_CASE("P15: no chunk parser reads past a packet cut at any byte") {
    for (const Bytes whole : {kInitSctp, kSackAndDataSctp}) {
        for_every_prefix(whole, [](Bytes cut) {
            const auto packet = parse_sctp_packet(cut);
            if (!packet) return;
            ChunkWalker walker{packet->chunks};
            while (const auto chunk = walker.next()) {
                if (const auto init = parse_init(chunk->value))
                    (void)parameters_well_formed(init->parameters);
                if (const auto sack = parse_sack(chunk->value)) (void)sack->blocks_possible();
                (void)parse_data(*chunk);
                (void)parse_heartbeat_info(chunk->value);
                (void)parse_shutdown(chunk->value);
                (void)has_cause(chunk->value, Cause::stale_cookie);
            }
        });
    }
    SUCCEED();
}
