// SPDX-License-Identifier: Apache-2.0
// Frame in: Ethernet, ARP, IP, ICMP, neighbour discovery, SCTP and every chunk parser, as a
// received frame meets them. First byte: which layer the rest is (0 Ethernet, 1 IP, 2 SCTP).
// Checksums are mended, so that the fuzzer does not have to guess them.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "wire/arp.h"
#include "wire/data.h"
#include "wire/error_causes.h"
#include "wire/ethernet.h"
#include "wire/heartbeat.h"
#include "wire/icmp.h"
#include "wire/init.h"
#include "wire/ip.h"
#include "wire/ndp.h"
#include "wire/sack.h"
#include "wire/shutdown.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}
void require_within(Bytes inner, Bytes outer) {
    if (inner.empty()) return;
    require(inner.data() >= outer.data());
    require(inner.data() + inner.size() <= outer.data() + outer.size());
}

void fuzz_chunk(const Chunk& chunk) {
    if (const auto init = parse_init(chunk.value)) {
        require_within(init->parameters, chunk.value);
        ParameterWalker walker{init->parameters};
        while (const auto parameter = walker.next()) (void)parse_address(*parameter);
    }
    if (const auto sack = parse_sack(chunk.value)) {
        (void)sack->blocks_possible();
        for (std::size_t i = 0; i < sack->duplicate_count(); ++i) (void)sack->duplicate(i);
    }
    if (const auto data = parse_data(chunk)) require_within(data->payload, chunk.value);
    if (const auto info = parse_heartbeat_info(chunk.value)) require_within(*info, chunk.value);
    (void)parse_shutdown(chunk.value);
    (void)has_cause(chunk.value, Cause::stale_cookie);
}

void fuzz_sctp(Bytes sctp) {
    const auto packet = parse_sctp_packet(sctp);
    if (!packet) return;
    std::size_t walked = 0;
    ChunkWalker walker{packet->chunks};
    while (const auto chunk = walker.next()) {
        require_within(chunk->raw, packet->chunks);
        require(chunk->raw.size() == chunk->value.size() + kTlvHeader);
        walked += chunk->raw.size();
        require(walked <= packet->chunks.size());
        fuzz_chunk(*chunk);
    }
}

void mend_checksums(std::span<std::uint8_t> ip) {
    if (ip.size() >= kIpv4HeaderBytes && ip[0] >> 4 == 4) {
        const std::size_t header = (ip[0] & 0xfu) * 4;
        if (header < kIpv4HeaderBytes || header > ip.size()) return;
        store_u16(ip, 10, 0);
        store_u16(ip, 10, internet_checksum(ip.first(header)));
    }
    const auto parsed = parse_ip(ip);
    const auto* packet = std::get_if<IpPacket>(&parsed);
    if (packet == nullptr || packet->payload.size() < 4) return;
    const auto at = static_cast<std::size_t>(packet->payload.data() - ip.data());
    const auto message = ip.subspan(at, packet->payload.size());
    if (packet->is(IpProtocol::icmpv6)) {
        store_u16(message, 2, 0);
        store_u16(message, 2,
                  ipv6_checksum(packet->source, packet->destination, packet->protocol, message));
    } else if (packet->is(IpProtocol::icmp)) {
        store_u16(message, 2, 0);
        store_u16(message, 2, internet_checksum(message));
    }
}

void fuzz_icmp(const IpPacket& packet) {
    (void)parse_neighbour_message(packet);
    const auto icmp = parse_icmp(packet);
    if (!icmp) return;
    require_within(icmp->quoted, packet.payload);
    (void)parse_quoted_sctp(icmp->quoted);
    std::vector<std::uint8_t> reply(packet.payload.size());
    require(write_echo_reply(reply, packet) == packet.payload.size());
}

void fuzz_ip(std::span<std::uint8_t> ip) {
    mend_checksums(ip);
    const auto parsed = parse_ip(ip);
    const auto* packet = std::get_if<IpPacket>(&parsed);
    if (packet == nullptr) {
        require(static_cast<std::size_t>(std::get<Drop>(parsed)) < kDropCount);
        return;
    }
    require_within(packet->whole, ip);
    require_within(packet->payload, packet->whole);
    require(packet->source.is_v4() == packet->destination.is_v4());
    if (packet->fragment.is_fragment()) return;
    if (packet->is(IpProtocol::sctp)) return fuzz_sctp(packet->payload);
    if (packet->is(IpProtocol::icmp) || packet->is(IpProtocol::icmpv6)) fuzz_icmp(*packet);
}

void fuzz_ethernet(std::span<std::uint8_t> bytes) {
    const auto frame = parse_ethernet(bytes);
    if (!frame) return;
    std::array<std::uint8_t, 18> header{};
    const std::size_t written = write_ethernet_header(header, *frame);
    require(written == bytes.size() - frame->payload.size());
    if (frame->is(EtherType::arp)) {
        const auto arp = parse_arp(frame->payload);
        std::array<std::uint8_t, Arp::kBytes> back{};
        if (arp) require(write_arp(back, *arp) == Arp::kBytes);
        if (arp) require(std::equal(back.begin(), back.end(), frame->payload.begin()));
    }
    if (frame->is(EtherType::ipv4) || frame->is(EtherType::ipv6)) fuzz_ip(bytes.subspan(written));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::vector<std::uint8_t> bytes(data + 1, data + size);
    switch (data[0] % 3) {
        case 0:
            fuzz_ethernet(bytes);
            break;
        case 1:
            fuzz_ip(bytes);
            break;
        default:
            fuzz_sctp(bytes);
            break;
    }
    return 0;
}
