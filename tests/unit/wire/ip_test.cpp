// SPDX-License-Identifier: Apache-2.0
#include "wire/ip.h"

#include <catch2/catch.hpp>

#include "samples.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

constexpr IpPacket good(Bytes bytes) {
    return std::get<IpPacket>(parse_ip(bytes));
}
Drop why(Bytes bytes) {
    return std::get<Drop>(parse_ip(bytes));
}

static_assert(good(samples::kInit).source == IpAddress::v4(0xc0a80001));
static_assert(good(samples::kInit).payload.size() == 48);
static_assert(good(samples::kInit).ecn == 2);
static_assert(good(samples::kInit).is(IpProtocol::sctp));

std::vector<std::uint8_t> with_checksum(std::vector<std::uint8_t> ipv4) {
    store_u16(ipv4, 10, 0);
    store_u16(ipv4, 10, internet_checksum(Bytes{ipv4}.first((ipv4[0] & 0xfu) * 4)));
    return ipv4;
}
std::vector<std::uint8_t> sample() {
    return {samples::kInit.span().begin(), samples::kInit.span().end()};
}

// IPv6 2001:db8::1 -> 2001:db8::2, next header as given, then the bytes.
std::vector<std::uint8_t> ipv6(std::uint8_t next, std::vector<std::uint8_t> rest) {
    static constexpr auto addresses =
        hex("20010db8 00000000 00000000 00000001"
            "20010db8 00000000 00000000 00000002");
    std::vector<std::uint8_t> packet(40 + rest.size());
    packet[0] = 0x6b;  // traffic class 0xb8: DSCP 46
    packet[1] = 0x80;
    store_u16(packet, 4, static_cast<std::uint16_t>(rest.size()));
    packet[6] = next;
    packet[7] = 64;
    store_bytes(packet, 8, addresses);
    store_bytes(packet, 40, rest);
    return packet;
}

}  // namespace

TEST_CASE("P15: Ethernet padding behind the IP packet is no part of the payload") {
    auto bytes = sample();
    bytes.insert(bytes.end(), 18, 0xee);
    CHECK(good(bytes).payload.size() == 48);
    CHECK(good(bytes).whole.size() == 68);
}

TEST_CASE("P07: IPv4 options give the same payload") {
    auto bytes = sample();
    const std::vector<std::uint8_t> options{0x94, 0x04, 0, 0, 1, 1, 1, 0};  // router alert, padding
    bytes.insert(bytes.begin() + 20, options.begin(), options.end());
    bytes[0] = 0x47;
    store_u16(bytes, 2, static_cast<std::uint16_t>(bytes.size()));
    bytes = with_checksum(bytes);
    const Bytes payload = good(bytes).payload;
    CHECK(std::equal(payload.begin(), payload.end(), samples::kInit.span().begin() + 20));
}

TEST_CASE("an IPv4 header that lies is refused by name") {
    auto bytes = sample();
    bytes[0] = 0x44;  // 16 bytes of header
    CHECK(why(bytes) == Drop::ip_truncated);
    bytes = sample();
    store_u16(bytes, 2, 69);
    CHECK(why(bytes) == Drop::ip_truncated);
    store_u16(bytes, 2, 19);
    CHECK(why(bytes) == Drop::ip_truncated);
    bytes = sample();
    bytes[8] ^= 1;
    CHECK(why(bytes) == Drop::ip_bad_header_checksum);
    bytes = sample();
    bytes[0] = 0x55;
    CHECK(why(bytes) == Drop::ip_bad_version);
    CHECK(why({}) == Drop::ip_truncated);
}

TEST_CASE("P08: IPv4 fragments show their place, impossible ones are refused") {
    auto bytes = sample();
    store_u16(bytes, 4, 0x1234);
    store_u16(bytes, 6, 0x2000 | 185);
    bytes = with_checksum(bytes);
    const IpPacket middle = good(bytes);
    CHECK(middle.fragment.is_fragment());
    CHECK(middle.fragment.identification == 0x1234);
    CHECK(middle.fragment.offset_bytes == 1480);
    CHECK(middle.fragment.more);

    store_u16(bytes, 6, 0x1fff);  // the last fragment would end past 65,535
    CHECK(why(with_checksum(bytes)) == Drop::ip_fragment_refused);
    store_u16(bytes, 2, 67);  // not the last, and no multiple of 8
    store_u16(bytes, 6, 0x2000);
    CHECK(why(with_checksum(bytes)) == Drop::ip_fragment_refused);
}

TEST_CASE("P07: an IPv6 extension chain gives the payload behind it") {
    // hop-by-hop (PadN 4), routing with no segments left, destination options (Pad1 x 6), then SCTP
    const auto bytes = ipv6(0, {43,   0,   1, 4, 0, 0, 0, 0,  //
                                60,   0,   4, 0, 0, 0, 0, 0,  //
                                132,  0,   0, 0, 0, 0, 0, 0,  //
                                0xca, 0xfe});
    const IpPacket packet = good(bytes);
    CHECK(packet.is(IpProtocol::sctp));
    CHECK(packet.payload.size() == 2);
    CHECK(packet.payload[0] == 0xca);
    CHECK(packet.dscp == 46);
    CHECK(packet.hop_limit == 64);
    for_every_prefix(bytes, [&](Bytes cut) {
        if (cut.size() < bytes.size()) CHECK(why(cut) == Drop::ip_truncated);
    });
}

TEST_CASE("IPv6 extension headers that lie or are not for us are refused") {
    struct Case {
        const char* description;
        std::uint8_t next;
        std::vector<std::uint8_t> rest;
        Drop why;
    };
    std::vector<std::uint8_t> nine;
    for (int i = 0; i < 9; ++i) nine.insert(nine.end(), {60, 0, 1, 4, 0, 0, 0, 0});
    const Case cases[] = {
        {"cut in the header", 60, {132, 0, 1, 4, 0, 0, 0}, Drop::ip_bad_extension},
        {"longer than the packet", 60, {132, 1, 1, 4, 0, 0, 0, 0}, Drop::ip_bad_extension},
        {"hop-by-hop not first",
         60,
         {0, 0, 1, 4, 0, 0, 0, 0, 132, 0, 1, 4, 0, 0, 0, 0},
         Drop::ip_bad_extension},
        {"segments left", 43, {132, 0, 0, 1, 0, 0, 0, 0}, Drop::ip_bad_extension},
        {"option that must be known", 60, {132, 0, 0xc2, 4, 0, 0, 0, 0}, Drop::ip_bad_extension},
        {"option past its header", 60, {132, 0, 1, 5, 0, 0, 0, 0}, Drop::ip_bad_extension},
        {"more headers than the limit", 60, nine, Drop::ip_bad_extension},
        {"fragment of 9 bytes with more to come",
         44,
         {132, 0, 0, 1, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9},
         Drop::ip_fragment_refused},
        {"fragment past 65,535",
         44,
         {132, 0, 0xff, 0xf8, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8},
         Drop::ip_fragment_refused},
    };
    for (const Case& c : cases) {
        INFO(c.description);
        CHECK(why(exact(ipv6(c.next, c.rest))) == c.why);
    }
}

TEST_CASE("P08: an IPv6 fragment shows its place, an atomic one is a whole packet (RFC 6946)") {
    const IpPacket middle =
        good(exact(ipv6(44, {132, 0, 0x05, 0xa9, 1, 2, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9})));
    CHECK(middle.fragment.offset_bytes == 1448);
    CHECK(middle.fragment.more);
    CHECK(middle.fragment.identification == 0x01020304);
    CHECK(middle.payload.size() == 8);
    const IpPacket atomic = good(exact(ipv6(44, {132, 0, 0, 0, 1, 2, 3, 4, 9})));
    CHECK_FALSE(atomic.fragment.is_fragment());
    CHECK(atomic.is(IpProtocol::sctp));
}

TEST_CASE("PKT-8: an IPv4-mapped address in an IPv6 header is refused") {
    auto bytes = ipv6(132, {1, 2, 3, 4});
    for (std::size_t i = 8; i < 18; ++i) bytes[i] = 0;
    bytes[18] = bytes[19] = 0xff;
    CHECK(why(bytes) == Drop::ip_bad_source);
    bytes = ipv6(132, {1, 2, 3, 4});
    for (std::size_t i = 24; i < 34; ++i) bytes[i] = 0;
    bytes[34] = bytes[35] = 0xff;
    CHECK(why(bytes) == Drop::ip_bad_destination);
}

TEST_CASE("a written header is read back, in both families") {
    const IpAddress v4a = IpAddress::v4(0x0a4d0003), v4b = IpAddress::v4(0x0a4d0005);
    IpAddress v6a, v6b;
    v6a.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    v6b.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    std::array<std::uint8_t, 64> buffer;
    for (const auto& [from, to] : {std::pair{v4a, v4b}, std::pair{v6a, v6b}}) {
        buffer.fill(0xee);
        const IpHeader header{.source = from, .destination = to, .dscp = 46};
        const std::size_t n = write_ip_header(buffer, header, 16);
        REQUIRE(n == ip_header_bytes(from));
        const IpPacket packet = good(Bytes{buffer}.first(n + 16));
        CHECK(packet.source == from);
        CHECK(packet.destination == to);
        CHECK(packet.dscp == 46);
        CHECK(packet.is(IpProtocol::sctp));
        CHECK(packet.payload.size() == 16);
        CHECK(write_ip_header(std::span{buffer}.first(n - 1), header, 16) == 0);
        CHECK(write_ip_header(buffer, header, 65536) == 0);
    }
    CHECK(write_ip_header(buffer, {.source = v4a, .destination = v6b}, 0) == 0);
}

TEST_CASE("P15: no parser of IP reads past a packet cut at any byte") {
    for_every_prefix(samples::kInit, [](Bytes cut) {
        const bool whole = cut.size() == samples::kInit.size;
        CHECK(std::holds_alternative<IpPacket>(parse_ip(cut)) == whole);
    });
}
