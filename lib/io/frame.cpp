// SPDX-License-Identifier: Apache-2.0
#include "io/frame.h"

#include <variant>

#include "wire/arp.h"
#include "wire/icmp.h"
#include "wire/ip.h"
#include "wire/ndp.h"

namespace signalbox::io {

namespace {

using wire::Bytes;
using wire::EtherType;
using wire::IpProtocol;
using What = Taken::What;

constexpr std::uint8_t kNetworkControlDscp = 48;  // CS6: neighbour discovery, RFC 4594 3.1
constexpr std::uint8_t kNeighbourHopLimit = 255;  // RFC 4861 7.1: it came through no router

Taken discard(Drop why) {
    Taken taken;
    taken.why = why;
    return taken;
}

Taken handled() {
    Taken taken;
    taken.what = What::handled;
    return taken;
}

Taken for_core(Taken::What what, Bytes ip) {
    Taken taken;
    taken.what = what;
    taken.ip = ip;
    return taken;
}

IpAddress all_nodes() {
    IpAddress group;
    group.bytes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return group;
}

bool our_vlan(const Station& station, const std::optional<wire::VlanTag>& tag) {
    const std::uint16_t id = tag ? tag->id : std::uint16_t{0};  // 0: priority only, no VLAN
    return id == station.vlan.value_or(0);
}

/// Group addresses that we listen to: broadcast, all nodes, solicited-node groups. What else is on
/// the segment is noise.
bool our_group(const MacAddress& to) {
    if (to == wire::kBroadcastMac || to == wire::multicast_mac(all_nodes())) return true;
    return to.bytes[0] == 0x33 && to.bytes[1] == 0x33 && to.bytes[2] == 0xff;
}

std::size_t write_header(const Station& station, const MacAddress& to, EtherType type,
                         std::uint8_t dscp, std::span<std::uint8_t> out) {
    wire::EthernetFrame frame{to, station.mac, {}, static_cast<std::uint16_t>(type), {}};
    if (station.vlan)
        frame.vlan = wire::VlanTag{*station.vlan, static_cast<std::uint8_t>(dscp >> 3)};
    return wire::write_ethernet_header(out, frame);
}

std::size_t write_arp_frame(const Station& station, const MacAddress& to, const wire::Arp& arp,
                            std::span<std::uint8_t> out) {
    const std::size_t header = write_header(station, to, EtherType::arp, kNetworkControlDscp, out);
    const std::size_t bytes = header == 0 ? 0 : wire::write_arp(out.subspan(header), arp);
    return bytes == 0 ? 0 : header + bytes;
}

std::size_t write_ndp_frame(const Station& station, const MacAddress& to, const IpAddress& source,
                            const IpAddress& destination, const wire::NeighbourMessage& message,
                            std::span<std::uint8_t> out) {
    if (out.size() < kRequestMaxBytes) return 0;
    const std::size_t l2 = write_header(station, to, EtherType::ipv6, kNetworkControlDscp, out);
    const std::size_t body = wire::write_neighbour_message(out.subspan(l2 + wire::kIpv6HeaderBytes),
                                                           source, destination, message);
    const wire::IpHeader header{.source = source,
                                .destination = destination,
                                .protocol = static_cast<std::uint8_t>(IpProtocol::icmpv6),
                                .hop_limit = kNeighbourHopLimit,
                                .dscp = kNetworkControlDscp};
    return l2 + wire::write_ipv6_header(out.subspan(l2), header, body) + body;
}

Taken take_arp(const Station& station, const Addressing& addressing, Bytes payload,
               std::span<std::uint8_t> answer) {
    const auto arp = wire::parse_arp(payload);
    if (!arp) return discard(Drop::arp_malformed);
    Taken taken = handled();
    if (addressing.owns(station.port, arp->sender)) {
        taken.duplicate = arp->sender_mac != station.mac;
        return taken;
    }
    // RFC 826 merges what a sender says of itself into an entry that exists; a probe says nothing
    // (0.0.0.0).
    if (!arp->sender.is_unspecified() && addressing.on_link(station.port, arp->sender))
        taken.learned = Learned{{arp->sender, station.port}, arp->sender_mac};
    if (!addressing.owns(station.port, arp->target)) {
        if (!taken.learned) return discard(Drop::ip_not_ours);
        return taken;
    }
    if (arp->operation != wire::ArpOperation::request) return taken;
    const wire::Arp reply{wire::ArpOperation::reply, station.mac, arp->target, arp->sender_mac,
                          arp->sender};
    taken.answer_bytes = write_arp_frame(station, arp->sender_mac, reply, answer);
    taken.what = What::answer;
    return taken;
}

Taken take_solicitation(const Station& station, const wire::IpPacket& packet,
                        const wire::NeighbourMessage& asked, const MacAddress& from,
                        std::span<std::uint8_t> answer) {
    Taken taken = handled();
    taken.what = What::answer;
    // Who detects duplicates has no address yet: the answer goes to all nodes (RFC 4861 7.2.4).
    const bool nobody = packet.source.is_unspecified();
    const IpAddress to = nobody ? all_nodes() : packet.source;
    const wire::NeighbourMessage reply{.advertisement = true,
                                       .router = false,
                                       .solicited = !nobody,
                                       .override_flag = true,
                                       .target = asked.target,
                                       .link_layer = station.mac};
    const MacAddress station_to =
        nobody ? wire::multicast_mac(to) : asked.link_layer.value_or(from);
    taken.answer_bytes = write_ndp_frame(station, station_to, asked.target, to, reply, answer);
    if (!nobody && asked.link_layer)
        taken.learned = Learned{{packet.source, station.port}, *asked.link_layer};
    return taken;
}

Taken take_neighbour_message(const Station& station, const Addressing& addressing,
                             const wire::IpPacket& packet, const MacAddress& from,
                             std::span<std::uint8_t> answer) {
    const auto message = wire::parse_neighbour_message(packet);
    if (!message) return discard(Drop::arp_malformed);
    const bool about_us = addressing.owns(station.port, message->target);
    if (!message->advertisement)
        return about_us ? take_solicitation(station, packet, *message, from, answer)
                        : discard(Drop::ip_not_ours);
    Taken taken = handled();
    taken.duplicate = about_us;
    if (!about_us)
        taken.learned =
            Learned{{message->target, station.port}, message->link_layer.value_or(from)};
    return taken;
}

Taken take_echo(const Station& station, const wire::IpPacket& packet, const MacAddress& from,
                std::span<std::uint8_t> answer) {
    const bool v4 = packet.source.is_v4();
    const std::size_t l3 = v4 ? wire::kIpv4HeaderBytes : wire::kIpv6HeaderBytes;
    const std::size_t l2 = wire::ethernet_header_bytes(station.vlan.has_value());
    if (l3 + packet.payload.size() > station.mtu_bytes ||
        l2 + l3 + packet.payload.size() > answer.size())
        return discard(Drop::icmp_not_served);  // we send no fragments
    write_frame_header(station, from, v4, packet.dscp, answer);
    const std::size_t body = wire::write_echo_reply(answer.subspan(l2 + l3), packet);
    const wire::IpHeader header{.source = packet.destination,
                                .destination = packet.source,
                                .protocol = packet.protocol,
                                .dscp = packet.dscp};
    wire::write_ip_header(answer.subspan(l2), header, body);
    Taken taken;
    taken.what = What::answer;
    taken.answer_bytes = l2 + l3 + body;
    return taken;
}

Taken take_icmp(const Station& station, const Addressing& addressing, const wire::IpPacket& packet,
                const MacAddress& from, std::span<std::uint8_t> answer) {
    const bool v6 = packet.source.is_v6();
    if (v6 && !packet.payload.empty() &&
        (packet.payload[0] == wire::kNeighbourSolicitation ||
         packet.payload[0] == wire::kNeighbourAdvertisement))
        return take_neighbour_message(station, addressing, packet, from, answer);
    if (!addressing.port_of(packet.destination)) return discard(Drop::ip_not_ours);
    if (!packet.source.is_usable_unicast()) return discard(Drop::ip_bad_source);
    const auto icmp = wire::parse_icmp(packet);
    if (!icmp) return discard(Drop::icmp_malformed);
    if (icmp->kind == wire::IcmpKind::echo_request) return take_echo(station, packet, from, answer);
    // An error may be about an association's packet: RFC 9260 section 10 is the core's matter.
    return wire::is_error(icmp->kind) ? for_core(What::packet, packet.whole)
                                      : discard(Drop::icmp_not_served);
}

/// The common case without a full look: SCTP right behind the IP header, not a fragment. The core
/// judges the rest.
bool plainly_sctp(Bytes ip) {
    if (ip.size() < wire::kIpv4HeaderBytes) return false;
    if (ip[0] >> 4 == 4)
        return ip[9] == wire::kIpProtocolSctp && (wire::load_u16(ip, 6) & 0x3fff) == 0;
    return ip.size() >= wire::kIpv6HeaderBytes && ip[0] >> 4 == 6 && ip[6] == wire::kIpProtocolSctp;
}

IpAddress destination_of(Bytes ip) {
    return ip[0] >> 4 == 4 ? IpAddress::v4(wire::load_u32(ip, 16))
                           : wire::detail::load_ipv6(ip, 24);
}

}  // namespace

Taken take_ip(const Station& station, const Addressing& addressing, Bytes ip,
              const MacAddress& from, std::span<std::uint8_t> answer) {
    if (plainly_sctp(ip)) {
        const IpAddress to = destination_of(ip);
        if (addressing.port_of(to)) return for_core(What::packet, ip);
        return discard(to.is_usable_unicast() ? Drop::ip_not_ours : Drop::ip_bad_destination);
    }
    const auto parsed = wire::parse_ip(ip);
    if (const Drop* why = std::get_if<Drop>(&parsed)) return discard(*why);
    const wire::IpPacket& packet = *std::get_if<wire::IpPacket>(&parsed);
    const bool ours = addressing.port_of(packet.destination).has_value();
    if (packet.fragment.is_fragment())
        return ours ? for_core(What::fragment, packet.whole) : discard(Drop::ip_not_ours);
    if (packet.is(packet.source.is_v4() ? IpProtocol::icmp : IpProtocol::icmpv6))
        return take_icmp(station, addressing, packet, from, answer);
    if (packet.destination.is_multicast() || packet.destination.is_broadcast())
        return discard(Drop::ip_bad_destination);
    if (!ours) return discard(Drop::ip_not_ours);
    if (packet.protocol == wire::kIpProtocolSctp) return for_core(What::packet, packet.whole);
    return discard(Drop::ip_not_sctp);
}

Taken take_frame(const Station& station, const Addressing& addressing, Bytes bytes,
                 std::optional<wire::VlanTag> stripped, std::span<std::uint8_t> answer) {
    const auto frame = wire::parse_ethernet(bytes);
    if (!frame) return discard(Drop::ip_truncated);
    // A packet socket also shows what leaves by its interface, ours included.
    if (frame->source == station.mac || frame->source.is_group()) return discard(Drop::l2_not_ours);
    if (frame->destination != station.mac && !our_group(frame->destination))
        return discard(Drop::l2_not_ours);
    if (!our_vlan(station, stripped ? stripped : frame->vlan)) return discard(Drop::l2_not_ours);
    if (frame->is(EtherType::ipv4) || frame->is(EtherType::ipv6)) {
        const unsigned version = frame->payload.empty() ? 0 : frame->payload[0] >> 4;
        if (version != (frame->is(EtherType::ipv4) ? 4u : 6u))
            return discard(frame->payload.empty() ? Drop::ip_truncated : Drop::ip_bad_version);
        return take_ip(station, addressing, frame->payload, frame->source, answer);
    }
    if (frame->is(EtherType::arp)) return take_arp(station, addressing, frame->payload, answer);
    return discard(Drop::l2_unknown_ethertype);
}

std::size_t write_request(const Station& station, const Addressing& addressing,
                          const IpAddress& target, std::optional<MacAddress> known,
                          std::span<std::uint8_t> out) {
    const auto asker = addressing.asker_for(station.port, target);
    if (!asker) return 0;
    if (target.is_v4()) {
        const wire::Arp request{wire::ArpOperation::request, station.mac, *asker, {}, target};
        return write_arp_frame(station, known.value_or(wire::kBroadcastMac), request, out);
    }
    const IpAddress to = known ? target : wire::solicited_node(target);
    const wire::NeighbourMessage message{.target = target, .link_layer = station.mac};
    return write_ndp_frame(station, known.value_or(wire::multicast_mac(to)), *asker, to, message,
                           out);
}

std::size_t write_announcement(const Station& station, const IpAddress& mine,
                               std::span<std::uint8_t> out) {
    if (mine.is_v4()) {
        const wire::Arp request{wire::ArpOperation::request, station.mac, mine, {}, mine};
        return write_arp_frame(station, wire::kBroadcastMac, request, out);
    }
    const wire::NeighbourMessage message{
        .advertisement = true, .override_flag = true, .target = mine, .link_layer = station.mac};
    return write_ndp_frame(station, wire::multicast_mac(all_nodes()), mine, all_nodes(), message,
                           out);
}

std::size_t write_duplicate_probe(const Station& station, const IpAddress& mine,
                                  std::span<std::uint8_t> out) {
    if (mine.is_v4()) {
        const wire::Arp probe{wire::ArpOperation::request, station.mac, IpAddress::v4(0), {}, mine};
        return write_arp_frame(station, wire::kBroadcastMac, probe, out);
    }
    const IpAddress group = wire::solicited_node(mine);
    const wire::NeighbourMessage message{.target = mine, .link_layer = {}};
    return write_ndp_frame(station, wire::multicast_mac(group), IpAddress{}, group, message, out);
}

std::size_t write_frame_header(const Station& station, const MacAddress& to, bool v4,
                               std::uint8_t dscp, std::span<std::uint8_t> out) {
    return write_header(station, to, v4 ? EtherType::ipv4 : EtherType::ipv6, dscp, out);
}

}  // namespace signalbox::io
