// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <vector>

#include "io/frame.h"
#include "wire/arp.h"
#include "wire/icmp.h"
#include "wire/ip.h"
#include "wire/ndp.h"

namespace signalbox::io {

namespace {

using What = Taken::What;
using Frame = std::vector<std::uint8_t>;

const MacAddress kOurs{{2, 0, 0, 0, 0, 0x0a}};
const MacAddress kPeers{{2, 0, 0, 0, 0, 0x0b}};
const IpAddress kOur4 = *IpAddress::parse("10.77.0.3");
const IpAddress kPeer4 = *IpAddress::parse("10.77.0.11");
const IpAddress kOur6 = *IpAddress::parse("fd77::3");
const IpAddress kPeer6 = *IpAddress::parse("fd77::11");

std::vector<PortSettings> ports() {
    PortSettings left;
    left.name = "left";
    left.addresses = {{kOur4, 24}, {kOur6, 64}};
    left.routes = {{IpAddress::v4(0), 0, *IpAddress::parse("10.77.0.1")},
                   {*IpAddress::parse("10.80.0.0"), 16, *IpAddress::parse("10.77.0.2")}};
    PortSettings right;
    right.name = "right";
    right.addresses = {{*IpAddress::parse("10.78.0.3"), 24}};
    return {left, right};
}

/// Port `left` with its answers.
struct Bench {
    Bench()
        : addressing(ports(), std::vector<MacAddress>{kOurs, MacAddress{{2, 0, 0, 0, 0, 0x0c}}}) {}
    Taken take(const Frame& frame, std::optional<wire::VlanTag> stripped = {}) {
        return take_frame(station, addressing, frame, stripped, answer);
    }
    wire::EthernetFrame answered(const Taken& taken) {
        REQUIRE(taken.what == What::answer);
        return *wire::parse_ethernet({answer.data(), taken.answer_bytes});
    }
    Station station{0, kOurs, {}, 1500};
    Addressing addressing;
    Frame answer = Frame(16384);
};

Frame framed(const MacAddress& to, wire::EtherType type, std::span<const std::uint8_t> payload,
             std::optional<wire::VlanTag> tag = {}) {
    Frame out(18 + payload.size());
    const std::size_t header =
        wire::write_ethernet_header(out, {to, kPeers, tag, static_cast<std::uint16_t>(type), {}});
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(header));
    out.resize(header + payload.size());
    return out;
}

Frame ip_packet(const IpAddress& from, const IpAddress& to, std::uint8_t protocol,
                std::span<const std::uint8_t> payload, std::uint8_t hops = 64) {
    Frame out(40 + payload.size());
    const std::size_t header = wire::write_ip_header(
        out, {.source = from, .destination = to, .protocol = protocol, .hop_limit = hops},
        payload.size());
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(header));
    out.resize(header + payload.size());
    return out;
}

Frame ip_frame(const IpAddress& from, const IpAddress& to, std::uint8_t protocol,
               std::span<const std::uint8_t> payload) {
    return framed(kOurs, from.is_v4() ? wire::EtherType::ipv4 : wire::EtherType::ipv6,
                  ip_packet(from, to, protocol, payload));
}

Frame arp_frame(wire::ArpOperation operation, const IpAddress& sender, const IpAddress& target,
                const MacAddress& to = wire::kBroadcastMac) {
    Frame body(wire::Arp::kBytes);
    wire::write_arp(body, {operation, kPeers, sender, {}, target});
    return framed(to, wire::EtherType::arp, body);
}

Frame echo_request(const IpAddress& from, const IpAddress& to, std::size_t data_bytes) {
    Frame message(8 + data_bytes, 0x55);
    message[0] = from.is_v4() ? 8 : 128;
    message[1] = message[2] = message[3] = 0;
    const std::uint16_t sum = from.is_v4() ? wire::internet_checksum(message)
                                           : wire::ipv6_checksum(from, to, 58, message);
    wire::store_u16(message, 2, sum);
    return ip_frame(from, to, from.is_v4() ? 1 : 58, message);
}

Frame solicitation(const IpAddress& from, const IpAddress& target) {
    const bool nobody = from.is_unspecified();
    const IpAddress group = wire::solicited_node(target);
    Frame body(32);
    wire::NeighbourMessage message{.target = target, .link_layer = {}};
    if (!nobody) message.link_layer = kPeers;
    body.resize(wire::write_neighbour_message(body, from, group, message));
    return framed(wire::multicast_mac(group), wire::EtherType::ipv6,
                  ip_packet(from, group, 58, body, 255));
}

const Frame kSctp(28, 0);

}  // namespace

TEST_CASE("a who-has for our address is answered to the asker") {
    Bench bench;
    const Taken taken = bench.take(arp_frame(wire::ArpOperation::request, kPeer4, kOur4));
    const auto frame = bench.answered(taken);
    CHECK(frame.destination == kPeers);
    CHECK(frame.source == kOurs);
    const auto reply = wire::parse_arp(frame.payload);
    REQUIRE(reply);
    CHECK(reply->operation == wire::ArpOperation::reply);
    CHECK(reply->sender == kOur4);
    CHECK(reply->sender_mac == kOurs);
    CHECK(reply->target == kPeer4);
    REQUIRE(taken.learned);
    CHECK(taken.learned->mac == kPeers);
}

TEST_CASE("a who-has for an address of our other port is not answered") {
    Bench bench;
    const auto taken =
        bench.take(arp_frame(wire::ArpOperation::request, kPeer4, *IpAddress::parse("10.78.0.3")));
    CHECK(taken.what == What::handled);
}

TEST_CASE("an ARP reply teaches its sender, unless he is not on the link") {
    Bench bench;
    const auto taken = bench.take(arp_frame(wire::ArpOperation::reply, kPeer4, kOur4, kOurs));
    CHECK(taken.what == What::handled);
    REQUIRE(taken.learned);
    CHECK(taken.learned->key == NeighbourKey{kPeer4, 0});
    const auto far = bench.take(
        arp_frame(wire::ArpOperation::reply, *IpAddress::parse("192.0.2.1"), kOur4, kOurs));
    CHECK_FALSE(far.learned);
}

TEST_CASE("N02: a station that claims our address is noticed and not learnt") {
    Bench bench;
    const auto taken = bench.take(arp_frame(wire::ArpOperation::request, kOur4, kOur4));
    CHECK(taken.duplicate);
    CHECK_FALSE(taken.learned);
}

TEST_CASE("a short ARP is dropped as malformed") {
    Bench bench;
    Frame frame = arp_frame(wire::ArpOperation::request, kPeer4, kOur4);
    frame.resize(30);
    const auto taken = bench.take(frame);
    CHECK(taken.what == What::discard);
    CHECK(taken.why == Drop::arp_malformed);
}

TEST_CASE("a neighbour solicitation for our address is answered solicited and with override") {
    Bench bench;
    const Taken taken = bench.take(solicitation(kPeer6, kOur6));
    const auto frame = bench.answered(taken);
    CHECK(frame.destination == kPeers);
    const auto ip = wire::parse_ip(frame.payload);
    const auto* packet = std::get_if<wire::IpPacket>(&ip);
    REQUIRE(packet != nullptr);
    CHECK(packet->source == kOur6);
    CHECK(packet->destination == kPeer6);
    CHECK(packet->hop_limit == 255);
    const auto reply = wire::parse_neighbour_message(*packet);
    REQUIRE(reply);
    CHECK(reply->advertisement);
    CHECK(reply->solicited);
    CHECK(reply->override_flag);
    CHECK(reply->link_layer == kOurs);
}

TEST_CASE("duplicate detection of our address is answered to all nodes") {
    Bench bench;
    const auto frame = bench.answered(bench.take(solicitation(IpAddress{}, kOur6)));
    CHECK(frame.destination == MacAddress{{0x33, 0x33, 0, 0, 0, 1}});
    const auto ip = wire::parse_ip(frame.payload);
    const auto reply = wire::parse_neighbour_message(*std::get_if<wire::IpPacket>(&ip));
    REQUIRE(reply);
    CHECK_FALSE(reply->solicited);
}

TEST_CASE("the port's link-local address is ours too") {
    Bench bench;
    CHECK(bench.take(solicitation(kPeer6, link_local_of(kOurs))).what == What::answer);
    CHECK(link_local_of(kOurs).text() == "fe80::ff:fe00:a");
}

TEST_CASE("an echo request is answered in both families, data as it came") {
    Bench bench;
    const bool v4 = GENERATE(true, false);
    const IpAddress from = v4 ? kPeer4 : kPeer6, to = v4 ? kOur4 : kOur6;
    const auto frame = bench.answered(bench.take(echo_request(from, to, 56)));
    CHECK(frame.destination == kPeers);
    const auto ip = wire::parse_ip(frame.payload);
    const auto* packet = std::get_if<wire::IpPacket>(&ip);
    REQUIRE(packet != nullptr);
    CHECK(packet->source == to);
    CHECK(packet->destination == from);
    const auto reply = wire::parse_icmp(*packet);
    REQUIRE(reply);
    CHECK(reply->kind == wire::IcmpKind::echo_reply);
    CHECK(packet->payload.size() == 64);
    CHECK(packet->payload.back() == 0x55);
}

TEST_CASE("PATH-8: an ICMP error goes to the core, other ICMP is dropped by name") {
    Bench bench;
    const bool v4 = GENERATE(true, false);
    const IpAddress from = v4 ? kPeer4 : kPeer6, to = v4 ? kOur4 : kOur6;
    const Frame sent = ip_packet(to, from, 132, kSctp);
    const auto parsed = wire::parse_ip(sent);
    Frame message(128);
    const auto error = [&](std::uint8_t type, std::uint8_t code) {
        const std::size_t bytes =
            wire::write_icmp_error(message, from, std::get<wire::IpPacket>(parsed), type, code, 0);
        return ip_frame(from, to, v4 ? 1 : 58, std::span{message}.first(bytes));
    };
    // write_icmp_error() sums for the packet's sender, who is us.
    CHECK(bench.take(error(v4 ? 3 : 4, v4 ? 2 : 1)).what == What::packet);
    CHECK(bench.take(error(v4 ? 3 : 1, 1)).what == What::packet);
    CHECK(bench.take(error(v4 ? 12 : 3, 0)).why == Drop::icmp_not_served);
    Frame broken = error(v4 ? 3 : 1, 1);
    broken.back() ^= 1;
    CHECK(bench.take(broken).why == Drop::icmp_malformed);
}

TEST_CASE("SCTP for us goes to the core, padding and all; for others it is dropped by name") {
    Bench bench;
    const auto taken = bench.take(ip_frame(kPeer4, kOur4, 132, kSctp));
    CHECK(taken.what == What::packet);
    CHECK(taken.ip.size() == 20 + kSctp.size());
    CHECK(bench.take(ip_frame(kPeer6, kOur6, 132, kSctp)).what == What::packet);
    CHECK(bench.take(ip_frame(kPeer4, *IpAddress::parse("10.77.0.4"), 132, kSctp)).why ==
          Drop::ip_not_ours);
    CHECK(bench.take(ip_frame(kPeer4, *IpAddress::parse("224.0.0.5"), 132, kSctp)).why ==
          Drop::ip_bad_destination);
    CHECK(bench.take(ip_frame(kPeer4, kOur4, 17, kSctp)).why == Drop::ip_not_sctp);
}

TEST_CASE("a fragment for us waits for the others") {
    Bench bench;
    Frame frame = ip_frame(kPeer4, kOur4, 132, Frame(32, 0));
    wire::store_u16(frame, 14 + 6, 0x2000);
    wire::store_u16(frame, 14 + 10, 0);
    wire::store_u16(frame, 14 + 10, wire::internet_checksum(std::span{frame}.subspan(14, 20)));
    CHECK(bench.take(frame).what == What::fragment);
}

TEST_CASE("frames for other stations, of other VLANs and of our own making are not ours") {
    Bench bench;
    const Frame packet = ip_packet(kPeer4, kOur4, 132, kSctp);
    const auto other = framed(MacAddress{{2, 0, 0, 0, 0, 0x77}}, wire::EtherType::ipv4, packet);
    CHECK(bench.take(other).why == Drop::l2_not_ours);
    const auto tagged = framed(kOurs, wire::EtherType::ipv4, packet, wire::VlanTag{100, 0});
    CHECK(bench.take(tagged).why == Drop::l2_not_ours);
    const auto priority = framed(kOurs, wire::EtherType::ipv4, packet, wire::VlanTag{0, 5});
    CHECK(bench.take(priority).what == What::packet);
    auto mine = framed(wire::kBroadcastMac, wire::EtherType::ipv4, packet);
    std::copy(kOurs.bytes.begin(), kOurs.bytes.end(), mine.begin() + 6);
    CHECK(bench.take(mine).why == Drop::l2_not_ours);
    CHECK(bench.take(framed(kOurs, static_cast<wire::EtherType>(0x8847), packet)).why ==
          Drop::l2_unknown_ethertype);
    CHECK(bench.take(Frame(10, 0)).why == Drop::ip_truncated);
}

TEST_CASE("a port with a VLAN takes only its tag, in the frame or stripped, and answers with it") {
    Bench bench;
    bench.station.vlan = 100;
    const Frame packet = ip_packet(kPeer4, kOur4, 132, kSctp);
    CHECK(bench.take(framed(kOurs, wire::EtherType::ipv4, packet, wire::VlanTag{100, 3})).what ==
          What::packet);
    const Frame bare = framed(kOurs, wire::EtherType::ipv4, packet);
    CHECK(bench.take(bare).why == Drop::l2_not_ours);
    CHECK(bench.take(bare, wire::VlanTag{100, 0}).what == What::packet);
    const auto frame = bench.answered(
        bench.take(arp_frame(wire::ArpOperation::request, kPeer4, kOur4), wire::VlanTag{100, 0}));
    REQUIRE(frame.vlan);
    CHECK(frame.vlan->id == 100);
}

TEST_CASE("the VLAN priority comes from the DSCP") {
    Frame header(18);
    CHECK(write_frame_header({0, kOurs, 100, 1500}, kPeers, true, 40, header) == 18);
    CHECK(wire::parse_ethernet(header)->vlan->priority == 5);
}

TEST_CASE("a packet leaves by the port of its source address, by the longest route") {
    Bench bench;
    const auto hop = [&](const char* to) {
        return bench.addressing.next_hop(kOur4, *IpAddress::parse(to))->address.text();
    };
    CHECK(hop("10.77.0.99") == "10.77.0.99");
    CHECK(hop("10.80.3.1") == "10.77.0.2");
    CHECK(hop("192.0.2.1") == "10.77.0.1");
    const auto right =
        bench.addressing.next_hop(*IpAddress::parse("10.78.0.3"), *IpAddress::parse("10.78.0.9"));
    REQUIRE(right);
    CHECK(right->port == 1);
    CHECK_FALSE(bench.addressing.next_hop(*IpAddress::parse("10.78.0.3"), kPeer4));
    CHECK_FALSE(bench.addressing.next_hop(kPeer4, kOur4));
}

TEST_CASE("requests, probes and announcements are what a neighbour understands") {
    Bench bench;
    Frame out(kRequestMaxBytes);
    const auto written = [&](std::size_t bytes) {
        REQUIRE(bytes != 0);
        return *wire::parse_ethernet({out.data(), bytes});
    };
    auto frame = written(write_request(bench.station, bench.addressing, kPeer4, {}, out));
    CHECK(frame.destination == wire::kBroadcastMac);
    CHECK(wire::parse_arp(frame.payload)->sender == kOur4);
    frame = written(write_request(bench.station, bench.addressing, kPeer4, kPeers, out));
    CHECK(frame.destination == kPeers);

    frame = written(write_request(bench.station, bench.addressing, kPeer6, {}, out));
    CHECK(frame.destination == wire::multicast_mac(wire::solicited_node(kPeer6)));
    auto ip = wire::parse_ip(frame.payload);
    CHECK(wire::parse_neighbour_message(*std::get_if<wire::IpPacket>(&ip))->target == kPeer6);

    frame = written(write_duplicate_probe(bench.station, kOur6, out));
    ip = wire::parse_ip(frame.payload);
    CHECK(std::get_if<wire::IpPacket>(&ip)->source.is_unspecified());
    CHECK(wire::parse_neighbour_message(*std::get_if<wire::IpPacket>(&ip)));
    frame = written(write_duplicate_probe(bench.station, kOur4, out));
    CHECK(wire::parse_arp(frame.payload)->sender.is_unspecified());

    frame = written(write_announcement(bench.station, kOur6, out));
    ip = wire::parse_ip(frame.payload);
    CHECK(wire::parse_neighbour_message(*std::get_if<wire::IpPacket>(&ip))->advertisement);
}

}  // namespace signalbox::io
