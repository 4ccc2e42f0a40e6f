// SPDX-License-Identifier: Apache-2.0
#include "io/transmitter.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "base/crc32c.h"
#include "wire/ip.h"
#include "wire/sctp_header.h"

namespace signalbox::io {

namespace {

static_assert(RTE_PKTMBUF_HEADROOM >= 18 + wire::kIpv6HeaderBytes + wire::kIpv6FragmentHeaderBytes);

std::span<std::uint8_t> bytes_of(rte_mbuf& packet) {
    return {rte_pktmbuf_mtod(&packet, std::uint8_t*), rte_pktmbuf_data_len(&packet)};
}

std::span<std::uint8_t> prepend(rte_mbuf& packet, std::size_t bytes) {
    char* at = rte_pktmbuf_prepend(&packet, static_cast<std::uint16_t>(bytes));
    if (at == nullptr) return {};
    return {reinterpret_cast<std::uint8_t*>(at), bytes};
}

std::uint8_t dscp_of(std::span<const std::uint8_t> ip) {
    if (ip[0] >> 4 == 4) return static_cast<std::uint8_t>(ip[1] >> 2);
    return static_cast<std::uint8_t>((ip[0] & 0xf) << 2 | ip[1] >> 6);
}

}  // namespace

Station station_of(const Port& port) {
    return {port.index(), port.mac(), port.settings().vlan, port.settings().mtu_bytes};
}

Transmitter::Transmitter(std::size_t worker, std::span<const std::unique_ptr<Port>> ports,
                         const Addressing& addressing, rte_mempool* pool, std::uint64_t seed)
    : worker_(worker),
      ports_(ports),
      addressing_(addressing),
      pool_(pool),
      neighbours_(seed),
      collected_(ports.size()) {
    for (const auto& port : ports) stations_.push_back(station_of(*port));
}

Transmitter::~Transmitter() {
    rte_pktmbuf_free(lent_);
    rte_pktmbuf_free_bulk(kept_.data(), static_cast<unsigned>(kept_count_));
    neighbours_.clear(
        [](NeighbourTable::Packet p) { rte_pktmbuf_free(static_cast<rte_mbuf*>(p)); });
    for (Collected& c : collected_) rte_pktmbuf_free_bulk(c.packets.data(), c.count);
}

void Transmitter::drop(Drop why, rte_mbuf* packet) {
    counters_->drop(why);
    rte_pktmbuf_free(packet);
}

std::span<std::uint8_t> Transmitter::lend(std::size_t bytes) {
    if (lent_ == nullptr) lent_ = rte_pktmbuf_alloc(pool_);
    return lent_room(bytes);
}

std::span<std::uint8_t> Transmitter::lend_kept(std::size_t bytes) {
    if (lent_ == nullptr && kept_count_ > 0) lent_ = kept_[--kept_count_];
    return lent_room(bytes);
}

std::span<std::uint8_t> Transmitter::lent_room(std::size_t bytes) const {
    if (lent_ == nullptr || rte_pktmbuf_tailroom(lent_) < bytes) return {};
    return {rte_pktmbuf_mtod(lent_, std::uint8_t*), rte_pktmbuf_tailroom(lent_)};
}

void Transmitter::keep_buffers() {
    while (kept_count_ < kKeptBuffers) {
        rte_mbuf* const buffer = rte_pktmbuf_alloc(pool_);
        if (buffer == nullptr) return;
        kept_[kept_count_++] = buffer;
    }
}

void Transmitter::commit(const sctp::Datagram& datagram, std::size_t bytes) {
    const auto hop = addressing_.next_hop(datagram.source, datagram.destination);
    if (!hop) return counters_->drop(Drop::no_route);  // the buffer stays lent
    const Port& port = *ports_[hop->port];
    rte_mbuf* packet = lent_;
    lent_ = nullptr;
    packet->data_len = static_cast<std::uint16_t>(bytes);
    packet->pkt_len = static_cast<std::uint32_t>(bytes);
    // IPv6 knows no fragmentation on the way: what the path may not take whole leaves in pieces.
    if (!datagram.dont_fragment && datagram.source.is_v6())
        return send_fragments(*hop, datagram, packet);
    if (!put_ip_header(*packet, datagram, bytes, port)) return drop(Drop::transmit_refused, packet);
    counters_->add(Count::tx_packets);
    counters_->add(Count::tx_bytes, packet->pkt_len);
    dispatch(*hop, packet);
}

void Transmitter::send_fragments(const NextHop& hop, const sctp::Datagram& datagram,
                                 rte_mbuf* whole) {
    constexpr std::size_t kPiece = 1280 - wire::kIpv6HeaderBytes - wire::kIpv6FragmentHeaderBytes;
    static_assert(kPiece % 8 == 0);  // RFC 8200 4.5
    constexpr std::uint8_t kFragment = static_cast<std::uint8_t>(wire::IpProtocol::fragment);
    sctp_checksum_store(bytes_of(*whole));
    const std::span<const std::uint8_t> all = bytes_of(*whole);
    ++identification_;
    for (std::size_t at = 0; at < all.size(); at += kPiece) {
        rte_mbuf* packet = rte_pktmbuf_alloc(pool_);
        if (packet == nullptr) {
            counters_->drop(Drop::transmit_no_buffer);
            break;
        }
        const std::size_t n = std::min(kPiece, all.size() - at);
        packet->data_len = static_cast<std::uint16_t>(n);
        packet->pkt_len = static_cast<std::uint32_t>(n);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), n, bytes_of(*packet).begin());
        wire::write_ipv6_fragment_header(prepend(*packet, wire::kIpv6FragmentHeaderBytes),
                                         wire::kIpProtocolSctp,
                                         {.identification = identification_,
                                          .offset_bytes = static_cast<std::uint16_t>(at),
                                          .more = at + n < all.size()});
        wire::write_ip_header(prepend(*packet, wire::kIpv6HeaderBytes),
                              {.source = datagram.source,
                               .destination = datagram.destination,
                               .protocol = kFragment,
                               .dscp = datagram.dscp},
                              wire::kIpv6FragmentHeaderBytes + n);
        counters_->add(Count::tx_bytes, packet->pkt_len);
        dispatch(hop, packet);
    }
    counters_->add(Count::tx_packets);
    rte_pktmbuf_free(whole);
}

void Transmitter::dispatch(const NextHop& hop, rte_mbuf* packet) {
    const NeighbourKey key{hop.address, hop.port};
    const auto resolution = neighbours_.resolve(key, packet, now_);
    if (resolution.answer == NeighbourTable::Answer::known)
        send_to(hop.port, packet, resolution.mac);
    else if (resolution.answer == NeighbourTable::Answer::refused)
        return drop(Drop::neighbour_unresolved, packet);
    if (!resolution.ask) return;
    const bool known = resolution.answer == NeighbourTable::Answer::known;
    ask(key, known ? std::optional{resolution.mac} : std::nullopt);
}

bool Transmitter::put_ip_header(rte_mbuf& packet, const sctp::Datagram& datagram, std::size_t bytes,
                                const Port& port) {
    const bool v4 = datagram.source.is_v4();
    const std::size_t l3 = wire::ip_header_bytes(datagram.source);
    if (l3 + bytes > port.settings().mtu_bytes) return false;
    if (port.sctp_checksum_offload())
        packet.ol_flags |=
            RTE_MBUF_F_TX_SCTP_CKSUM | (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
    else
        sctp_checksum_store(bytes_of(packet));
    packet.l2_len = wire::ethernet_header_bytes(port.settings().vlan.has_value()) & 0x7f;
    packet.l3_len = l3 & 0x1ff;
    wire::IpHeader header{.source = datagram.source,
                          .destination = datagram.destination,
                          .dscp = datagram.dscp,
                          .dont_fragment = datagram.dont_fragment};
    if (!datagram.dont_fragment)
        header.identification = static_cast<std::uint16_t>(++identification_);
    return wire::write_ip_header(prepend(packet, l3), header, bytes) != 0;
}

void Transmitter::send_to(PortIndex port, rte_mbuf* packet, const MacAddress& to) {
    const auto ip = bytes_of(*packet);
    const bool v4 = ip[0] >> 4 == 4;
    const std::uint8_t dscp = dscp_of(ip);
    const Station& station = stations_[port];
    write_frame_header(station, to, v4, dscp,
                       prepend(*packet, wire::ethernet_header_bytes(station.vlan.has_value())));
    collect(port, packet);
}

void Transmitter::send_frame(PortIndex port, std::span<const std::uint8_t> frame) {
    rte_mbuf* packet = rte_pktmbuf_alloc(pool_);
    char* room = packet == nullptr
                     ? nullptr
                     : rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size()));
    if (room == nullptr) return drop(Drop::transmit_no_buffer, packet);
    std::copy(frame.begin(), frame.end(), reinterpret_cast<std::uint8_t*>(room));
    collect(port, packet);
}

void Transmitter::learn(const Learned& learned) {
    const auto released = neighbours_.learn(learned.key, learned.mac, now_);
    for (std::size_t i = 0; i < released.count; ++i)
        send_to(learned.key.port, static_cast<rte_mbuf*>(released.packets[i]), learned.mac);
}

void Transmitter::tick() {
    neighbours_.tick(
        now_, [this](const NeighbourKey& key, std::optional<MacAddress> known) { ask(key, known); },
        [this](NeighbourTable::Packet p) {
            drop(Drop::neighbour_unresolved, static_cast<rte_mbuf*>(p));
        });
}

void Transmitter::ask(const NeighbourKey& key, std::optional<MacAddress> known) {
    std::array<std::uint8_t, kRequestMaxBytes> frame;
    const std::size_t bytes =
        write_request(stations_[key.port], addressing_, key.address, known, frame);
    if (bytes != 0) send_frame(key.port, {frame.data(), bytes});
}

void Transmitter::collect(PortIndex port, rte_mbuf* packet) {
    Collected& c = collected_[port];
    if (c.count == kCollectedMax) send_collected(port);
    if (c.count == kCollectedMax) return drop(Drop::transmit_refused, packet);
    c.packets[c.count++] = packet;
}

bool Transmitter::flush() {
    bool waits = false;
    for (std::size_t port = 0; port < collected_.size(); ++port) {
        if (collected_[port].count == 0) continue;
        send_collected(static_cast<PortIndex>(port));
        waits |= collected_[port].count != 0;
    }
    return waits;
}

void Transmitter::send_collected(PortIndex port) {
    Collected& c = collected_[port];
    const std::uint16_t sent = ports_[port]->transmit(worker_, c.packets.data(), c.count);
    std::move(c.packets.begin() + sent, c.packets.begin() + c.count, c.packets.begin());
    c.count = static_cast<std::uint16_t>(c.count - sent);
    if (c.count == 0 || sent != 0) {
        c.stalled_since = kNever;
        return;
    }
    if (c.stalled_since == kNever) c.stalled_since = now_;
    if (now_ - c.stalled_since < kStallMax) return;
    // Stale packets help nobody: their association sends again.
    counters_->drop(Drop::transmit_refused, c.count);
    rte_pktmbuf_free_bulk(c.packets.data(), c.count);
    c.count = 0;
    c.stalled_since = kNever;
}

}  // namespace signalbox::io
