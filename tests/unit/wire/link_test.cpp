// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/arp.h"
#include "wire/ethernet.h"
#include "wire/icmp.h"
#include "wire/ip.h"
#include "wire/ndp.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

constexpr MacAddress kMac{{0x52, 0x54, 0x00, 0x77, 0x00, 0x03}};

IpAddress v6(std::uint8_t last) {
    IpAddress a;
    a.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
    return a;
}
IpPacket icmpv6(const IpAddress& from, const IpAddress& to, Bytes message) {
    IpPacket packet{};
    packet.source = from;
    packet.destination = to;
    packet.protocol = 58;
    packet.hop_limit = 255;
    packet.payload = message;
    return packet;
}
IpPacket parsed(Bytes ip) {
    return std::get<IpPacket>(parse_ip(ip));
}

// IPv4 192.0.2.9 -> 192.168.0.1, ICMP destination unreachable (3), code as given, quoting the INIT.
std::vector<std::uint8_t> icmp_about_init(std::uint8_t code, std::uint32_t word) {
    const IpAddress us = IpAddress::v4(0xc0a80001), router = IpAddress::v4(0xc0000209);
    IpPacket about = parsed(samples::kInit);
    std::vector<std::uint8_t> out(20 + 8 + 68);
    const auto message = std::span{out}.subspan(20);
    REQUIRE(write_icmp_error(message, router, about, 3, code, word) == 76);
    REQUIRE(write_ip_header(out, {.source = router, .destination = us, .protocol = 1}, 76) == 20);
    return out;
}

}  // namespace

TEST_CASE("an Ethernet frame is read, with and without a VLAN tag") {
    const auto plain = parse_ethernet(samples::kSackAndData);
    REQUIRE(plain);
    CHECK(plain->source == kMac);
    CHECK(plain->is(EtherType::ipv4));
    CHECK_FALSE(plain->vlan);
    CHECK(std::get<IpPacket>(parse_ip(plain->payload)).payload.size() == 68);

    std::array<std::uint8_t, 18> tagged;
    EthernetFrame frame = *plain;
    frame.vlan = VlanTag{.id = 100, .priority = 5};
    REQUIRE(write_ethernet_header(tagged, frame) == 18);
    const auto back = parse_ethernet(tagged);
    REQUIRE(back);
    CHECK(back->vlan == VlanTag{100, 5});
    CHECK(back->is(EtherType::ipv4));
    for (std::size_t n = 0; n < 18; ++n) {
        CHECK_FALSE(parse_ethernet(exact(Bytes{tagged}.first(n))));
        CHECK(write_ethernet_header(std::span{tagged}.first(n), frame) == 0);
    }
}

TEST_CASE("an ARP request is read, a malformed one is not") {
    // Ethernet, IPv4, 6, 4, request; 52:54:00:77:00:03 10.77.0.3 asks for 10.77.0.5
    static constexpr auto request =
        hex("0001 0800 06 04 0001 525400770003 0a4d0003 000000000000 0a4d0005");
    const auto arp = parse_arp(request);
    REQUIRE(arp);
    CHECK(arp->operation == ArpOperation::request);
    CHECK(arp->sender_mac == kMac);
    CHECK(arp->sender == IpAddress::v4(0x0a4d0003));
    CHECK(arp->target == IpAddress::v4(0x0a4d0005));
    for (std::size_t n = 0; n < request.size; ++n)
        CHECK_FALSE(parse_arp(exact(request.span().first(n))));
    for (const std::size_t at : {1u, 2u, 4u, 5u, 7u, 8u}) {  // 8: the sender's MAC becomes a group
        auto bad = exact(request);
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ 0x07);
        CHECK_FALSE(parse_arp(bad));
    }
    std::array<std::uint8_t, 28> written;
    REQUIRE(write_arp(written, *arp) == 28);
    CHECK(std::equal(written.begin(), written.end(), request.span().begin()));
}

TEST_CASE("a neighbour solicitation and its answer are written and read back") {
    std::array<std::uint8_t, NeighbourMessage::kMaxBytes> bytes;
    const IpAddress group = solicited_node(v6(2));
    CHECK(multicast_mac(group) == MacAddress{{0x33, 0x33, 0xff, 0, 0, 2}});
    NeighbourMessage ask{};
    ask.target = v6(2);
    ask.link_layer = kMac;
    REQUIRE(write_neighbour_message(bytes, v6(1), group, ask) == 32);
    const auto asked = parse_neighbour_message(icmpv6(v6(1), group, bytes));
    REQUIRE(asked);
    CHECK_FALSE(asked->advertisement);
    CHECK(asked->target == v6(2));
    CHECK(asked->link_layer == kMac);

    NeighbourMessage answer{};
    answer.advertisement = answer.solicited = answer.override_flag = true;
    answer.target = v6(2);
    answer.link_layer = kMac;
    REQUIRE(write_neighbour_message(bytes, v6(2), v6(1), answer) == 32);
    const auto answered = parse_neighbour_message(icmpv6(v6(2), v6(1), bytes));
    REQUIRE(answered);
    CHECK(answered->solicited);
    CHECK(answered->override_flag);
    CHECK_FALSE(answered->router);
}

TEST_CASE(
    "N01: neighbour discovery through a router, with a bad sum or an empty option is refused") {
    std::array<std::uint8_t, NeighbourMessage::kMaxBytes> bytes;
    const IpAddress group = solicited_node(v6(2));
    NeighbourMessage ask{};
    ask.target = v6(2);
    ask.link_layer = kMac;
    const auto write = [&] { REQUIRE(write_neighbour_message(bytes, v6(1), group, ask) == 32); };
    write();
    IpPacket packet = icmpv6(v6(1), group, bytes);
    packet.hop_limit = 254;
    CHECK_FALSE(parse_neighbour_message(packet));
    packet.hop_limit = 255;
    bytes[31] ^= 1;
    CHECK_FALSE(parse_neighbour_message(packet));
    write();
    bytes[25] = 0;  // option length
    store_u16(bytes, 2, 0);
    store_u16(bytes, 2, ipv6_checksum(v6(1), group, 58, bytes));
    CHECK_FALSE(parse_neighbour_message(packet));
    write();  // duplicate address detection must not carry a link-layer address
    store_u16(bytes, 2, 0);
    store_u16(bytes, 2, ipv6_checksum(IpAddress{}, group, 58, bytes));
    CHECK_FALSE(parse_neighbour_message(icmpv6(IpAddress{}, group, bytes)));
    ask.link_layer.reset();
    REQUIRE(write_neighbour_message(bytes, IpAddress{}, group, ask) == 24);
    CHECK(parse_neighbour_message(icmpv6(IpAddress{}, group, Bytes{bytes}.first(24))));
    for_every_prefix(bytes, [&](Bytes cut) {
        if (cut.size() != 24) CHECK_FALSE(parse_neighbour_message(icmpv6(v6(1), group, cut)));
    });
}

TEST_CASE("an echo request is answered with the same bytes, in both families") {
    std::array<std::uint8_t, 64> reply;
    // echo request, identifier 0x1234, sequence 1, data "ping"
    auto request = exact(hex("0800 0000 1234 0001 70696e67"));
    store_u16(request, 2, internet_checksum(request));
    IpPacket v4{};
    v4.source = IpAddress::v4(0x0a4d0003);
    v4.destination = IpAddress::v4(0x0a4d0005);
    v4.protocol = 1;
    v4.payload = request;
    REQUIRE(parse_icmp(v4));
    CHECK(parse_icmp(v4)->kind == IcmpKind::echo_request);
    REQUIRE(write_echo_reply(reply, v4) == 12);
    IpPacket back = v4;
    std::swap(back.source, back.destination);
    back.payload = Bytes{reply}.first(12);
    REQUIRE(parse_icmp(back));
    CHECK(parse_icmp(back)->kind == IcmpKind::echo_reply);

    request[0] = 128;
    store_u16(request, 2, 0);
    store_u16(request, 2, ipv6_checksum(v6(1), v6(2), 58, request));
    const IpPacket six = icmpv6(v6(1), v6(2), request);
    REQUIRE(parse_icmp(six));
    REQUIRE(write_echo_reply(reply, six) == 12);
    CHECK(parse_icmp(icmpv6(v6(2), v6(1), Bytes{reply}.first(12)))->kind == IcmpKind::echo_reply);
    request[11] ^= 1;
    CHECK_FALSE(parse_icmp(icmpv6(v6(1), v6(2), request)));
}

TEST_CASE("PATH-8: an ICMP error gives the quoted addresses, ports and tags") {
    const auto bytes = icmp_about_init(2, 0);
    const auto icmp = parse_icmp(parsed(bytes));
    REQUIRE(icmp);
    CHECK(icmp->kind == IcmpKind::protocol_unreachable);
    const auto quoted = parse_quoted_sctp(icmp->quoted);
    REQUIRE(quoted);
    CHECK(quoted->source == IpAddress::v4(0xc0a80001));
    CHECK(quoted->destination == IpAddress::v4(0xc0000201));
    CHECK(quoted->source_port == 8080);
    CHECK(quoted->tag == VerificationTag{0});
    CHECK(quoted->initiate_tag == VerificationTag{0x67ab569c});
}

TEST_CASE("V06: too big tells its MTU, and a quote too short for the tag tells nothing") {
    const auto bytes = icmp_about_init(4, 68);
    const auto icmp = parse_icmp(parsed(bytes));
    REQUIRE(icmp);
    CHECK(icmp->kind == IcmpKind::too_big);
    CHECK(icmp->mtu_bytes == 68);
    for_every_prefix(icmp->quoted, [](Bytes cut) {
        const auto quoted = parse_quoted_sctp(cut);
        CHECK(quoted.has_value() == (cut.size() >= 28));
        if (quoted) CHECK(quoted->initiate_tag.has_value() == (cut.size() >= 40));
    });
}
