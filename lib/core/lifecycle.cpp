// SPDX-License-Identifier: Apache-2.0
// Slots and what happens to associations: entries in the table, reports to control, taking down
// through quiescence.
#include <algorithm>

#include "core/worker_state.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kSlotsPerTurn = 64;  // of those that end, and of those that owe
constexpr std::size_t kMoreNodesBytes =
    (sctp::kMaxRemoteAddresses - kInlineNodes) * sizeof(table::Node);

}  // namespace

AssociationRef Worker::State::ref_of(const Slot& slot) const {
    return {.worker = index,
            .slot = static_cast<std::uint32_t>(&slot - shared.slots),
            .generation = slot.generation};
}

Slot* Worker::State::find(const AssociationRef& ref) {
    if (ref.slot >= shared.slot_count) return nullptr;
    Slot& slot = shared.slots[ref.slot];
    return slot.generation == ref.generation && !slot.ended ? &slot : nullptr;
}

Slot* Worker::State::new_slot(std::uint16_t listener, PeerIndex peer) {
    std::atomic<std::uint32_t>& count = shared.associations[listener];
    if (count.fetch_add(1, std::memory_order_relaxed) <
        settings().listeners[listener].max_associations)
        if (Slot* slot = take_slot(listener, peer)) return slot;
    count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
}

Slot* Worker::State::take_slot(std::uint16_t listener, PeerIndex peer) {
    Slot* slot = nullptr;
    if (faults.refuse(Site::slot)) return nullptr;
    if (!free_slots.empty()) {
        slot = free_slots.back();
        free_slots.pop_back();
    } else {
        // Never used slots are shared; the counter may overshoot by the number of workers,
        // harmlessly.
        if (shared.slots_fresh.load(std::memory_order_relaxed) >= shared.slot_count) return nullptr;
        const std::size_t fresh = shared.slots_fresh.fetch_add(1, std::memory_order_relaxed);
        if (fresh >= shared.slot_count) return nullptr;
        slot = &shared.slots[fresh];
    }
    slot->prepare();
    slot->nodes[0].worker = index.value;
    slot->listener = listener;
    slot->peer = peer;
    slot->profile = profile_of(listener, peer);
    mine.slots_used.fetch_add(1, std::memory_order_relaxed);
    return slot;
}

void* Worker::State::take_more_nodes() {
    return faults.refuse(Site::more_nodes) ? nullptr : blocks.take(kMoreNodesBytes);
}

table::InsertResult Worker::State::insert(table::Node& node) {
    if (faults.refuse(Site::table_insert)) return table::InsertResult::busy;
    if (faults.refuse(Site::table_room)) return table::InsertResult::full;
    return shared.table->insert(node);
}

Indexed Worker::State::index_paths(Slot& slot) {
    const std::size_t paths = slot.association.path_count();
    if (paths > kInlineNodes && slot.more_nodes == nullptr) {
        void* block = take_more_nodes();
        if (block == nullptr) return Indexed::no_memory;
        slot.more_nodes = static_cast<table::Node*>(block);
        for (std::size_t i = 0; i < sctp::kMaxRemoteAddresses - kInlineNodes; ++i)
            ::new (&slot.more_nodes[i]) table::Node;
    }
    while (slot.nodes_inserted < paths) {
        const sctp::PathView path = slot.association.path(slot.nodes_inserted);
        table::Node& node = slot.node(slot.nodes_inserted);
        node.key = {.network = 0,
                    .local_port = slot.association.local_port(),
                    .remote_port = slot.association.remote_port(),
                    .remote = path.remote};
        node.worker = index.value;
        node.path = slot.nodes_inserted;
        node.slot = static_cast<std::uint32_t>(&slot - shared.slots);
        node.local_tag = slot.association.local_tag();
        node.local = path.local;
        const auto result = insert(node);
        if (result == table::InsertResult::busy) return Indexed::busy;
        if (result != table::InsertResult::inserted) return Indexed::full;
        ++slot.nodes_inserted;
    }
    return Indexed::all;
}

void Worker::State::count_refusal(Indexed why) {
    if (why == Indexed::busy) counters.drop(Drop::cookie_try_lock);
    if (why == Indexed::no_memory) counters.drop(Drop::data_no_memory);
    if (why == Indexed::full) counters.drop(Drop::table_full);
}

void Worker::State::apply_effects(Slot& slot, Time now) {
    for (const sctp::EventRecord& event : effects.happened()) happened(slot, event, now);
    // What was held before these comes first.
    sctp::Environment env = environment(slot, now);
    bool holding = slot.blocked;
    for (const sctp::Message& message : effects.delivered()) {
        if (!holding && deliver(slot, message, now) == Routed::done) {
            counters.add(Count::rx_messages);
            continue;
        }
        holding = true;
        const KeptBack use(blocks);
        if (faults.refuse(Site::hold) || !slot.association.hold(env, message)) {
            counters.drop(Drop::peer_congested);
            enter(slot.peer, PeerEntry::received);
            enter(slot.peer, PeerEntry::discarded);
        }
    }
    if (holding)
        block(slot, now);
    else
        drain_ready(slot, now);
}

void Worker::State::happened(Slot& slot, const sctp::EventRecord& event, Time now) {
    switch (event.event) {
        case sctp::Event::up:
            slot.established = true;
            mine.established.fetch_add(1, std::memory_order_relaxed);
            report(slot, RecordKind::association_up, now);
            break;
        case sctp::Event::restarted:
            // What the published snapshot names is the old one, whose ASP is gone with its process:
            // nothing finds it any more. Control learns of the new one when what was on its way to
            // the old one waits in its servers' queues.
            ++slot.generation;
            slot.restarting = true;
            slot.pending_report = RecordKind::association_restarted;
            slot.owes_report = true;
            owe(slot);
            break;
        case sctp::Event::paths_changed:
            index_later(slot, index_paths(slot));
            break;
        case sctp::Event::path_down:
            tell(slot, EventKind::path_down, event.path, now);
            break;
        case sctp::Event::path_up:
            tell(slot, EventKind::path_up, event.path, now);
            break;
        case sctp::Event::path_potentially_failed:
            tell(slot, EventKind::path_potentially_failed, event.path, now);
            break;
        case sctp::Event::primary_changed:
            tell(slot, EventKind::primary_changed, event.path, now);
            break;
        case sctp::Event::shutdown_begun:
            break;  // the end follows
        case sctp::Event::closed:
            end(slot, EventKind::association_closed, event.cause);
            break;
        case sctp::Event::aborted:
            end(slot, EventKind::association_aborted, event.cause);
            break;
        case sctp::Event::lost:
            end(slot, EventKind::association_lost, event.cause);
            break;
        case sctp::Event::remote_error:
        case sctp::Event::send_failed:
        case sctp::Event::streams_reset:
        case sctp::Event::streams_added:
        case sctp::Event::reconfiguration_refused:
            break;  // counted by sctp
    }
}

/// For the log alone: lost when control's ring is full.
void Worker::State::tell(const Slot& slot, EventKind kind, std::uint16_t detail, Time now) {
    const EventRecord record{
        .kind = kind, .peer = slot.peer, .as = kNoAs, .detail = detail, .when = now};
    if (!push(Site::ring_path_event, mine.to_control, {.kind = RecordKind::event, .event = record}))
        mine.events_dropped.fetch_add(1, std::memory_order_relaxed);
}

/// Up, restart and end must reach control whatever its ring's state: what does not fit is owed. An
/// end overrides the rest.
void Worker::State::report(Slot& slot, RecordKind kind, Time now) {
    slot.pending_report = kind;
    if (!slot.owes_report && push_report(slot, now)) return;
    slot.owes_report = true;
    owe(slot);
}

bool Worker::State::push_report(const Slot& slot, Time now) {
    EventRecord event{.kind = EventKind::association_up,
                      .peer = slot.peer,
                      .as = kNoAs,
                      .detail = 0,
                      .when = now};
    if (slot.pending_report == RecordKind::association_restarted)
        event.kind = EventKind::association_restarted;
    if (slot.pending_report == RecordKind::association_ended) {
        event.kind = slot.end_event;
        event.detail = slot.end_cause;
    }
    return push(Site::ring_report, mine.to_control,
                {.kind = slot.pending_report,
                 .streams_out = slot.association.streams_out(),
                 .ref = ref_of(slot),
                 .peer = slot.peer,
                 .event = event});
}

void Worker::State::owe(Slot& slot) {
    if (slot.unsettled) return;
    slot.unsettled = true;
    unsettled.push(slot);
}

void Worker::State::index_later(Slot& slot, Indexed so_far) {
    if (so_far == Indexed::all || slot.unindexed) return;
    if (so_far == Indexed::full) counters.drop(Drop::table_full);
    slot.unindexed = true;
    mine.unindexed.fetch_add(1, std::memory_order_relaxed);
    owe(slot);
}

/// True: nothing is owed to the table any more.
bool Worker::State::index_owed(Slot& slot) {
    if (!slot.unindexed) return true;
    if (!slot.ended && index_paths(slot) != Indexed::all) return false;
    slot.unindexed = false;
    mine.unindexed.fetch_sub(1, std::memory_order_relaxed);
    if (!slot.ended) mark_dirty(slot);  // an INIT may have waited for this
    return true;
}

bool Worker::State::settle(Time now) {
    bool settled = false;
    const std::size_t slice = std::min(unsettled.size(), kSlotsPerTurn);
    for (std::size_t n = 0; n < slice; ++n) {
        Slot& slot = unsettled.pop();
        if (slot.restarting && !slot.ended && !salvage_restarted(slot, now)) {
            unsettled.push(slot);
            continue;
        }
        if (slot.owes_report && push_report(slot, now)) slot.owes_report = false;
        const bool indexed = index_owed(slot);
        if (slot.owes_report || !indexed) {
            unsettled.push(slot);
            continue;
        }
        slot.unsettled = false;
        settled = true;
    }
    return settled;
}

void Worker::State::end(Slot& slot, EventKind why, std::uint16_t cause) {
    if (slot.ended) return;
    slot.ended = true;
    if (slot.established) mine.established.fetch_sub(1, std::memory_order_relaxed);
    slot.congested.store(true, std::memory_order_relaxed);
    wheel.cancel(slot);
    slot.end_event = why;
    slot.end_cause = cause;
    mark_dirty(slot);  // a last ABORT or SHUTDOWN COMPLETE may wait
    ending.push(slot);
}

/// Slices: table entries out (a shard may be busy), a grace period, memory, slot. True when the
/// slot is free.
bool Worker::State::take_down_one(Slot& slot, Time now, std::size_t& budget_blocks) {
    if (slot.dirty || !salvage(slot, now)) return false;
    if (slot.blocked || slot.unsettled) return false;
    while (slot.nodes_inserted > 0) {
        if (faults.refuse(Site::table_remove) ||
            !shared.table->remove(slot.node(slot.nodes_inserted - 1u)))
            return false;
        --slot.nodes_inserted;
        if (slot.nodes_inserted == 0) slot.grace_token = shared.reclaimer.begin();
    }
    sctp::Environment env = environment(slot, now);
    if (budget_blocks == 0 || !slot.association.release_within(env, budget_blocks)) return false;
    if (slot.grace_token != 0 && !shared.reclaimer.done(slot.grace_token)) return false;
    if (slot.more_nodes != nullptr) blocks.give(slot.more_nodes, kMoreNodesBytes);
    slot.more_nodes = nullptr;
    ++slot.generation;            // old references die here
    free_slots.push_back(&slot);  // room for all was reserved
    mine.slots_used.fetch_sub(1, std::memory_order_relaxed);
    shared.associations[slot.listener].fetch_sub(1, std::memory_order_relaxed);
    return true;
}

bool Worker::State::take_down(Time now, std::size_t budget_blocks) {
    bool worked = false;
    const std::size_t slice = std::min(ending.size(), kSlotsPerTurn);
    for (std::size_t n = 0; n < slice; ++n) {
        Slot& slot = ending.pop();
        if (take_down_one(slot, now, budget_blocks))
            worked = true;
        else
            ending.push(slot);
    }
    return worked;
}

bool Worker::State::connect(PeerIndex peer, Time now) {
    const PeerSettings& whom = settings().peers[peer.value];
    Slot* slot = new_slot(whom.listener, peer);
    if (slot == nullptr) {
        const EventRecord event{.kind = EventKind::association_lost,
                                .peer = peer,
                                .as = kNoAs,
                                .detail = 0,
                                .when = now};
        if (!push(Site::ring_connect_failed, mine.to_control,
                  {.kind = RecordKind::association_ended, .peer = peer, .event = event}))
            return false;
        counters.drop(Drop::init_refused_resources);
        return true;
    }
    slot->client = true;
    sctp::Environment env = environment(*slot, now);
    tags.target = index;
    const std::uint16_t local_port = settings().listeners[whom.listener].port;
    const bool begun = !faults.refuse(Site::connect) &&
                       slot->association.connect(env, whom.addresses, local_port,
                                                 whom.remote_port.value_or(local_port));
    const Indexed indexed = begun ? index_paths(*slot) : Indexed::no_memory;
    if (indexed == Indexed::all || indexed == Indexed::busy) {
        index_later(*slot, indexed);
        if (slot->nodes_inserted > 0) mark_dirty(*slot);  // else INIT leaves afterwards
    } else {
        count_refusal(indexed);
        slot->forget_association(env);  // no INIT leaves
        end(*slot, EventKind::association_lost, 0);
    }
    return true;
}

}  // namespace signalbox::core
