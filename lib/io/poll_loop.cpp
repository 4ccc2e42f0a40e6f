// SPDX-License-Identifier: Apache-2.0
#include "io/poll_loop.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <time.h>

#include <algorithm>

namespace signalbox::io {

namespace {

/// Turns without work before the first sleep: some tens of microseconds of looking, cheaper than a
/// wake-up.
constexpr unsigned kSpinTurns = 64;
/// The first sleeps are short, so that traffic with small gaps is met early; they grow to the
/// longest.
constexpr Duration kSleepMin = std::chrono::microseconds{20};
constexpr Duration kSleepMax = std::chrono::microseconds{200};  // while traffic may come
constexpr unsigned kSleepDoublings = 64;                        // idle turns for each doubling
constexpr std::size_t kAnswerBytes = 16384;

/// Duplicate probes, then announcements (RFC 5227 2.1.1 and 2.3, RFC 4862 5.1), a second apart.
constexpr unsigned kProbeRounds = 1;
constexpr unsigned kAnnounceRounds = 3;
constexpr Duration kAnnounceInterval = std::chrono::seconds{1};

/// "Good" is believed of a port that checks SCTP; what it calls bad we look at ourselves.
core::Checksum checksum_of(const rte_mbuf& packet, bool port_checks) {
    const bool good =
        (packet.ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    return port_checks && good ? core::Checksum::good : core::Checksum::unknown;
}

std::optional<wire::VlanTag> stripped_tag(const rte_mbuf& packet) {
    if ((packet.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0) return std::nullopt;
    return wire::VlanTag{static_cast<std::uint16_t>(packet.vlan_tci & 0xfff),
                         static_cast<std::uint8_t>(packet.vlan_tci >> 13)};
}

}  // namespace

Time monotonic_now() {
    timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);  // by the vDSO: no system call
    return Time{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

PollLoop::PollLoop(std::size_t index, core::Node& node, const Fabric& fabric, std::uint64_t seed)
    : index_(index),
      fabric_(fabric),
      transmitter_(index, fabric.ports, fabric.addressing, fabric.pool, seed),
      worker_(node, WorkerIndex{static_cast<std::uint8_t>(index)}),
      scratch_(kScratchBytes),
      answer_(kAnswerBytes) {
    transmitter_.count_in(worker_.counters());
}

void PollLoop::run(const std::atomic<bool>& stop) {
    fabric_.quiescence.online(index_);
    while (!stop.load(std::memory_order_relaxed)) {
        const Time now = monotonic_now();
        const bool busy = turn(now);
        worker_.counters().add(Count::turns);
        fabric_.quiescence.report(index_);
        if (busy) {
            worker_.counters().add(Count::busy_turns);
            idle_turns_ = 0;
        } else if (fabric_.idle == Idle::adaptive && ++idle_turns_ > kSpinTurns) {
            sleep(now);
        }
    }
    fabric_.quiescence.offline(index_);
}

bool PollLoop::turn(Time now) {
    transmitter_.begin(now);
    bool busy = false;
    for (const auto& port : fabric_.ports)
        if (port->has_receive_queue(index_)) busy |= receive_port(*port, now);
    transmitter_.keep_buffers();
    fabric_.exchange.hear(index_, [this](const Learned& l) { transmitter_.learn(l); });
    busy |= worker_.advance(now, transmitter_);
    busy |= worker_.flush(now, transmitter_);
    busy |= transmitter_.flush();
    housekeep(now);
    return busy;
}

bool PollLoop::receive_port(Port& port, Time now) {
    std::array<rte_mbuf*, core::Worker::kBurst> packets;
    const std::uint16_t n = port.receive(index_, packets.data(), packets.size());
    for (std::uint16_t i = 0; i < n; ++i) rte_prefetch0(rte_pktmbuf_mtod(packets[i], void*));
    for (std::uint16_t i = 0; i < n; ++i) take(port, packets[i], now);
    hand_over(now);
    return n != 0;
}

void PollLoop::take(Port& port, rte_mbuf* packet, Time now) {
    const auto frame = contiguous(packet, now);
    if (frame.empty()) {
        worker_.counters().drop(Drop::ip_truncated);
        return rte_pktmbuf_free(packet);
    }
    const Taken taken = take_frame(transmitter_.stations()[port.index()], fabric_.addressing, frame,
                                   stripped_tag(*packet), answer_);
    if (taken.what == Taken::What::packet)
        return deliver(packet, taken.ip, checksum_of(*packet, port.checks_sctp_checksum()), now);
    if (taken.what == Taken::What::fragment) return take_fragment(port, packet, taken.ip, now);
    act_on(port.index(), taken);
    rte_pktmbuf_free(packet);
}

void PollLoop::act_on(PortIndex port, const Taken& taken) {
    if (taken.what == Taken::What::discard) worker_.counters().drop(taken.why);
    if (taken.duplicate) duplicate_.store(port + 1u, std::memory_order_relaxed);
    if (taken.learned) {
        transmitter_.learn(*taken.learned);
        fabric_.exchange.tell(index_, *taken.learned);
    }
    if (taken.what == Taken::What::answer)
        transmitter_.send_frame(port, {answer_.data(), taken.answer_bytes});
}

void PollLoop::deliver(rte_mbuf* packet, std::span<const std::uint8_t> ip, core::Checksum checksum,
                       Time now) {
    views_[view_count_] = {ip, checksum};
    held_[view_count_] = packet;
    if (++view_count_ == views_.size()) hand_over(now);
}

void PollLoop::hand_over(Time now) {
    if (view_count_ != 0) {
        worker_.receive({views_.data(), view_count_}, now, transmitter_);
        for (std::size_t i = 0; i < view_count_; ++i) rte_pktmbuf_free(held_[i]);
    }
    view_count_ = 0;
    scratch_used_ = 0;
}

std::span<std::uint8_t> PollLoop::scratch_room(std::size_t bytes, Time now) {
    if (scratch_.size() - scratch_used_ < bytes) hand_over(now);
    if (scratch_.size() < bytes) return {};
    return std::span{scratch_}.subspan(scratch_used_);
}

std::span<const std::uint8_t> PollLoop::contiguous(rte_mbuf* packet, Time now) {
    const std::size_t bytes = rte_pktmbuf_pkt_len(packet);
    if (packet->nb_segs == 1) return {rte_pktmbuf_mtod(packet, const std::uint8_t*), bytes};
    const auto room = scratch_room(bytes, now);
    if (room.empty() ||
        rte_pktmbuf_read(packet, 0, static_cast<std::uint32_t>(bytes), room.data()) == nullptr)
        return {};
    scratch_used_ += bytes;
    return room.first(bytes);
}

void PollLoop::take_fragment(Port& port, rte_mbuf* packet, std::span<const std::uint8_t> ip,
                             Time now) {
    if (packet->nb_segs != 1) {
        worker_.counters().drop(Drop::ip_fragment_refused);
        return rte_pktmbuf_free(packet);
    }
    const auto* frame = rte_pktmbuf_mtod(packet, const std::uint8_t*);
    const MacAddress from = wire::load_mac({frame, 12}, 6);
    rte_pktmbuf_adj(packet, static_cast<std::uint16_t>(ip.data() - frame));
    const auto room = scratch_room(0xffff, now);
    const std::size_t bytes = reassembly_.take(packet, ip.size(), now, worker_.counters(), room);
    if (bytes == 0) return;
    const Taken taken = take_ip(transmitter_.stations()[port.index()], fabric_.addressing,
                                room.first(bytes), from, answer_);
    if (taken.what != Taken::What::packet) return act_on(port.index(), taken);
    scratch_used_ += bytes;
    deliver(nullptr, taken.ip, core::Checksum::unknown, now);
}

void PollLoop::housekeep(Time now) {
    transmitter_.tick();
    reassembly_.tick(now, worker_.counters());
    if (index_ == 0 && announcements_ < kProbeRounds + kAnnounceRounds && now >= announce_at_)
        announce(now);
}

void PollLoop::announce(Time now) {
    std::array<std::uint8_t, kRequestMaxBytes> frame;
    for (const Station& station : transmitter_.stations()) {
        for (const InterfaceAddress& mine : fabric_.addressing.addresses(station.port)) {
            const std::size_t bytes = announcements_ < kProbeRounds
                                          ? write_duplicate_probe(station, mine.address, frame)
                                          : write_announcement(station, mine.address, frame);
            transmitter_.send_frame(station.port, {frame.data(), bytes});
        }
    }
    transmitter_.flush();
    ++announcements_;
    announce_at_ = now + kAnnounceInterval;
}

void PollLoop::sleep(Time now) {
    const unsigned doublings = std::min(4u, (idle_turns_ - kSpinTurns) / kSleepDoublings);
    Duration longest = std::min(kSleepMax, kSleepMin * (1 << doublings));
    const Time deadline = worker_.next_deadline();
    if (deadline != kNever) longest = std::min(longest, Duration{deadline - now});
    if (longest < kSleepMin) return;
    const timespec ts{0, longest.count()};
    worker_.counters().add(Count::sleeps);
    fabric_.quiescence.offline(index_);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, nullptr);
    fabric_.quiescence.online(index_);
}

}  // namespace signalbox::io
