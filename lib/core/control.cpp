// SPDX-License-Identifier: Apache-2.0
// The control thread's side of the core: what workers report, the gateway's decisions, publication,
// upkeep.
#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/node.h"
#include "core/shared.h"
#include "core/slot.h"

namespace signalbox::core {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kRecordsPerTurn = 4096;  // of one worker: bounds a control turn
constexpr std::size_t kMaxEvents = 4096;    // waiting for the log
/// After a loss; each attempt that fails doubles it.
constexpr Duration kReconnectAfter = 1s;
constexpr Duration kReconnectAtMost = 64s;
constexpr Duration kStatisticsEvery = 1s;
constexpr unsigned kTableStepsPerTurn = 4;

std::uint16_t from_to(std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint16_t>(from << 8 | to);
}

}  // namespace

bool Node::Shared::publish() {
    links_changed = true;  // until it is done
    std::unique_ptr<Snapshot> fresh;
    try {
        if (control_faults.refuse(Site::snapshot)) throw std::bad_alloc{};
        fresh.reset(new Snapshot{gateway->distribution(), links, plan});
        old_snapshots.push_back({nullptr, 0});
    } catch (const std::bad_alloc&) {
        return false;
    }
    const Snapshot* old = snapshot.exchange(fresh.release(), std::memory_order_acq_rel);
    if (old != nullptr)
        old_snapshots.back() = {old, reclaimer.begin()};
    else
        old_snapshots.pop_back();
    links_changed = false;
    return true;
}

void Node::Shared::reclaim_snapshots() {
    while (!old_snapshots.empty() && reclaimer.done(old_snapshots.front().token)) {
        delete old_snapshots.front().snapshot;
        old_snapshots.pop_front();
    }
}

void Node::Shared::note(const EventRecord& event) {
    if (events.size() >= kMaxEvents) {
        ++events_dropped;
        return;
    }
    events.push_back(event);
}

void Node::Shared::command(const RecordHeader& header, std::span<const std::uint8_t> bytes) {
    const unsigned w = header.ref.worker.value;
    if (backlog[w].empty() && !control_faults.refuse(Site::ring_command) &&
        push_record(per_worker[w]->from_control, header, bytes))
        return;
    // The worker is slow just now. Control may allocate; order is kept.
    std::vector<std::uint8_t> record(sizeof header + bytes.size());
    std::memcpy(record.data(), &header, sizeof header);
    if (!bytes.empty()) std::memcpy(record.data() + sizeof header, bytes.data(), bytes.size());
    backlog[w].push_back(std::move(record));
}

void Node::Shared::flush_backlog() {
    for (unsigned w = 0; w < workers; ++w) {
        while (!backlog[w].empty()) {
            const Record r = view_record(backlog[w].front());
            if (control_faults.refuse(Site::ring_command) ||
                !push_record(per_worker[w]->from_control, r.header, r.bytes))
                break;
            backlog[w].pop_front();
        }
    }
}

void Node::Shared::association_up(const Record& record, Time now) {
    const RecordHeader& h = record.header;
    note({.kind = h.kind == RecordKind::association_up ? EventKind::association_up
                                                       : EventKind::association_restarted,
          .peer = h.peer,
          .as = kNoAs,
          .detail = 0,
          .when = now});
    if (h.peer == kNoPeer) return;
    reconnect_wait[h.peer.value] = {};
    PeerLink& link = links.edit(h.peer.value);
    const bool replaced = link.up && !(link.ref == h.ref);
    if (replaced && h.kind == RecordKind::association_restarted) {
        lost_links.emplace_back(h.peer, link.ref);
    } else if (replaced) {
        // A peer has one association: the newest. The old one's ASP is gone with its process.
        lost_links.emplace_back(h.peer, link.ref);
        gateway->association_lost(h.peer, now);
        command({.kind = RecordKind::abort, .ref = link.ref, .peer = h.peer}, {});
    }
    link = {.ref = h.ref, .streams_out = h.streams_out, .up = true};
    links_changed = true;
    if (h.kind == RecordKind::association_restarted)
        gateway->association_restarted(h.peer, h.streams_out, now);
    else
        gateway->association_up(h.peer, h.streams_out, now);
}

Duration Node::Shared::next_reconnect(PeerIndex peer) {
    Duration& wait = reconnect_wait[peer.value];
    wait = wait == Duration{} ? kReconnectAfter : std::min(2 * wait, kReconnectAtMost);
    return wait;
}

void Node::Shared::association_ended(const Record& record, Time now) {
    const RecordHeader& h = record.header;
    note(h.event);
    if (h.peer == kNoPeer) return;
    if (settings().peers[h.peer.value].connect && !draining)
        reconnect_at[h.peer.value] = now + next_reconnect(h.peer);
    PeerLink& link = links.edit(h.peer.value);
    // An older association of this peer; or one that restarted and ended before we heard of that.
    const bool same_place = link.ref.worker == h.ref.worker && link.ref.slot == h.ref.slot;
    if (!link.up || !same_place) return;
    link.up = false;
    links_changed = true;
    lost_links.emplace_back(h.peer, h.ref);
    gateway->association_lost(h.peer, now);
}

void Node::Shared::from_worker(unsigned /*worker*/, const Record& record, Time now) {
    const RecordHeader& h = record.header;
    switch (h.kind) {
        case RecordKind::association_up:
        case RecordKind::association_restarted:
            association_up(record, now);
            break;
        case RecordKind::association_ended:
            association_ended(record, now);
            break;
        case RecordKind::management:
        case RecordKind::refused_data:
            // From an association that was replaced meanwhile: its ASP is another one now.
            if (h.peer == kNoPeer || !links[h.peer.value].up || !(links[h.peer.value].ref == h.ref))
                break;
            if (h.kind == RecordKind::management)
                gateway->receive(h.peer, h.stream, record.bytes, now);
            else
                gateway->refuse_data(h.peer, h.stream, record.bytes, h.why, now);
            break;
        case RecordKind::congestion:
            if (h.peer == kNoPeer || !(links[h.peer.value].ref == h.ref)) break;
            gateway->send_queue_level(h.peer, h.level, now);
            note({.kind = h.level != 0 ? EventKind::send_queue_congested
                                       : EventKind::send_queue_relieved,
                  .peer = h.peer,
                  .detail = h.level,
                  .when = now});
            break;
        case RecordKind::fence:
        case RecordKind::drain:
            handover_answer(record);
            break;
        case RecordKind::described:
            described(record);
            break;
        case RecordKind::event:
            note(h.event);
            break;
        default:
            break;  // workers send nothing else to control
    }
}

void Node::Shared::send_outgoing(Time now) {
    // The snapshot goes first: an ASP that reads its ASPAC Ack may send in the same moment
    // (sigtran.md section 3).
    for (sigtran::Outgoing& o : gateway->take_outgoing()) outgoing.push_back(std::move(o));
    if ((gateway->dirty() || links_changed) && !publish()) return;  // the next turn tries again
    begin_handover();
    for (; !outgoing.empty(); outgoing.pop_front()) {
        const sigtran::Outgoing& o = outgoing.front();
        const PeerLink& link = links[o.peer.value];
        if (!link.up) continue;  // gone meanwhile, and its state with it
        command({.kind = RecordKind::send, .stream = o.stream, .ref = link.ref, .peer = o.peer},
                o.bytes);
    }
    for (const PeerIndex peer : std::exchange(to_shut_down, {}))
        disconnect(peer, RecordKind::shutdown);
    for (const PeerIndex peer : gateway->take_disconnects()) disconnect(peer, RecordKind::abort);
    for (const PeerIndex peer : gateway->take_drained()) disconnect(peer, RecordKind::shutdown);
    note_changes(now);
}

void Node::Shared::disconnect(PeerIndex peer, RecordKind how) {
    const PeerLink& link = links[peer.value];
    if (link.up) command({.kind = how, .ref = link.ref, .peer = peer}, {});
}

/// Workers count what each peer sends; control looks only when a T(beat) is over.
void Node::Shared::look_for_beats(Time now) {
    for (const PeerIndex peer : gateway->beats_due(now)) {
        Time last{};
        for (const auto& w : per_worker)
            last = std::max(last,
                            Time{Duration{w->heard[peer.value].load(std::memory_order_relaxed)}});
        gateway->heard(peer, last);
    }
}

void Node::Shared::note_changes(Time now) {
    for (const sigtran::Change& c : gateway->take_changes()) {
        EventKind kind{};
        switch (c.kind) {
            case sigtran::ChangeKind::as_state:
                kind = EventKind::as_state;
                break;
            case sigtran::ChangeKind::asp_state:
                kind = EventKind::asp_state;
                break;
            case sigtran::ChangeKind::error_received:
                kind = EventKind::m3ua_error_received;
                break;
            case sigtran::ChangeKind::error_sent:
                kind = EventKind::m3ua_error_sent;
                break;
        }
        note({.kind = kind,
              .peer = c.peer,
              .as = c.as,
              .detail = from_to(c.from, c.to),
              .when = now});
    }
}

void Node::Shared::open_associations(Time now) {
    for (std::uint32_t p = 0; p < reconnect_at.size(); ++p) {
        if (reconnect_at[p] > now) continue;
        reconnect_at[p] = kNever;
        const auto worker = static_cast<std::uint8_t>(p % workers);
        command({.kind = RecordKind::connect,
                 .ref = {.worker = WorkerIndex{worker}},
                 .peer = PeerIndex{p}},
                {});
    }
}

std::size_t Node::Shared::free_pages() const {
    std::size_t n = pool->free_pages();
    for (const auto& w : per_worker) n += w->pages.available() + w->pages.returning();
    return n;
}

/// Twice what the workers keep back, where DATA begins to count as not received.
std::size_t Node::Shared::low_water() const {
    constexpr std::size_t kPart = 16;
    return std::max(pool->total_pages() / kPart, 2 * kKeptBackPages * per_worker.size());
}

/// The alarm ends at twice the level at which it began, so that it does not chatter.
void Node::Shared::watch_memory(Time now) {
    const std::size_t left = free_pages();
    if (left >= low_water() * (memory_low ? 2 : 1) || left == pool->total_pages()) {
        if (memory_low) note({.kind = EventKind::memory_recovered, .when = now});
        memory_low = false;
    } else if (!memory_low) {
        memory_low = true;
        ++memory_alarms;
        note({.kind = EventKind::memory_low,
              .detail = static_cast<std::uint16_t>(std::min<std::size_t>(left, 0xffff)),
              .when = now});
    }
}

void Node::Shared::watch_table(const table::TransportTable::Statistics& found, Time now) {
    if (found.alarm() == table_deep) return;
    table_deep = found.alarm();
    note({.kind = table_deep ? EventKind::transport_table_deep : EventKind::transport_table_flat,
          .detail = static_cast<std::uint16_t>(found.max_depth),
          .when = now});
}

void Node::Shared::collect_statistics(Time now) {
    if (now < statistics_due) return;
    statistics_due = now + kStatisticsEvery;
    auto s = std::make_shared<NodeStatistics>();
    std::int64_t established = 0;
    for (const auto& w : per_worker) {
        established += w->established.load(std::memory_order_relaxed);
        s->events_dropped += w->events_dropped.load(std::memory_order_relaxed);
        s->worker_pages.push_back(
            {w->pages.available(), w->pages.returning(), w->pages.refusals()});
    }
    s->settings = {plan, &plan->settings};
    s->associations = static_cast<std::size_t>(std::max<std::int64_t>(established, 0));
    s->pages_free = free_pages();
    s->pages_in_pool = pool->free_pages();
    s->pages_total = pool->total_pages();
    s->pages_low_water = low_water();
    s->memory_low = memory_low;
    s->memory_alarms = memory_alarms;
    s->table = table->statistics();
    watch_table(s->table, now);
    s->slots = slot_count;
    for (const auto& w : per_worker)
        s->slots_used += static_cast<std::size_t>(
            std::max<std::int64_t>(w->slots_used.load(std::memory_order_relaxed), 0));
    s->events_dropped += events_dropped;
    s->control_longest_turn_ns = longest_turn_ns;
    for (std::size_t p = 0; p < links.size(); ++p) s->peer_associated.push_back(links[p].up);
    for (std::size_t p = 0; p < links.size(); ++p) s->peer_workers.push_back(links[p].ref.worker);
    for (std::uint32_t p = 0; p < links.size(); ++p)
        s->peer_blocked.push_back(gateway->admin(PeerIndex{p}) == sigtran::Admin::blocked);
    s->peer_states.assign(links.size(), sigtran::AspState::down);
    s->asp_states.resize(settings().servers.size());
    for (std::uint32_t as = 0; as < settings().servers.size(); ++as) {
        s->as_states.push_back(gateway->as_state(AsIndex{as}));
        std::uint16_t active = 0;
        for (const sigtran::Member& m : settings().servers[as].members) {
            const sigtran::AspState state = gateway->asp_state(AsIndex{as}, m.peer);
            if (state == sigtran::AspState::active) ++active;
            s->asp_states[as].push_back(state);
            s->peer_states[m.peer.value] = std::max(s->peer_states[m.peer.value], state);
        }
        s->as_active_asps.push_back(active);
    }
    add_up_ledger(*s);
    const std::lock_guard lock(statistics_mutex);
    statistics = std::move(s);
}

void Node::Shared::add_up_ledger(NodeStatistics& s) const {
    s.as_ledger.resize(settings().servers.size());
    s.peer_ledger.resize(settings().peers.size());
    s.routes = plan->routes.routes();
    s.route_ledger.resize(s.routes.size());
    for (const auto& w : per_worker) {
        const Ledger& ledger = w->ledger;
        for (std::size_t i = 0; i < s.as_ledger.size() && i < ledger.servers.size(); ++i)
            ledger.servers[i].add_to(s.as_ledger[i]);
        for (std::size_t i = 0; i < s.peer_ledger.size() && i < ledger.peers.size(); ++i)
            ledger.peers[i].add_to(s.peer_ledger[i]);
        for (std::size_t i = 0; i < s.route_ledger.size(); ++i)
            ledger.routes[plan->route_counters[i]].add_to(s.route_ledger[i]);
    }
    for (std::size_t i = 0; i < settings().servers.size(); ++i)
        s.as_waiting.push_back(pending_messages[i].load(std::memory_order_relaxed));
}

void Node::control_turn(Time now) {
    Shared& s = *shared_;
    s.flush_backlog();
    for (unsigned w = 0; w < s.workers; ++w) {
        ByteRing& ring = s.per_worker[w]->to_control;
        for (unsigned n = 0; n < kRecordsPerTurn; ++n) {
            const std::span<const std::uint8_t> raw = ring.front();
            if (raw.empty()) break;
            s.from_worker(w, view_record(raw), now);
            ring.pop();
        }
    }
    if (s.gateway->next_deadline() <= now) {
        s.look_for_beats(now);
        s.gateway->advance(now);
    }
    s.advance_handovers(now);
    s.send_outgoing(now);
    s.open_associations(now);
    s.continue_survey();
    for (const auto& w : s.per_worker) w->pages.top_up();
    s.watch_memory(now);
    for (unsigned i = 0; i < kTableStepsPerTurn && s.table->maintain(); ++i) {
    }
    s.reclaim_snapshots();
    s.collect_statistics(now);
}

void Node::drain(Time now) {
    shared_->draining = true;
    shared_->gateway->drain(now);  // the next turns tell the ASPs and shut down, in slices
}

bool Node::drained() const {
    for (const auto& w : shared_->per_worker)
        if (w->established.load(std::memory_order_relaxed) > 0) return false;
    return true;
}

}  // namespace signalbox::core
