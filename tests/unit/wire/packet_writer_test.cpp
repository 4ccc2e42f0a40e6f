// SPDX-License-Identifier: Apache-2.0
#include "wire/chunk_writer.h"

#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/cookie_chunks.h"
#include "wire/data.h"
#include "wire/error_causes.h"
#include "wire/heartbeat.h"
#include "wire/init.h"
#include "wire/parameters.h"
#include "wire/sack.h"
#include "wire/shutdown.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

constexpr SctpHeader kHeader{8080, 8080, VerificationTag{0}};

std::vector<std::uint8_t> bytes_of(Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

void write_kernel_init(PacketWriter& out) {
    out.begin_chunk(ChunkType::init);
    write_init_fixed(out, {VerificationTag{0x67ab569c}, 106496, 10, 65535, Tsn{3179790325}, {}});
    write_supported_address_types(out, {.ipv4 = true, .ipv6 = false});
    out.parameter(code(ParameterType::ecn_capable));
    out.parameter(code(ParameterType::forward_tsn_supported));
    out.end_chunk();
}

}  // namespace

TEST_CASE("the writer makes the kernel's INIT, byte for byte, but for the checksum") {
    std::array<std::uint8_t, 128> buffer;
    buffer.fill(0xee);
    PacketWriter out{buffer, kHeader};
    write_kernel_init(out);
    CHECK_FALSE(out.overflowed());
    auto expected = bytes_of(samples::kInit.span().subspan(20));
    for (std::size_t i = 8; i < 12; ++i) expected[i] = 0;
    CHECK(bytes_of(out.packet()) == expected);
    CHECK(out.room() == buffer.size() - expected.size());
}

TEST_CASE("a chunk's length leaves out its own padding and its last parameter's, which are zero") {
    std::array<std::uint8_t, 64> buffer;
    buffer.fill(0xee);
    PacketWriter out{buffer, kHeader};
    out.begin_chunk(ChunkType::init_ack);
    static constexpr auto five = hex("0102030405");
    out.parameter(7, five);  // 9 bytes and 3 of padding, counted: another one follows
    out.parameter(8, five);  // 9 bytes, padding not counted
    out.end_chunk();
    static constexpr auto expected =
        hex("02000019 00070009 01020304 05000000"
            "00080009 01020304 05000000");
    CHECK(bytes_of(out.packet().subspan(12)) == bytes_of(expected));
}

TEST_CASE("the writer never writes past a buffer of any size, and says that it did not fit") {
    std::array<std::uint8_t, 128> whole;
    PacketWriter reference{whole, kHeader};
    write_kernel_init(reference);
    for (std::size_t n = 0; n <= reference.size(); ++n) {
        std::vector<std::uint8_t> buffer(n);
        PacketWriter out{buffer, kHeader};
        write_kernel_init(out);
        CHECK(out.overflowed() == (n < reference.size()));
        CHECK(out.size() <= n);
        write_cookie_ack(out);  // stays overflowed
        CHECK(out.overflowed());
    }
}

TEST_CASE("a chunk that did not fit can be taken back, what came before stays") {
    std::array<std::uint8_t, 12 + 4 + 8> buffer;
    PacketWriter out{buffer, kHeader};
    CHECK(out.empty());
    write_cookie_ack(out);
    const std::size_t before = out.size();
    static constexpr auto payload = hex("00112233445566778899");
    write_data(out, Data{3, Tsn{1}, StreamId{0}, Ssn{0}, Ppid{3}, payload});
    CHECK(out.overflowed());
    out.discard_chunk();
    CHECK_FALSE(out.overflowed());
    CHECK(out.size() == before);
    write_shutdown(out, Tsn{5});
    CHECK_FALSE(out.overflowed());
    CHECK(out.room() == 0);
}

TEST_CASE("a buffer shorter than the common header overflows for good") {
    std::array<std::uint8_t, 11> buffer;
    PacketWriter out{buffer, kHeader};
    CHECK(out.overflowed());
    out.discard_chunk();
    write_cookie_ack(out);
    CHECK(out.overflowed());
    CHECK(out.size() == 0);
}

TEST_CASE("PKT-3: a quoted chunk is cut to the room that is left") {
    std::array<std::uint8_t, 40> buffer;
    std::array<std::uint8_t, 100> chunk{};
    PacketWriter out{buffer, kHeader};
    out.begin_chunk(ChunkType::error);
    static constexpr auto one = hex("aa");
    write_cause(out, Cause::protocol_violation, one);  // 5 bytes, then 3 of padding
    write_cause_quoting(out, Cause::unrecognized_chunk, chunk);
    out.end_chunk();
    CHECK_FALSE(out.overflowed());
    CHECK(out.size() == 40);
    const auto parsed = ChunkWalker{Bytes{out.packet()}.subspan(12)}.next();
    REQUIRE(parsed);
    CHECK(parameters_well_formed(parsed->value));
    CHECK(has_cause(parsed->value, Cause::unrecognized_chunk));
}

TEST_CASE("a chunk longer than its length field overflows") {
    std::vector<std::uint8_t> buffer(70000);
    const std::vector<std::uint8_t> payload(65532);
    PacketWriter out{buffer, kHeader};
    out.chunk(ChunkType::cookie_echo, 0, payload);
    CHECK(out.overflowed());
    out.discard_chunk();
    out.chunk(ChunkType::cookie_echo, 0, Bytes{payload}.first(65531));
    CHECK_FALSE(out.overflowed());
}

TEST_CASE("every chunk written is read back the same") {
    std::array<std::uint8_t, 512> buffer;
    PacketWriter out{buffer, {1, 2, VerificationTag{3}}};
    const std::array<GapBlock, 2> gaps{{{2, 3}, {5, 5}}};
    const std::array<Tsn, 1> duplicates{Tsn{9}};
    static constexpr auto info = hex("0102030405060708");
    write_sack(out, Tsn{10}, 1500, gaps, duplicates);
    write_heartbeat(out, info);
    write_shutdown(out, Tsn{77});
    write_abort(out, true, Cause::user_initiated_abort);
    write_data(out, Data{7, Tsn{1}, StreamId{2}, Ssn{3}, Ppid{4}, info.span().first(5)});
    REQUIRE_FALSE(out.overflowed());

    const auto packet = parse_sctp_packet(out.packet());
    REQUIRE(packet);
    CHECK(packet->header.tag == VerificationTag{3});
    ChunkWalker walker{packet->chunks};
    const auto sack = parse_sack(walker.next()->value);
    REQUIRE(sack);
    CHECK(sack->gap(1) == gaps[1]);
    CHECK(sack->duplicate(0) == duplicates[0]);
    CHECK(parse_heartbeat_info(walker.next()->value)->size() == 8);
    CHECK(parse_shutdown(walker.next()->value) == Tsn{77});
    const auto abort = walker.next();
    CHECK(abort->flags == kFlagT);
    CHECK(first_cause(abort->value) == 12);
    const auto data = parse_data(*walker.next());
    CHECK(data->payload.size() == 5);
    CHECK(data->stream == StreamId{2});
    CHECK_FALSE(walker.next());
    CHECK_FALSE(walker.malformed());
}
