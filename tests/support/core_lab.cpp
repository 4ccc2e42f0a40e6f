// SPDX-License-Identifier: Apache-2.0
#include "support/core_lab.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "wire/chunk_types.h"
#include "wire/sctp_header.h"

namespace signalbox::test {

void PacketSink::commit(const sctp::Datagram& d, std::size_t bytes) {
    sctp_checksum_store(std::span(room_).first(bytes));
    std::array<std::uint8_t, 9216 + 64> packet;
    const std::size_t header =
        wire::write_ip_header(packet, {.source = d.source, .destination = d.destination}, bytes);
    std::memcpy(packet.data() + header, room_.data(), bytes);
    const std::size_t whole = header + bytes;
    if (held_bytes_ + whole + sizeof whole > held_.size()) return append(packet.data(), whole);
    std::memcpy(held_.data() + held_bytes_, &whole, sizeof whole);
    std::memcpy(held_.data() + held_bytes_ + sizeof whole, packet.data(), whole);
    held_bytes_ += sizeof whole + whole;
}

void PacketSink::collect() {
    for (std::size_t at = 0; at < held_bytes_;) {
        std::size_t whole;
        std::memcpy(&whole, held_.data() + at, sizeof whole);
        append(held_.data() + at + sizeof whole, whole);
        at += sizeof whole + whole;
    }
    held_bytes_ = 0;
}

CoreLab::CoreLab(core::Settings settings, const Options& options)
    : region_(std::aligned_alloc(mem::kPageBytes, options.memory_bytes)),
      options_(options),
      random_(options.seed),
      asp_blocks_(asp_pages),
      asp_cookies_(random_, 0),
      asp_tags_(random_),
      scratch_(sctp::kMaxMessageBytes) {
    RandomSource::Seed seed{};
    random_.fill(seed);
    node = std::make_unique<core::Node>(std::move(settings), options.workers, region_,
                                        options.memory_bytes, reclaimer, seed);
    for (unsigned w = 0; w < options.workers; ++w)
        workers.push_back(
            std::make_unique<core::Worker>(*node, WorkerIndex{static_cast<std::uint8_t>(w)}));
}

CoreLab::~CoreLab() {
    for (Asp& asp : asps) {
        sctp::Environment env = asp_environment(asp);
        while (!asp.association->release(env, 1000)) {
        }
    }
    workers.clear();
    node.reset();
    std::free(region_);
}

sctp::Environment CoreLab::asp_environment(const Asp& asp) {
    return {.now = now,
            .profile = options_.asp_profile,
            .local_addresses = asp.addresses,
            .pages = asp_pages,
            .blocks = asp_blocks_,
            .random = random_,
            .tags = asp_tags_,
            .cookies = asp_cookies_,
            .counters = asp_counters_,
            .scratch = scratch_};
}

Asp& CoreLab::add(PeerIndex peer) {
    Asp& asp = asps.emplace_back();
    asp.peer = peer;
    asp.addresses = node->settings().peers[peer.value].addresses;
    asp.association = std::make_unique<sctp::Association>();
    for (const IpAddress& a : asp.addresses) by_address_[a] = asps.size() - 1;
    return asp;
}

Asp& CoreLab::listen(PeerIndex peer) {
    Asp& asp = add(peer);
    asp.listens = true;
    return asp;
}

/// True: nothing of the packet is for an association yet.
bool CoreLab::met_by_listener(Asp& asp, const sctp::Packet& packet) {
    if (!asp.listens) return false;
    sctp::Environment env = asp_environment(asp);
    if (packet.chunks[0] == static_cast<std::uint8_t>(wire::ChunkType::init)) {
        sctp::answer_init(env, packet, to_gateway_);
        return true;
    }
    sctp::CookieContents cookie;
    if (sctp::first_cookie(packet).empty() ||
        asp_cookies_.open(sctp::first_cookie(packet), packet, now, cookie) !=
            sctp::CookieVerdict::good ||
        !asp.association->accept(env, cookie))
        return true;
    asp.listens = false;
    return false;
}

void CoreLab::shutdown(Asp& asp) {
    sctp::Environment env = asp_environment(asp);
    asp.association->shutdown(env);
}

Asp& CoreLab::start(PeerIndex peer, std::optional<std::uint16_t> port) {
    Asp& asp = add(peer);
    const core::PeerSettings& settings = node->settings().peers[peer.value];
    sctp::Environment env = asp_environment(asp);
    const core::ListenerSettings& listener = node->settings().listeners[settings.listener];
    const auto own_port = static_cast<std::uint16_t>(2905 + asps.size() % 1000);
    asp.association->connect(env, listener.addresses, port.value_or(own_port), listener.port);
    return asp;
}

void CoreLab::send(Asp& asp, StreamId stream, std::span<const std::uint8_t> m3ua, Ppid ppid) {
    sctp::Environment env = asp_environment(asp);
    const std::span<const std::uint8_t> pieces[] = {m3ua};
    asp.association->send(env, stream, ppid, false, pieces);
}

void CoreLab::flush(Asp& asp) {
    sctp::Environment env = asp_environment(asp);
    asp.association->flush(env, to_gateway_);
}

void CoreLab::abort(Asp& asp, std::uint16_t cause) {
    sctp::Environment env = asp_environment(asp);
    effects_.clear();
    asp.association->abort(env, cause, effects_);
    asp.association->flush(env, to_gateway_);
    asp.silent = true;
}

void CoreLab::run_asps() {
    for (Asp& asp : asps) {
        if (asp.silent) continue;
        sctp::Environment env = asp_environment(asp);
        if (asp.association->next_deadline() <= now) {
            effects_.clear();
            asp.association->advance(env, effects_);
            for (const auto& e : effects_.happened()) asp.events.push_back(e);
        }
        asp.association->flush(env, to_gateway_);
    }
}

void CoreLab::feed_gateway() {
    std::vector<IpBytes> packets;
    packets.swap(to_gateway_.packets);
    packets_to_gateway += packets.size();
    std::vector<core::PacketView> views;
    for (const IpBytes& p : packets)
        if (!cut || !cut(p, true)) views.push_back({.ip = p});
    // One port queue: worker 0 polls it, the others live on hand-offs.
    for (std::size_t at = 0; at < views.size(); at += core::Worker::kBurst) {
        const std::size_t n = std::min(core::Worker::kBurst, views.size() - at);
        edge(true);
        workers[0]->receive(std::span(views).subspan(at, n), now, from_gateway_);
        edge(false);
    }
}

void CoreLab::feed_asps(std::vector<IpBytes>& packets) {
    for (const IpBytes& bytes : packets) {
        if (cut && cut(bytes, false)) continue;
        const auto parsed = wire::parse_ip(bytes);
        const auto* ip = std::get_if<wire::IpPacket>(&parsed);
        if (ip == nullptr) std::abort();  // the gateway sent something that is no IP packet
        const auto found = by_address_.find(ip->destination);
        if (found == by_address_.end() || !sctp_checksum_ok(ip->payload)) std::abort();
        Asp& asp = asps[found->second];
        if (asp.silent) continue;
        const auto packet = wire::parse_sctp_packet(ip->payload);
        if (!packet) std::abort();
        const sctp::Packet arrived{.source = ip->source,
                                   .destination = ip->destination,
                                   .source_port = packet->header.source_port,
                                   .destination_port = packet->header.destination_port,
                                   .tag = packet->header.tag,
                                   .chunks = packet->chunks};
        if (met_by_listener(asp, arrived)) continue;
        sctp::Environment env = asp_environment(asp);
        effects_.clear();
        asp.association->receive(env, arrived, effects_);
        for (const auto& e : effects_.happened()) asp.events.push_back(e);
        for (const sctp::Message& m : effects_.delivered()) {
            asp.received.emplace_back(m.data.begin(), m.data.end());
            asp.received_on.push_back(m.stream);
        }
        while (const auto m = asp.association->front_ready(env)) {
            asp.received.emplace_back(m->data.begin(), m->data.end());
            asp.received_on.push_back(m->stream);
            asp.association->pop_ready(env);
        }
    }
}

void CoreLab::turn(Duration step) {
    now += step;
    run_asps();
    feed_gateway();
    if (measure_only_workers) from_gateway_.buffer(1u << 20);
    edge(true);
    std::uint64_t paused = 0;
    for (unsigned w = 0; w < workers.size(); ++w)
        if (worker_paused && worker_paused(w)) paused |= std::uint64_t{1} << w;
    const auto runs = [&](std::size_t w) { return (paused >> w & 1) == 0; };
    for (std::size_t w = 0; w < workers.size(); ++w)
        if (runs(w)) workers[w]->advance(now, from_gateway_);
    for (std::size_t w = 0; w < workers.size(); ++w)
        if (runs(w)) workers[w]->flush(now, from_gateway_);
    edge(false);
    from_gateway_.collect();
    if (paused == 0) ++reclaimer.turn;
    if (!control_paused) node->control_turn(now);
    std::vector<IpBytes> packets;
    packets.swap(from_gateway_.packets);
    feed_asps(packets);
}

bool CoreLab::run_until(const std::function<bool()>& holds, Duration limit, Duration step) {
    for (Duration t{}; t < limit; t += step) {
        if (holds()) return true;
        turn(step);
    }
    return holds();
}

std::uint64_t CoreLab::drops(Drop reason) const {
    std::uint64_t n = 0;
    for (std::uint8_t w = 0; w < workers.size(); ++w)
        n += node->worker_counters(WorkerIndex{w}).drops(reason);
    return n;
}

std::uint64_t CoreLab::count(Count what) const {
    std::uint64_t n = 0;
    for (std::uint8_t w = 0; w < workers.size(); ++w)
        n += node->worker_counters(WorkerIndex{w}).get(what);
    return n;
}

std::string CoreLab::counters() const {
    std::string text;
    for (std::size_t i = 0; i < kDropCount; ++i)
        if (const auto n = drops(static_cast<Drop>(i)))
            text += std::string(kDropNames[i]) + "=" + std::to_string(n) + " ";
    for (std::size_t i = 0; i < kCountCount; ++i)
        if (const auto n = count(static_cast<Count>(i)))
            text += std::string(kCountNames[i]) + "=" + std::to_string(n) + " ";
    return text;
}

namespace m3ua {
namespace {

void put(std::vector<std::uint8_t>& out, std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

std::vector<std::uint8_t> message(std::uint8_t message_class, std::uint8_t type,
                                  const std::vector<std::uint8_t>& body) {
    std::vector<std::uint8_t> out{1, 0, message_class, type};
    put(out, 8 + body.size(), 4);
    out.insert(out.end(), body.begin(), body.end());
    return out;
}

std::vector<std::uint8_t> parameter(std::uint16_t tag, std::uint32_t value) {
    std::vector<std::uint8_t> out;
    put(out, tag, 2);
    put(out, 8, 2);
    put(out, value, 4);
    return out;
}

}  // namespace

std::vector<std::uint8_t> aspup(std::uint32_t asp_id) {
    return message(3, 1, parameter(0x11, asp_id));
}
std::vector<std::uint8_t> aspac(std::uint32_t rc) {
    return message(4, 1, parameter(0x06, rc));
}
std::vector<std::uint8_t> aspia(std::uint32_t rc) {
    return message(4, 2, parameter(0x06, rc));
}

std::vector<std::uint8_t> data(std::uint32_t rc, std::uint32_t opc, std::uint32_t dpc,
                               std::uint8_t sls, std::span<const std::uint8_t> user) {
    std::vector<std::uint8_t> body = parameter(0x06, rc);
    put(body, 0x0210, 2);
    put(body, 16 + user.size(), 2);
    put(body, opc, 4);
    put(body, dpc, 4);
    for (const std::uint8_t b : {std::uint8_t{3}, std::uint8_t{2}, std::uint8_t{0}, sls})
        body.push_back(b);
    body.insert(body.end(), user.begin(), user.end());
    while (body.size() % 4 != 0) body.push_back(0);
    return message(1, 1, body);
}

std::optional<Data> parse_data(std::span<const std::uint8_t> m) {
    if (!is(m, 1, 1)) return std::nullopt;
    Data d;
    bool complete = false;
    for (std::size_t at = 8; at + 4 <= m.size();) {
        const std::uint16_t tag = load_be16(m.data() + at);
        const std::uint16_t length = load_be16(m.data() + at + 2);
        if (length < 4 || at + length > m.size()) return std::nullopt;
        const auto value = m.subspan(at + 4, length - 4u);
        if (tag == 0x06 && value.size() == 4) d.routing_context = load_be32(value.data());
        if (tag == 0x0210 && value.size() >= 12) {
            d.opc = load_be32(value.data());
            d.dpc = load_be32(value.data() + 4);
            d.si = value[8];
            d.ni = value[9];
            d.sls = value[11];
            d.user.assign(value.begin() + 12, value.end());
            complete = true;
        }
        at += (length + 3u) / 4 * 4;
    }
    return complete ? std::optional(d) : std::nullopt;
}

bool is(std::span<const std::uint8_t> m, std::uint8_t message_class, std::uint8_t type) {
    return m.size() >= 8 && m[2] == message_class && m[3] == type;
}

}  // namespace m3ua

core::Settings one_asp_per_server(std::size_t servers) {
    return asps_over_servers(servers, servers);
}

core::Settings asps_over_servers(std::size_t peers, std::size_t servers) {
    core::Settings s;
    s.profiles = {{"rfc9260", sctp::kProfileRfc9260}, {"site", sctp::kProfileSigtranLan}};
    s.listeners = {{.name = "sigtran",
                    .port = 2905,
                    .addresses = {IpAddress::v4(0x0a4d0003)},
                    .profile = 1,
                    .max_associations = static_cast<std::uint32_t>(peers + 64)}};
    s.instances = {
        {.name = "national", .point_code = PointCode{1}, .aliases = {}, .network_indicator = 2}};
    for (std::uint32_t i = 0; i < peers; ++i) {
        core::PeerSettings peer;
        peer.m3ua.name = "asp" + std::to_string(i);
        peer.m3ua.asp_id = i + 1;
        peer.addresses = {IpAddress::v4(0x0a4d0000 + ((16 + i / 250) << 8) + 1 + i % 250)};
        peer.profile = 1;
        s.peers.push_back(peer);
    }
    for (std::uint32_t i = 0; i < servers; ++i) {
        sigtran::AsSettings as;
        as.name = "as" + std::to_string(i);
        as.routing_context = 100 + i;
        as.keys = {{PointCode{1000 + i}, 0}};
        for (std::uint32_t peer = i; peer < peers; peer += static_cast<std::uint32_t>(servers))
            as.members.push_back({PeerIndex{peer}, 1});
        s.servers.push_back(as);
    }
    return s;
}

void bring_up(CoreLab& lab, Asp& asp, std::uint32_t routing_context) {
    const auto established = [&] { return asp.association->state() == sctp::State::established; };
    lab.run_until(established, 5s);
    lab.send(asp, StreamId{0},
             m3ua::aspup(lab.node->settings().peers[asp.peer.value].m3ua.asp_id.value_or(0)));
    lab.send(asp, StreamId{0}, m3ua::aspac(routing_context));
    lab.run_until(
        [&] {
            return std::any_of(asp.received.begin(), asp.received.end(),
                               [](const auto& m) { return m3ua::is(m, 4, 3); });
        },
        5s);
}

}  // namespace signalbox::test
