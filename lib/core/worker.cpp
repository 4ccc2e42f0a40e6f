// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <algorithm>

#include "base/crc32c.h"
#include "core/worker_state.h"
#include "wire/ip.h"
#include "wire/sctp_header.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kTimersPerTurn = 4096;  // bounds a turn; the rest comes in the next one
constexpr std::size_t kPacketsPerFlush = 64;  // of one association

}  // namespace

Worker::State::State(Node& node, WorkerIndex i)
    : shared(node.shared()),
      index(i),
      mine(*shared.per_worker[i.value]),
      counters(mine.counters),
      faults(mine.faults),
      blocks(mine.pages),
      random(shared.worker_seeds[i.value]),
      cookies(shared.cookie_key, shared.cookie_key_previous, shared.settings().node_id),
      tags(shared.tag_hint, shared.tags),
      wheel(Time{}),
      scratch(sctp::kMaxMessageBytes),
      init_budget(shared.settings().init_per_second),
      out_of_the_blue_budget(shared.settings().out_of_the_blue_per_second),
      icmp_budget(shared.settings().icmp_per_second),
      pending(shared.room.servers),
      rate_paid(shared.room.peers),
      fence_marks(shared.workers),
      full_too_long(shared.room.peers) {
    free_slots.reserve(shared.slot_count);
    for (const sigtran::AsSettings& as : shared.settings().servers)
        broadcast_flows.push_back(as.mode == sigtran::TrafficMode::broadcast
                                      ? std::make_unique<Flows>()
                                      : std::unique_ptr<Flows>());
    broadcast_flows.resize(shared.room.servers);  // further ones are not in broadcast mode
    mine.pages.keep_back(kKeptBackPages);
    snapshot = shared.snapshot.load(std::memory_order_acquire);
}

Worker::State::~State() = default;

void Worker::State::take_snapshot() {
    snapshot = shared.snapshot.load(std::memory_order_acquire);
    if (plan().generation == plan_generation) return;
    plan_generation = plan().generation;
    init_budget.set_rate(settings().init_per_second);
    out_of_the_blue_budget.set_rate(settings().out_of_the_blue_per_second);
    icmp_budget.set_rate(settings().icmp_per_second);
}

sctp::Environment Worker::State::environment(std::uint16_t listener, std::uint16_t profile,
                                             Time now) {
    return {.now = now,
            .profile = settings().profiles[profile].values,
            .local_addresses = settings().listeners[listener].addresses,
            .pages = mine.pages,
            .blocks = blocks,
            .random = random,
            .tags = tags,
            .cookies = cookies,
            .counters = counters,
            .scratch = scratch};
}

/// PKT-6: nobody's, everybody's or our own (RFC 9260 8.4 rule 1, RFC 1122 3.2.1.3).
bool Worker::State::impossible_source(const wire::IpPacket& ip) const {
    return !ip.source.is_usable_unicast() || ip.source == ip.destination ||
           (ip.source.is_loopback() && !ip.destination.is_loopback()) ||
           plan().access.ours(ip.source);
}

/// Pass 1 for one packet: IP and SCTP checks, checksum. False: dropped by name.
bool Worker::State::judge(const PacketView& view, Arrival& out) {
    const auto parsed = wire::parse_ip(view.ip);
    if (const Drop* why = std::get_if<Drop>(&parsed)) return counters.drop(*why), false;
    const wire::IpPacket* const ip = std::get_if<wire::IpPacket>(&parsed);
    // A port reassembles; a fragment that comes this far belongs to nothing.
    if (ip->fragment.is_fragment()) return counters.drop(Drop::ip_fragment_refused), false;
    out.ip = view.ip;
    out.icmp = ip->is(ip->source.is_v4() ? wire::IpProtocol::icmp : wire::IpProtocol::icmpv6);
    if (out.icmp) return true;
    if (ip->protocol != wire::kIpProtocolSctp) return counters.drop(Drop::ip_not_sctp), false;
    if (impossible_source(*ip)) return counters.drop(Drop::ip_bad_source), false;
    if (!ip->destination.is_usable_unicast()) return counters.drop(Drop::ip_bad_destination), false;
    const std::span<const std::uint8_t> sctp = ip->payload;
    const auto packet = wire::parse_sctp_packet(sctp);
    if (!packet) return counters.drop(Drop::sctp_truncated), false;
    if (view.checksum == Checksum::bad) return counters.drop(Drop::bad_crc), false;
    // A port's "good" is believed; where the port said nothing we look ourselves.
    if (view.checksum != Checksum::good && !sctp_checksum_ok(sctp))
        return counters.drop(Drop::bad_crc), false;
    const wire::SctpHeader& header = packet->header;
    if (header.source_port == 0 || header.destination_port == 0)
        return counters.drop(Drop::port_zero), false;
    const auto listener = plan().access.listener(header.destination_port, ip->destination);
    out.sctp.source = ip->source;
    out.sctp.destination = ip->destination;
    out.sctp.source_port = header.source_port;
    out.sctp.destination_port = header.destination_port;
    out.sctp.tag = header.tag;
    out.sctp.chunks = packet->chunks;
    out.listening = listener.has_value();
    out.listener = listener.value_or(0);
    return true;
}

/// Passes 2 and 3.
void Worker::State::take_burst(std::span<const Arrival> arrivals, Time now,
                               sctp::TransmitSink& sink, bool handed_off) {
    std::array<table::Key, kBurst> keys;
    std::array<IpAddress, kBurst> locals;
    std::array<table::Node*, kBurst> found{};
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        const sctp::Packet& p = arrivals[i].sctp;
        keys[i] = {.network = 0,
                   .local_port = p.destination_port,
                   .remote_port = p.source_port,
                   .remote = p.source};
        locals[i] = p.destination;
    }
    const std::size_t n = arrivals.size();
    shared.table->lookup({keys.data(), n}, {locals.data(), n}, {found.data(), n});
    // While one packet is worked on, the association of the fourth after it comes from memory, and
    // when that is there, what the snapshot and the plan hold of its peer.
    constexpr std::size_t kAhead = 4;
    const auto slot_of = [&](std::size_t i) -> Slot* {
        return i < n && found[i] != nullptr && found[i]->worker == index.value
                   ? &shared.slots[found[i]->slot]
                   : nullptr;
    };
    const auto fetch = [&](std::size_t i) SIGNALBOX_ALWAYS_INLINE {
        if (const Slot* slot = slot_of(i)) slot->prefetch();
        if (i < kAhead / 2) return;
        if (const Slot* slot = slot_of(i - kAhead / 2)) prefetch_peer(slot->peer);
        if (const Slot* slot = slot_of(i - kAhead / 2 - 1)) prefetch_memberships(slot->peer);
    };
    for (std::size_t i = 0; i < kAhead; ++i) fetch(i);
    for (std::size_t i = 0; i < n; ++i) {
        fetch(i + kAhead);
        table::Node* node = found[i];
        // An association that this very burst created was not there in pass 2.
        if (node == nullptr && i > 0) node = shared.table->lookup(keys[i], locals[i]);
        if (node == nullptr) {
            no_association(arrivals[i], now, sink, handed_off);
            continue;
        }
        if (shared.workers > 1 && !handed_off && arrivals[i].sctp.tag.value != 0) {
            const bool hit = shared.tag_hint.worker_of(arrivals[i].sctp.tag).value == node->worker;
            counters.add(hit ? Count::tag_hint_hits : Count::tag_hint_misses);
        }
        if (node->worker != index.value) {
            hand_off(WorkerIndex{node->worker}, arrivals[i]);
            continue;
        }
        Slot& slot = shared.slots[node->slot];
        if (slot.ended) {
            counters.drop(Drop::after_close);
            continue;
        }
        if (slot.association.acknowledges_before(arrivals[i].sctp)) {
            sctp::Environment env = environment(slot, now);
            slot.association.acknowledge(env, sink);
        }
        to_association(slot, arrivals[i].sctp, now);
    }
}

void Worker::State::to_association(Slot& slot, const sctp::Packet& packet, Time now) {
    sctp::Environment env = environment(slot, now);
    env.short_of_pages = mine.pages.available() < kKeptBackPages;
    tags.target = index;
    effects.clear();
    slot.association.receive(env, packet, effects);
    apply_effects(slot, now);
    mark_dirty(slot);
}

/// Deadlines move to and fro with every packet and SACK, mostly away: the timer stays where it is
/// then, and advance() looks when it expires.
void Worker::State::rearm(Slot& slot) {
    const Time deadline = slot.association.next_deadline();
    if (deadline == kNever || slot.ended)
        wheel.cancel(slot);
    else
        wheel.arm_no_later(slot, deadline);
}

/// Onset and abatement levels in percent of the send buffer (RFC 4666 3.4.4 has three levels; the
/// gap between the two keeps a queue at the edge from talking all the time).
void Worker::State::judge_congestion(Slot& slot) {
    constexpr std::array<std::uint32_t, 3> kOnset{50, 70, 90};
    constexpr std::array<std::uint32_t, 3> kAbatement{30, 50, 70};
    const std::uint64_t filled = std::uint64_t{slot.association.queued_bytes()} * 100;
    if (filled == 0 && slot.congestion_level == 0 &&
        !slot.congested.load(std::memory_order_relaxed))
        return;
    const std::uint32_t limit_bytes = settings().profiles[slot.profile].values.send_buffer_bytes;
    slot.congested.store(filled > std::uint64_t{limit_bytes} * kOnset[0],
                         std::memory_order_relaxed);
    std::uint8_t level = slot.congestion_level;
    while (level < kOnset.size() && filled > std::uint64_t{limit_bytes} * kOnset[level]) ++level;
    while (level > 0 && filled < std::uint64_t{limit_bytes} * kAbatement[level - 1u]) --level;
    if (level == slot.congestion_level || slot.ended || slot.peer == kNoPeer || slot.owes_report)
        return;
    // A full ring: the next change of the queue tries again.
    if (push(Site::ring_congestion, mine.to_control,
             {.kind = RecordKind::congestion,
              .level = level,
              .ref = ref_of(slot),
              .peer = slot.peer}))
        slot.congestion_level = level;
}

bool Worker::State::flush_dirty(Time now, sctp::TransmitSink& sink) {
    Slot* slot = dirty;
    dirty = nullptr;
    bool more = false;
    while (slot != nullptr) {
        Slot* const next = slot->next_dirty;
        slot->dirty = false;
        slot->next_dirty = nullptr;
        if (slot->association.wants_flush()) {
            sctp::Environment env = environment(*slot, now);
            if (slot->association.flush(env, sink, kPacketsPerFlush)) {
                mark_dirty(*slot);
                more = true;
            }
        }
        judge_congestion(*slot);
        rearm(*slot);
        slot = next;
    }
    return more;
}

Worker::Worker(Node& node, WorkerIndex index) : state_(std::make_unique<State>(node, index)) {}
Worker::~Worker() = default;

void Worker::receive(std::span<const PacketView> burst, Time now, sctp::TransmitSink& sink) {
    State& s = *state_;
    s.take_snapshot();
    s.turn_time = now;
    burst = burst.first(std::min(burst.size(), kBurst));
    std::array<Arrival, kBurst> arrivals;
    std::size_t n = 0;
    std::uint64_t bytes = 0;
    for (const PacketView& view : burst) {
        bytes += view.ip.size();
        if (!s.judge(view, arrivals[n])) continue;
        if (arrivals[n].icmp)
            s.icmp_received(arrivals[n], now, false);
        else
            ++n;
    }
    s.counters.add(Count::rx_packets, burst.size());
    s.counters.add(Count::rx_bytes, bytes);
    if (n > 0) s.take_burst({arrivals.data(), n}, now, sink, false);
}

bool Worker::advance(Time now, sctp::TransmitSink& sink) {
    State& s = *state_;
    s.take_snapshot();
    s.turn_time = now;
    s.salvage_left = kSalvagedPerTurn;
    bool worked = s.take_handed(now, sink);
    worked |= s.take_commands(now);
    worked |= s.settle_pending();
    worked |= s.retry_blocked(now);
    worked |= s.settle(now);
    std::size_t left_to_retire = kFreedPerTurn / 2;  // take_down() has the rest, at least
    const std::size_t expired = s.wheel.advance(
        now, kTimersPerTurn,
        [&](TimerNode& node) {
            Slot& slot = static_cast<Slot&>(node);
            const Time deadline = slot.association.next_deadline();
            if (deadline > now) return s.wheel.arm(slot, deadline);  // it has moved meanwhile
            // Its time-outs wait until settle() has taken back what advance() would discard.
            if (slot.restarting) return s.wheel.arm(slot, now + TimerWheel::kTick);
            sctp::Environment env = s.environment(slot, now);
            env.free_left = &left_to_retire;
            s.effects.clear();
            slot.association.advance(env, s.effects);
            s.apply_effects(slot, now);
            s.mark_dirty(slot);
        },
        [](TimerNode& node) SIGNALBOX_ALWAYS_INLINE { static_cast<Slot&>(node).prefetch(); });
    worked |= s.take_down(now, kFreedPerTurn / 2 + left_to_retire);
    s.mine.pages.shed();
    return worked || expired > 0 || s.wheel.behind();
}

bool Worker::flush(Time now, sctp::TransmitSink& sink) {
    state_->take_snapshot();
    return state_->flush_dirty(now, sink);
}

Time Worker::next_deadline() const {
    const State& s = *state_;
    if (s.dirty != nullptr || s.blocked != nullptr || !s.ending.empty() || !s.unsettled.empty())
        return Time{};
    return s.wheel.next_deadline();
}

Counters& Worker::counters() {
    return state_->counters;
}

mem::FaultPoint& Worker::block_faults() {
    return state_->blocks.faults();
}

}  // namespace signalbox::core
