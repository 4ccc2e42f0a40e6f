// SPDX-License-Identifier: Apache-2.0
// A delivered message's way: M3UA decodes, MTP3 picks the destination, M3UA encodes into the
// outgoing association.
#include <algorithm>

#include "core/worker_state.h"

namespace signalbox::core {

namespace {

constexpr Ppid kPpidM3ua{3};                  // RFC 4666 1.4.3 (IANA)
constexpr Ppid kPpidM3uaSwapped{0x03000000};  // seen from little-endian senders; quirk ppid_any
constexpr Duration kHoldLimit =
    std::chrono::seconds{5};  // then a held message is discarded by name
constexpr Duration kFullAgain = std::chrono::seconds{1};
constexpr std::size_t kReadyPerTurn = 256;  // of one association

const sigtran::Quirks kNoQuirks{};

}  // namespace

Routed Worker::State::deliver(Slot& from, const sctp::Message& message, Time now) {
    offered = waits_for_control = false;
    const Routed routed = take_in(from, message, now);
    if (routed == Routed::again) return routed;
    enter(from.peer, PeerEntry::received);
    enter(from.peer, offered ? PeerEntry::forwarded : PeerEntry::discarded);
    return routed;
}

Routed Worker::State::take_in(Slot& from, const sctp::Message& message, Time now) {
    const sigtran::Quirks& quirks =
        from.peer == kNoPeer ? kNoQuirks : settings().peers[from.peer.value].m3ua.quirks;
    const bool tolerated =
        quirks.ppid_any && (message.ppid.value == 0 || message.ppid == kPpidM3uaSwapped);
    if (message.ppid != kPpidM3ua && !tolerated)
        return counters.drop(Drop::ppid_unexpected), Routed::done;
    if (from.peer == kNoPeer) return counters.drop(Drop::m3ua_unexpected), Routed::done;
    waits_for_control = from.owes_report;  // it must know the association before its messages
    if (waits_for_control) return Routed::again;
    if (settings().peers[from.peer.value].m3ua.beat_interval != Duration{})
        mine.heard[from.peer.value].store(now.time_since_epoch().count(),
                                          std::memory_order_relaxed);
    const auto kind = sigtran::kind_of(message.data);
    if (kind && kind->message_class == sigtran::kDataKind.message_class &&
        kind->message_type == sigtran::kDataKind.message_type)
        return deliver_data(from, message, now);
    offered = true;
    return to_control(from, message, RecordKind::management, Drop{});
}

Routed Worker::State::to_control(Slot& from, const sctp::Message& message, RecordKind kind,
                                 Drop why) {
    const RecordHeader header{
        .kind = kind, .why = why, .stream = message.stream, .ref = ref_of(from), .peer = from.peer};
    const Site site =
        kind == RecordKind::management ? Site::ring_management : Site::ring_refused_data;
    waits_for_control = !push(site, mine.to_control, header, message.data);
    return waits_for_control ? Routed::again : Routed::done;
}

Routed Worker::State::deliver_data(Slot& from, const sctp::Message& message, Time now) {
    Drop why{};
    auto accepted = sigtran::accept_data(snapshot->distribution, from.peer,
                                         settings().peers[from.peer.value].m3ua.quirks,
                                         message.stream, message.data, why);
    if (!accepted) {
        refuse(why);
        report_refusal(from, message, now);
        return Routed::done;
    }
    refused.reset();
    const auto& limit = settings().peers[from.peer.value].messages_per_second;
    if (limit && !within_rate(from, *limit, now)) {
        refuse(Drop::peer_rate_limited);
        report_refusal(from, message, now);
        return Routed::done;
    }
    const Routed routed = route(from.peer, accepted->from_as, accepted->data);
    if (refused) report_refusal(from, message, now);
    return routed;
}

/// A message that was held is offered again: it was paid for the first time.
bool Worker::State::within_rate(const Slot& from, std::uint32_t per_second, Time now) {
    if (from.blocked || from.peer.value >= rate_paid.size()) return true;
    const Duration each = Duration{std::chrono::seconds{1}} / per_second;
    const Duration burst = std::max<Duration>(std::chrono::milliseconds{100}, each);
    Time& paid = rate_paid[from.peer.value];
    const Time next = std::max(paid, now) + each;
    if (next > now + burst) return false;
    paid = next;
    return true;
}

/// Control answers with the ERR, DUNA, DUPU or SCON due, within a budget; a full ring only means
/// that this one goes unanswered.
void Worker::State::report_refusal(Slot& from, const sctp::Message& message, Time now) {
    if (!refusal_budget.take(now)) return;
    if (to_control(from, message, RecordKind::refused_data, *refused) == Routed::again)
        counters.drop(Drop::control_ring_full);
}

Routed Worker::State::route(PeerIndex from_peer, AsIndex from_as, sigtran::ProtocolData& data) {
    const std::uint16_t instance = snapshot->distribution.servers[from_as.value].instance;
    const mtp3::Label label = label_of(data);
    if (!plan().screening.allows(from_peer, instance, label)) return refuse(Drop::screening_denied);
    bool others_first = false;  // older messages of a next hop of this destination still wait
    const mtp3::Decision decision = find_route(instance, label, others_first);
    if (decision.refused) return refuse(*decision.refused);
    if (decision.as == from_as) return refuse(Drop::mtp3_loop);
    // Whose origin it is cannot be where it goes: somebody sent it round (adversarial list C06).
    if (plan().routes.comes_back(instance, data.opc, data.dpc, decision.as))
        return refuse(Drop::mtp3_loop);
    if (others_first &&
        snapshot->distribution.servers[decision.as.value].state == sigtran::AsState::active)
        return Routed::again;
    if (decision.rotate_sls)
        data.sls =
            mtp3::RouteTable::rotated(data.sls, plan().routes.instances()[instance].sls_bits);
    routing_from = from_as;
    const Routed routed = to_server(decision.as, data);
    routing_from = kNoAs;
    if (routed == Routed::again) return routed;
    offered = true;
    enter(from_as, AsEntry::received);
    enter(decision.as, AsEntry::offered);
    mine.ledger.routes[plan().route_counters[decision.route]].add();
    return routed;
}

mtp3::Label Worker::State::label_of(const sigtran::ProtocolData& data) {
    return {.opc = data.opc,
            .dpc = data.dpc,
            .service_indicator = data.si,
            .network_indicator = data.ni,
            .priority = data.mp,
            .sls = data.sls,
            .user_data = data.user_data};
}

mtp3::Decision Worker::State::find_route(std::uint16_t instance, const mtp3::Label& label,
                                         bool& others_first) const {
    return plan().routes.route(instance, label, [&](AsIndex as) {
        if (shared.pending_messages[as.value].load(std::memory_order_acquire) != 0)
            others_first = true;
        return reach_of(snapshot->distribution.servers[as.value].state);
    });
}

Routed Worker::State::to_server(AsIndex as, const sigtran::ProtocolData& data) {
    const sigtran::AsView& server = snapshot->distribution.servers[as.value];
    if (server.state == sigtran::AsState::pending) return enqueue_pending(as, data);
    if (server.state != sigtran::AsState::active) return refuse_at(as, Drop::as_unavailable);
    if (server.mode == sigtran::TrafficMode::broadcast) return to_all(as, server, data);
    if (server.moving && server.is_held(data.sls)) return Routed::again;
    const PeerIndex peer = server.serving[data.sls.value];
    if (peer == kNoPeer) return refuse_at(as, Drop::as_unavailable);
    return to_peer(peer, as, server, data);
}

/// Broadcast: a slow ASP must not hold the others back, nor get the message twice; its copy is
/// discarded by name. The first message of each flow after an ASP became active carries a
/// Correlation Id, by which the new one finds its place (RFC 4666 3.3.1, 4.3.4.3).
Routed Worker::State::to_all(AsIndex as, const sigtran::AsView& server,
                             const sigtran::ProtocolData& data) {
    std::optional<std::uint32_t> correlation_id;
    std::uint32_t& seen = (*broadcast_flows[as.value])[data.sls.value];
    if (seen != server.activations) {
        seen = server.activations;
        correlation_id = ++correlations * shared.workers + index.value;
    }
    if (server.active.size() > 1) enter(as, AsEntry::offered, server.active.size() - 1);
    for (const PeerIndex peer : server.active)
        if (to_peer(peer, as, server, data, correlation_id) == Routed::again)
            lose(as, Drop::broadcast_copy);
    return Routed::done;
}

Routed Worker::State::to_peer(PeerIndex peer, AsIndex as_index, const sigtran::AsView& as,
                              const sigtran::ProtocolData& data,
                              const std::optional<std::uint32_t>& correlation_id) {
    const PeerLink& link = snapshot->links[peer.value];
    if (!link.up) return Routed::again;  // the next snapshot names another
    const Slot& target = shared.slots[link.ref.slot];
    if (link.ref.worker == index) target.prefetch();
    __builtin_prefetch(&settings().peers[peer.value].m3ua.quirks);
    prefetch_ledger(peer);
    if (target.congested.load(std::memory_order_relaxed)) {
        const bool held_elsewhere =
            sent_from_queue != kNoAs || as.mode == sigtran::TrafficMode::broadcast;
        return held_elsewhere ? Routed::again : met_full(peer, as_index);
    }
    const auto stream =
        sigtran::stream_for(data.sls, link.streams_out, settings().peers[peer.value].m3ua.quirks);
    if (!stream) return lose(as_index, Drop::m3ua_stream_zero), Routed::done;
    const sigtran::DataHeader header = sigtran::encode_data_header(as, data, correlation_id);
    const std::span<const std::uint8_t> pieces[] = {header.span(), data.user_data,
                                                    header.trailer()};
    if (link.ref.worker != index) {
        const RecordHeader record{.kind = RecordKind::message,
                                  .stream = *stream,
                                  .as = as_index,
                                  .waited_for = sent_from_queue,
                                  .returned = sent_returned,
                                  .ref = link.ref,
                                  .peer = peer};
        if (!push(Site::ring_message, shared.ring(index.value, link.ref.worker.value), record,
                  pieces))
            return Routed::again;
        counters.add(Count::handoff_messages);
        in_transit = sent_from_queue != kNoAs;
        if (first_routing) counters.add(Count::routed_messages);
        return Routed::done;
    }
    Slot* slot = find(link.ref);
    if (slot == nullptr) return Routed::again;  // ended in this very turn
    sctp::Environment env = environment_for_data(*slot, Time{});
    switch (send(Site::send_data, *slot, env, *stream, pieces)) {
        case sctp::SendStatus::ok:
            break;
        case sctp::SendStatus::too_long:
            return lose(as_index, Drop::data_too_long), Routed::done;
        case sctp::SendStatus::bad_stream:
            return lose(as_index, Drop::data_invalid_stream), Routed::done;
        default:
            return Routed::again;
    }
    if (first_routing) counters.add(Count::routed_messages);
    enter(as_index, AsEntry::accepted);
    mark_dirty(*slot);
    return Routed::done;
}

/// A full ASP closes its senders' windows. When one had to discard a message after kHoldLimit the
/// next ones for that ASP are not held as long again: what is for others waits behind them.
Routed Worker::State::met_full(PeerIndex peer, AsIndex as) {
    full_peer = peer;
    if (full_too_long[peer.value] <= turn_time) return Routed::again;
    full_too_long[peer.value] = turn_time + kFullAgain;
    return refuse_at(as, Drop::peer_congested);
}

sctp::SendStatus Worker::State::send(Site site, Slot& slot, sctp::Environment& env, StreamId stream,
                                     std::span<const std::span<const std::uint8_t>> pieces) {
    if (faults.refuse(site)) return sctp::SendStatus::no_memory;
    const auto status = slot.association.send(env, stream, kPpidM3ua, false, pieces);
    if (status == sctp::SendStatus::ok) enter(slot.peer, PeerEntry::accepted);
    return status;
}

/// A DATA whose association ended goes to another ASP of its AS, before what comes after it:
/// through the AS's queue, which new messages join while it is not empty. Unsent ones are new to
/// everyone; those that were on the wire may arrive twice, and only here can that happen
/// (sigtran.md decision 10, policy `resend`). After prepare_room().
void Worker::State::reroute(PeerIndex to, std::span<const std::uint8_t> message, bool came_back,
                            bool sent) {
    const auto data =
        to == kNoPeer ? std::nullopt : sigtran::reclaim_data(snapshot->distribution, to, message);
    if (!data) return counters.drop(Drop::association_lost);  // management of an ASP that is gone
    if (came_back) enter(data->from_as, AsEntry::returned);
    const sigtran::AsView& server = snapshot->distribution.servers[data->from_as.value];
    const auto is_other = [to](PeerIndex peer) { return peer != to; };
    if (server.mode == sigtran::TrafficMode::broadcast &&
        std::any_of(server.active.begin(), server.active.end(), is_other))
        return lose(data->from_as, Drop::broadcast_copy);  // the others have theirs
    if (sent && server.on_loss == sigtran::OnLoss::report)
        return lose(data->from_as, Drop::unacknowledged_reported);
    // Already paid for: its bytes were within the send buffer of its association.
    enqueue_pending(data->from_as, data->data, came_back ? Place::taken_back : Place::returned);
    give_room();
}

/// First what the association had not delivered goes to its servers' queues, then control learns of
/// the end. Until then the published snapshot names the dead ASP, and everyone holds what is for
/// it; afterwards everyone waits until the queues are empty (route()). So an SLS that moves keeps
/// its order.
bool Worker::State::salvage(Slot& slot, Time now) {
    if (slot.salvaged) return true;
    if (salvaging == nullptr) ++salvages;
    if (salvaging != nullptr && salvaging != &slot) return false;
    salvaging = &slot;
    if (!take_back(slot, now)) return false;
    salvaging = nullptr;
    slot.salvaged = true;
    if (slot.established || slot.client) report(slot, RecordKind::association_ended, now);
    return true;
}

/// The same for a peer that restarted. When the new association ends meanwhile, salvage() takes the
/// messages of both.
bool Worker::State::salvage_restarted(Slot& slot, Time now) {
    if (salvaging == nullptr) ++salvages;
    if (salvaging != nullptr && salvaging != &slot) return false;
    salvaging = &slot;
    if (!take_back(slot, now)) return false;
    salvaging = nullptr;
    slot.restarting = false;
    mark_dirty(slot);  // control is told of the queue's level from here on
    return true;
}

bool Worker::State::take_back(Slot& slot, Time now) {
    constexpr std::size_t kPerTurn = 256;
    sctp::Environment env = environment(slot, now);
    for (std::size_t n = 0; n < kPerTurn && salvage_left > 0; ++n, --salvage_left) {
        // An association that has nothing to save gives its memory back, however little there is.
        if (!slot.association.owes_messages()) return give_room(), true;
        if (!prepare_room()) return false;
        const std::uint64_t lost_before = counters.drops(Drop::association_lost);
        const auto unsent = slot.association.take_back(env);
        for (auto lost = counters.drops(Drop::association_lost); lost > lost_before; --lost)
            enter(slot.peer, PeerEntry::lost);
        if (!unsent) return give_room(), true;
        enter(slot.peer, PeerEntry::returned);
        reroute(slot.peer, unsent->message.data, true, unsent->sent);
    }
    return false;
}

void Worker::State::block(Slot& slot, Time now) {
    if (slot.blocked) return;
    slot.blocked = true;
    slot.blocked_since = now;
    slot.next_blocked = blocked;
    blocked = &slot;
}

bool Worker::State::drain_ready(Slot& slot, Time now) {
    sctp::Environment env = environment(slot, now);
    for (std::size_t n = 0; n < kReadyPerTurn; ++n) {
        const auto message = slot.association.front_ready(env);
        if (!message) return true;
        full_peer = kNoPeer;
        if (deliver(slot, *message, now) == Routed::again) {
            // Control takes what is there, however long it needs when 100,000 ASPs come at once.
            if (waits_for_control || now - slot.blocked_since < kHoldLimit || !slot.blocked) {
                block(slot, now);
                return false;
            }
            if (full_peer != kNoPeer) full_too_long[full_peer.value] = now + kFullAgain;
            refuse(Drop::peer_congested);
            enter(slot.peer, PeerEntry::received);
            enter(slot.peer, PeerEntry::discarded);
            report_refusal(slot, *message, now);
        }
        counters.add(Count::rx_messages);
        slot.blocked_since = now;
        slot.association.pop_ready(env);
        mark_dirty(slot);  // the window opened
    }
    block(slot, now);
    return false;
}

bool Worker::State::retry_blocked(Time now) {
    Slot* slot = blocked;
    blocked = nullptr;
    bool worked = false;
    while (slot != nullptr) {
        Slot* const next = slot->next_blocked;
        slot->next_blocked = nullptr;
        const Time since = slot->blocked_since;
        if (drain_ready(*slot, now)) {
            slot->blocked = false;
            worked = true;
        } else if (slot->blocked) {  // it stays on the list, and block() saw it there
            worked |= slot->blocked_since != since;
            slot->next_blocked = blocked;
            blocked = slot;
        }
        slot = next;
    }
    return worked;
}

}  // namespace signalbox::core
