// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet.h"

#include "base/bytes.h"
#include "wire/sctp_header.h"

namespace signalbox::fleet {

namespace {

namespace m3ua = test::m3ua;

constexpr std::uint8_t kSlsValues = 16;
constexpr std::size_t kBacklog = 4096;  // packets that wait for the ring

std::array<std::uint8_t, 8> numbered(std::uint32_t process, std::uint32_t n) {
    std::array<std::uint8_t, 8> user;
    store_be32(user.data(), process);
    store_be32(user.data() + 4, n);
    return user;
}

}  // namespace

IpAddress Fleet::address_of(std::size_t i) {
    return IpAddress::v4(
        static_cast<std::uint32_t>(0x0a4d0000 + ((16 + i / 250) << 8) + 1 + i % 250));
}

Fleet::Fleet(const Options& options, std::uint64_t seed)
    : options_(options),
      random_(seed),
      blocks_(pages_),
      cookies_(random_, 0),
      tags_(random_),
      scratch_(sctp::kMaxMessageBytes) {
    for (std::size_t i = 0; i < options.processes; ++i) {
        Process& p = processes_.emplace_back();
        p.number = static_cast<std::uint32_t>(i);
        p.address = address_of(i);
        p.addresses = {p.address};
    }
}

Fleet::~Fleet() {
    for (Process& p : processes_) {
        sctp::Environment env = environment(p, Time{});
        while (!p.association.release(env, 1000)) {
        }
    }
}

sctp::Environment Fleet::environment(const Process& process, Time now) {
    return {.now = now,
            .profile = sctp::kProfileRfc9260,
            .local_addresses = process.addresses,
            .pages = pages_,
            .blocks = blocks_,
            .random = random_,
            .tags = tags_,
            .cookies = cookies_,
            .counters = counters_,
            .scratch = scratch_};
}

void Fleet::fault(const Process& process, const std::string& what) {
    if (totals_.faults++ == 0)
        totals_.first_fault = "process " + std::to_string(process.number) + ": " + what;
}

void Fleet::send(Process& p, StreamId stream, std::span<const std::uint8_t> message, Time now) {
    sctp::Environment env = environment(p, now);
    const std::span<const std::uint8_t> pieces[] = {message};
    if (p.association.send(env, stream, Ppid{3}, false, pieces) != sctp::SendStatus::ok)
        fault(p, "its own association refused a message");
}

/// Numbers go round the SLS values, so that within an SLS each is the last one plus kSlsValues.
void Fleet::take_data(Process& p, const m3ua::Data& d) {
    if (d.user.size() != 8) return fault(p, "a message of the wrong length");
    const std::uint32_t from = load_be32(d.user.data());
    const std::uint32_t n = load_be32(d.user.data() + 4);
    if (from != (p.number ^ 1u) || d.opc != point_code_of(from) ||
        d.dpc != point_code_of(p.number) || d.sls != n % kSlsValues)
        return fault(p, "a message that is not for it");
    auto& next = p.next.try_emplace(d.sls, d.sls).first->second;
    if (n != next)
        fault(p,
              "number " + std::to_string(n) + " came where " + std::to_string(next) + " was due");
    next = n + kSlsValues;
    ++p.received;
}

void Fleet::take(Process& p, std::span<const std::uint8_t> message, Time now) {
    if (const auto data = m3ua::parse_data(message)) return take_data(p, *data);
    if (m3ua::is(message, 3, 4))  // ASPUP Ack
        return send(p, StreamId{0}, m3ua::aspac(routing_context_of(p.number)), now);
    if (m3ua::is(message, 4, 3)) p.active = true;  // ASPAC Ack
    if (m3ua::is(message, 0, 0)) fault(p, "the gateway sent an ERR");
}

void Fleet::took_events(Process& p, const sctp::Effects& effects) {
    for (const auto& e : effects.happened()) {
        if (e.event == sctp::Event::closed) p.closed = true;
        if (e.event == sctp::Event::aborted) fault(p, "aborted");
        if (e.event == sctp::Event::lost) fault(p, "lost");
    }
}

void Fleet::receive(std::span<const std::uint8_t> bytes, Time now) {
    const auto parsed = wire::parse_ip(bytes);
    const auto* ip = std::get_if<wire::IpPacket>(&parsed);
    if (ip == nullptr || ip->protocol != wire::kIpProtocolSctp || !sctp_checksum_ok(ip->payload))
        return;
    const std::uint32_t offset = ip->destination.as_v4() - address_of(0).as_v4();
    const std::size_t i = std::size_t{offset >> 8} * 250 + (offset & 0xff);
    const auto packet = wire::parse_sctp_packet(ip->payload);
    if (!packet || i >= processes_.size() || processes_[i].address != ip->destination) return;
    Process& p = processes_[i];
    sctp::Environment env = environment(p, now);
    effects_.clear();
    p.association.receive(env,
                          {.source = ip->source,
                           .destination = ip->destination,
                           .source_port = packet->header.source_port,
                           .destination_port = packet->header.destination_port,
                           .tag = packet->header.tag,
                           .chunks = packet->chunks},
                          effects_);
    took_events(p, effects_);
    // Copied: what take() sends uses the same scratch memory.
    std::vector<std::vector<std::uint8_t>> messages;
    for (const sctp::Message& m : effects_.delivered())
        messages.emplace_back(m.data.begin(), m.data.end());
    while (const auto m = p.association.front_ready(env)) {
        messages.emplace_back(m->data.begin(), m->data.end());
        p.association.pop_ready(env);
    }
    for (const auto& m : messages) take(p, m, now);
}

void Fleet::send_due(Process& p, Time now) {
    constexpr std::uint32_t kAtOnce = 4;
    constexpr std::size_t kQueued = 4096;
    for (std::uint32_t i = 0; i < kAtOnce && p.sent < options_.messages; ++i) {
        if (p.association.queued_bytes() > kQueued) return;
        const auto sls = static_cast<std::uint8_t>(p.sent % kSlsValues);
        send(p, StreamId{static_cast<std::uint16_t>(1 + sls % 15)},
             m3ua::data(routing_context_of(p.number), point_code_of(p.number),
                        point_code_of(p.number ^ 1u), sls, numbered(p.number, p.sent)),
             now);
        ++p.sent;
    }
}

void Fleet::advance(Time now) {
    std::size_t opening = 0;
    bool all_active = true;
    for (const Process& p : processes_) {
        opening += p.begun && !p.told_up;
        all_active &= p.active;
    }
    for (Process& p : processes_) {
        if (!p.begun && opening < options_.opened_at_once) {
            sctp::Environment env = environment(p, now);
            const IpAddress remote[] = {options_.gateway};
            p.begun = p.association.connect(env, remote, options_.port, options_.port);
            ++opening;
        }
        if (!p.begun || p.closed) continue;
        if (!p.told_up && p.association.state() == sctp::State::established) {
            p.told_up = true;
            send(p, StreamId{0}, m3ua::aspup(p.number + 1), now);
        }
        if (all_active) send_due(p, now);
        if (p.association.next_deadline() <= now) {
            sctp::Environment env = environment(p, now);
            effects_.clear();
            p.association.advance(env, effects_);
            took_events(p, effects_);
        }
        if (waiting_.size() < kBacklog) {
            sctp::Environment env = environment(p, now);
            p.association.flush(env, sink_);
            for (test::IpBytes& packet : sink_.packets) waiting_.push_back(std::move(packet));
            sink_.packets.clear();
        }
    }
}

void Fleet::flush(const Transmit& transmit) {
    while (!waiting_.empty() && transmit(waiting_.front())) waiting_.pop_front();
}

void Fleet::shut_down(Time now) {
    for (Process& p : processes_) {
        sctp::Environment env = environment(p, now);
        p.association.shutdown(env);
    }
}

Totals Fleet::totals() const {
    Totals t = totals_;
    for (const Process& p : processes_) {
        t.associated += p.told_up && !p.closed;
        t.active += p.active;
        t.closed += p.closed;
        t.sent += p.sent;
        t.received += p.received;
    }
    return t;
}

}  // namespace signalbox::fleet
