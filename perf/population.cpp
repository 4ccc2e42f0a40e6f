// SPDX-License-Identifier: Apache-2.0
#include "population.h"

#include <sys/mman.h>

#include <cstdlib>

#include "base/crc32c.h"
#include "core/slot.h"
#include "wire/cookie_chunks.h"
#include "wire/data.h"
#include "wire/heartbeat.h"
#include "wire/init.h"
#include "wire/ip.h"
#include "wire/parameters.h"
#include "wire/sctp_header.h"

namespace signalbox::perf {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kMostBuilt = 8192;

IpAddress v6(std::uint16_t subnet, std::uint32_t group, std::uint32_t host) {
    IpAddress a;
    a.bytes = {0x20, 0x01, 0x0d, 0xb8};
    store_be16(&a.bytes[4], subnet);
    store_be32(&a.bytes[8], group);
    store_be32(&a.bytes[12], host);
    return a;
}

/// 50 hosts to a network, as the kernel series' script has them; the second path 128 networks up.
IpAddress peer_address(std::size_t peer, bool ipv6, unsigned path) {
    const auto group = static_cast<std::uint32_t>(peer / 50);
    const auto host = static_cast<std::uint32_t>(1 + peer % 50);
    if (ipv6) return v6(static_cast<std::uint16_t>(path), group, host);
    return IpAddress::v4(0x0a000000u + (path << 23) + (group << 8) + host);
}

core::Settings settings_for(const Population::Options& options, const IpAddress& gateway) {
    core::Settings s;
    sctp::Profile profile = sctp::kProfileRfc9260;
    profile.heartbeat_interval = options.heartbeat_interval;
    profile.streams_out = 65535;
    profile.sack_delay = options.sack_delay;
    s.profiles = {{"rfc9260", profile}};
    core::ListenerSettings listener;
    listener.name = "perf";
    listener.port = kPort;
    listener.addresses = {gateway};
    listener.accept = core::Accept::any;
    listener.max_associations = static_cast<std::uint32_t>(options.associations);
    s.listeners = {listener};
    s.instances = {
        {.name = "national", .point_code = PointCode{1}, .aliases = {}, .network_indicator = 2}};
    s.init_per_second = 4'000'000'000;
    if (options.servers == 0) return s;
    s.listeners[0].accept = core::Accept::configured;
    for (std::uint32_t i = 0; i < options.associations; ++i) {
        core::PeerSettings peer;
        peer.m3ua.name = "asp" + std::to_string(i);
        peer.m3ua.asp_id = i + 1;
        peer.addresses = {peer_address(i, options.ipv6, 0)};
        s.peers.push_back(peer);
    }
    for (std::uint32_t i = 0; i < options.servers; ++i) {
        sigtran::AsSettings as;
        as.name = "as" + std::to_string(i);
        as.routing_context = kFirstContext + i;
        as.keys = {{PointCode{kFirstPointCode + i}, 0}};
        for (std::size_t peer = i; peer < options.associations; peer += options.servers)
            as.members.push_back({PeerIndex{static_cast<std::uint32_t>(peer)}, 1});
        s.servers.push_back(as);
    }
    return s;
}

}  // namespace

std::span<std::uint8_t> PacketLog::lend(std::size_t bytes) {
    if (memory_.size() - used_ < bytes) return {};
    return std::span(memory_).subspan(used_);
}

void PacketLog::commit(const sctp::Datagram& datagram, std::size_t bytes) {
    const auto packet = std::span(memory_).subspan(used_, bytes);
    sctp_checksum_store(packet);
    entries_.push_back({datagram, packet});
    used_ += (bytes + 63) / 64 * 64;
}

void PacketLog::clear() {
    entries_.clear();
    if (used_ > kBytes / 4) used_ = 0;
}

Population::Population(const Options& options)
    : options_(options),
      region_bytes_((options.associations * sizeof(core::Slot) * 2 + options.page_bytes + kHuge) /
                    kHuge * kHuge),
      region_(std::aligned_alloc(kHuge, region_bytes_)),
      peers_(options.associations) {
    if (region_ == nullptr) std::abort();
    madvise(region_, region_bytes_, options.hugepages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    node_ = std::make_unique<core::Node>(settings_for(options, gateway()), 1, region_,
                                         region_bytes_, reclaimer_, RandomSource::Seed{7});
    worker_ = std::make_unique<core::Worker>(*node_, WorkerIndex{0});
    built_.resize(kMostBuilt);
    burst_.reserve(kMostBuilt);
}

Population::~Population() {
    worker_.reset();
    node_.reset();
    std::free(region_);
}

IpAddress Population::gateway() const {
    return options_.ipv6 ? v6(0xffff, 0, 1) : IpAddress::v4(0xc0000201);
}

IpAddress Population::address(std::size_t peer, unsigned path) const {
    return peer_address(peer, options_.ipv6, path);
}

std::size_t Population::peer_of(const IpAddress& a) const {
    const auto low = load_be32(&a.bytes[12]);
    if (options_.ipv6) return load_be32(&a.bytes[8]) * std::size_t{50} + low - 1;
    return ((low & 0x7fffff) >> 8) * std::size_t{50} + (low & 0xff) - 1;
}

void Population::add_init(std::size_t peer) {
    build(peer, 0, [&](wire::PacketWriter& out) {
        out.begin_chunk(wire::ChunkType::init);
        wire::write_init_fixed(out, {VerificationTag{static_cast<std::uint32_t>(peer) + 1},
                                     1u << 20,
                                     options_.streams,
                                     options_.streams,
                                     Tsn{1},
                                     {}});
        if (options_.two_paths)
            for (unsigned path = 0; path < 2; ++path) wire::write_address(out, address(peer, path));
        out.end_chunk();
    });
}

/// Answers an INIT ACK; what else was sent meanwhile is left alone.
void Population::add_cookie_echo(const PacketLog::Entry& entry) {
    const std::size_t peer = peer_of(entry.datagram.destination);
    const auto packet = wire::parse_sctp_packet(entry.sctp);
    if (!packet || peer >= peers_.size()) return;
    const auto chunk = wire::ChunkWalker{packet->chunks}.next();
    if (!chunk || chunk->type != static_cast<std::uint8_t>(wire::ChunkType::init_ack)) return;
    const auto init_ack = wire::parse_init(chunk->value);
    if (!init_ack) return;
    wire::ParameterWalker walker{init_ack->parameters};
    while (const auto parameter = walker.next()) {
        if (parameter->type != wire::code(wire::ParameterType::state_cookie)) continue;
        peers_[peer].gateway_tag = init_ack->tag.value;
        build(peer, init_ack->tag.value,
              [&](wire::PacketWriter& out) { wire::write_cookie_echo(out, parameter->value); });
        return;
    }
}

bool Population::connect(std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += core::Worker::kBurst) {
        const std::size_t end = std::min(at + core::Worker::kBurst, to);
        for (std::size_t peer = at; peer < end; ++peer) add_init(peer);
        setup_counts_ += pass();
        for (const PacketLog::Entry& entry : sent_.entries()) add_cookie_echo(entry);
        setup_counts_ += pass();
        // The control thread comes every millisecond or so; here it must keep up with a worker that
        // sets up a million associations in a second.
        for (int turn = 0; turn < 4; ++turn) control_turn();
    }
    for (int turn = 0; turn < 4; ++turn) {
        pass();
        control_turn();
    }
    if (established() == to) return true;
    std::fprintf(stderr, "%zu of %zu associations are up:", established(), to);
    for (std::size_t i = 0; i < kDropCount; ++i)
        if (const auto n = drops(static_cast<Drop>(i)))
            std::fprintf(stderr, " %s=%llu", std::string(kDropNames[i]).c_str(),
                         static_cast<unsigned long long>(n));
    std::fprintf(stderr, "\n");
    return false;
}

std::uint64_t Population::connect_one(std::size_t peer, std::uint16_t streams) {
    options_.streams = streams;
    const std::size_t before = established();
    peers_[peer] = {};
    add_init(peer);
    std::uint64_t counts = pass();
    for (const PacketLog::Entry& entry : sent_.entries()) add_cookie_echo(entry);
    counts += pass();
    return established() == before + 1 ? counts : 0;
}

void Population::add_data(std::size_t peer, std::uint16_t stream, std::uint16_t ssn) {
    Peer& p = peers_[peer];
    const std::uint32_t tsn = p.next_tsn++;
    const std::array<std::uint8_t, 1> payload{'x'};
    build(peer, p.gateway_tag, [&](wire::PacketWriter& out) {
        wire::write_data(out, {.flags = wire::Data::kBegin | wire::Data::kEnd,
                               .tsn = Tsn{tsn},
                               .stream = StreamId{stream},
                               .ssn = Ssn{ssn},
                               .ppid = Ppid{0},
                               .payload = payload});
    });
}

void Population::add_abort(std::size_t peer) {
    build(peer, peers_[peer].gateway_tag,
          [](wire::PacketWriter& out) { out.chunk(wire::ChunkType::abort); });
}

std::uint64_t Population::pass(Duration step) {
    sent_.clear();
    const auto start = cycles();
    for (std::size_t at = 0; at < burst_.size(); at += core::Worker::kBurst)
        worker_->receive(
            std::span(burst_).subspan(at, std::min(core::Worker::kBurst, burst_.size() - at)), now,
            sent_);
    worker_->advance(now, sent_);
    worker_->flush(now, sent_);
    const std::uint64_t counts = cycles() - start;
    burst_.clear();
    ++reclaimer_.turn;
    now += step >= Duration{}
               ? step
               : Duration{static_cast<std::int64_t>(static_cast<double>(counts) / counts_per_ns)};
    return counts;
}

std::size_t Population::answer_heartbeats() {
    for (const PacketLog::Entry& entry : sent_.entries()) {
        const auto packet = wire::parse_sctp_packet(entry.sctp);
        const std::size_t peer = peer_of(entry.datagram.destination);
        if (!packet || peer >= peers_.size() || burst_.size() == kMostBuilt) continue;
        wire::ChunkWalker walker{packet->chunks};
        while (const auto chunk = walker.next())
            if (chunk->type == static_cast<std::uint8_t>(wire::ChunkType::heartbeat))
                build(peer, peers_[peer].gateway_tag, [&](wire::PacketWriter& out) {
                    wire::write_heartbeat_ack(out, chunk->value);
                });
    }
    return burst_.size();
}

void Population::control_turn() {
    node_->control_turn(now);
    node_->take_events(100'000, [](const core::EventRecord&) {});
}

std::uint64_t Population::count(Count what) const {
    return node_->worker_counters(WorkerIndex{0}).get(what);
}
std::uint64_t Population::drops(Drop why) const {
    return node_->worker_counters(WorkerIndex{0}).drops(why);
}
std::size_t Population::established() const {
    return static_cast<std::size_t>(count(Count::associations_up));
}

RandomOrder::RandomOrder(std::size_t count, std::uint64_t seed) : random_(seed), order_(count) {
    for (std::size_t i = 0; i < count; ++i) order_[i] = static_cast<std::uint32_t>(i);
    shuffle();
}

void RandomOrder::shuffle() {
    for (std::size_t i = order_.size(); i > 1; --i)
        std::swap(order_[i - 1], order_[random_.below(i)]);
    at_ = 0;
}

}  // namespace signalbox::perf
