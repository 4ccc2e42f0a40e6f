// SPDX-License-Identifier: Apache-2.0
#include "m3ua_population.h"

#include <algorithm>

#include "base/bytes.h"
#include "wire/data.h"
#include "wire/sack.h"
#include "wire/tlv.h"

namespace signalbox::perf {
namespace {

constexpr Ppid kM3ua{3};
constexpr std::size_t kHeader = 8, kParameter = 4, kContext = 8, kLabel = 12;
constexpr std::uint8_t kTransfer = 1, kAspStates = 3, kAspTraffic = 4;
constexpr std::uint32_t kWindow = 1 << 20;

void write_chunk(wire::PacketWriter& out, std::uint32_t tsn, std::uint16_t stream,
                 std::uint16_t ssn, std::span<const std::uint8_t> message) {
    wire::write_data(out, {.flags = wire::Data::kBegin | wire::Data::kEnd,
                           .tsn = Tsn{tsn},
                           .stream = StreamId{stream},
                           .ssn = Ssn{ssn},
                           .ppid = kM3ua,
                           .payload = message});
}

/// RFC 4666 3.1.
void write_header(std::span<std::uint8_t> out, std::uint8_t message_class, std::uint8_t type) {
    out[0] = 1;
    out[2] = message_class;
    out[3] = type;
    store_be32(&out[4], static_cast<std::uint32_t>(out.size()));
}

}  // namespace

void M3uaPopulation::add_management(std::size_t peer, std::uint8_t message_class, std::uint8_t type,
                                    std::uint16_t tag, std::uint32_t value) {
    std::array<std::uint8_t, kHeader + kContext> message{};
    write_header(message, message_class, type);
    store_be16(&message[kHeader], tag);
    store_be16(&message[kHeader + 2], kContext);
    store_be32(&message[kHeader + kParameter], value);
    build(peer, [&](wire::PacketWriter& out) {
        write_chunk(out, draw_tsn(peer), 0, asps_[peer].management_ssn++, message);
    });
}

bool M3uaPopulation::activate() {
    constexpr std::uint16_t kAspIdentifier = 0x11, kRoutingContext = 0x06;
    for (std::size_t at = 0; at < size(); at += core::Worker::kBurst) {
        const std::size_t end = std::min(at + core::Worker::kBurst, size());
        for (std::size_t peer = at; peer < end; ++peer)
            add_management(peer, kAspStates, 1, kAspIdentifier,
                           static_cast<std::uint32_t>(peer) + 1);
        drain();
        for (std::size_t peer = at; peer < end; ++peer)
            add_management(peer, kAspTraffic, 1, kRoutingContext,
                           kFirstContext + static_cast<std::uint32_t>(server_of(peer)));
        drain();
    }
    const auto active =
        std::count_if(asps_.begin(), asps_.end(), [](const Asp& a) { return a.active; });
    return static_cast<std::size_t>(active) == size();
}

void M3uaPopulation::add(const Messages& wanted) {
    std::array<std::uint8_t, 1400> message{};
    const std::size_t bytes = kHeader + kContext + kParameter + kLabel + wanted.payload_bytes;
    const auto whole = std::span(message).first((bytes + 3) / 4 * 4);
    const auto from = static_cast<std::uint32_t>(server_of(wanted.from));
    write_header(whole, kTransfer, 1);
    std::uint8_t* at = &message[kHeader];
    store_be16(at, 0x06);
    store_be16(at + 2, kContext);
    store_be32(at + 4, kFirstContext + from);
    store_be16(at + 8, 0x0210);
    store_be16(at + 10, static_cast<std::uint16_t>(kParameter + kLabel + wanted.payload_bytes));
    store_be32(at + 12, kFirstPointCode + from);
    store_be32(at + 16, kFirstPointCode + static_cast<std::uint32_t>(wanted.to));
    at[20] = 3;  // SCCP
    at[21] = 2;  // network indicator: national
    at[23] = wanted.sls;
    build(wanted.from, [&](wire::PacketWriter& out) {
        for (std::size_t n = 0; n < wanted.count; ++n)
            write_chunk(out, draw_tsn(wanted.from), 1, asps_[wanted.from].ssn++, whole);
    });
}

void M3uaPopulation::add_sack(std::size_t peer) {
    asps_[peer].unanswered = 0;
    build(peer, [&](wire::PacketWriter& out) {
        wire::write_sack(out, Tsn{asps_[peer].received}, kWindow, {}, {});
    });
}

/// Nothing is lost or reordered on the way to a peer: the last TSN is the cumulative one.
std::size_t M3uaPopulation::take(std::size_t peer, const wire::SctpPacketView& packet) {
    Asp& asp = asps_[peer];
    std::size_t messages = 0;
    bool any = false;
    wire::ChunkWalker walker{packet.chunks};
    while (const auto chunk = walker.next()) {
        if (chunk->type != static_cast<std::uint8_t>(wire::ChunkType::data)) continue;
        const auto data = wire::parse_data(*chunk);
        if (!data || data->payload.size() < kHeader) continue;
        any = true;
        asp.received = data->tsn.value;
        if (data->payload[2] == kTransfer) ++messages;
        if (data->payload[2] == kAspTraffic && data->payload[3] == 3) asp.active = true;
    }
    if (any && ++asp.unanswered >= 2) add_sack(peer);
    return messages;
}

std::size_t M3uaPopulation::acknowledge() {
    std::size_t messages = 0;
    for (const PacketLog::Entry& entry : sent()) {
        const auto packet = wire::parse_sctp_packet(entry.sctp);
        const std::size_t peer = peer_of(entry.datagram.destination);
        if (packet && peer < size()) messages += take(peer, *packet);
    }
    return messages;
}

std::size_t M3uaPopulation::drain() {
    std::size_t messages = 0;
    for (int quiet = 0; quiet < 3;) {
        pass(std::chrono::milliseconds(1));
        control_turn();
        messages += acknowledge();
        if (burst_size() == 0)
            for (std::size_t peer = 0; peer < size() && burst_size() < core::Worker::kBurst; ++peer)
                if (asps_[peer].unanswered != 0) add_sack(peer);
        quiet = burst_size() == 0 && sent().empty() ? quiet + 1 : 0;
    }
    return messages;
}

}  // namespace signalbox::perf
