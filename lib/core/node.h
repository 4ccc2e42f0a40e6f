// SPDX-License-Identifier: Apache-2.0
// What all workers and the control thread of one daemon share: table, arena, rings, snapshots; and
// the control thread's side of the core.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "base/reclaimer.h"
#include "base/time.h"
#include "core/inspect.h"
#include "core/ledger.h"
#include "core/reload.h"
#include "core/settings.h"
#include "sigtran/distribution.h"
#include "table/transport_table.h"

namespace signalbox::core {

/// A fixed-size record for the event log; text is made by the reader.
enum class EventKind : std::uint8_t {
    association_up,
    association_closed,
    association_aborted,
    association_lost,
    association_restarted,
    path_down,
    path_up,
    path_potentially_failed,
    primary_changed,
    asp_state,
    as_state,
    m3ua_error_received,
    m3ua_error_sent,
    memory_low,  // detail: pages left
    memory_recovered,
    transport_table_deep,  // detail: buckets of the longest chain
    transport_table_flat,
    send_queue_congested,  // detail: level
    send_queue_relieved,
};
struct EventRecord {
    EventKind kind{};
    PeerIndex peer = kNoPeer;
    AsIndex as = kNoAs;
    std::uint16_t detail = 0;  // cause code, path index or state from << 8 | to
    Time when{};
};

struct NodeStatistics {
    std::shared_ptr<const Settings> settings;  // those in force: names by index
    std::size_t associations = 0;              // established now
    std::size_t slots = 0;                     // associations that there is memory for
    std::size_t slots_used = 0;
    std::size_t pages_free = 0;  // in the pool, and what workers have at hand or on its way back
    std::size_t pages_total = 0;
    std::size_t pages_in_pool = 0;
    struct WorkerPages {
        std::size_t at_hand = 0;
        std::size_t returning = 0;
        std::uint64_t refusals = 0;
    };
    std::vector<WorkerPages> worker_pages;  // by WorkerIndex
    std::size_t pages_low_water = 0;        // fewer free ones are an alarm
    bool memory_low = false;                // the alarm
    std::uint64_t memory_alarms = 0;
    table::TransportTable::Statistics table;
    std::vector<sigtran::AsState> as_states;                 // by AsIndex
    std::vector<std::uint16_t> as_active_asps;               // by AsIndex
    std::vector<bool> peer_associated;                       // by PeerIndex
    std::vector<sigtran::AspState> peer_states;              // best state over its ASs
    std::vector<bool> peer_blocked;                          // by the configuration or an operator
    std::vector<WorkerIndex> peer_workers;                   // who has or had its association
    std::vector<std::vector<sigtran::AspState>> asp_states;  // by AsIndex, by member
    std::vector<AsLine> as_ledger;                           // by AsIndex, sums over the workers
    std::vector<PeerLine> peer_ledger;                       // by PeerIndex
    std::span<const mtp3::Route> routes;                     // live as long as `settings`
    std::vector<std::uint64_t> route_ledger;  // messages offered, by index of `routes`
    std::vector<std::uint64_t> as_waiting;    // by AsIndex: in queues, rings not included
    std::uint64_t control_longest_turn_ns = 0;
    std::uint64_t events_dropped = 0;
};

class Node {
 public:
    /// `region`: page-aligned memory of `region_bytes` (hugepages or not) for associations, nodes
    /// and pages. Allocates all that workers will use.
    Node(Settings settings, unsigned workers, void* region, std::size_t region_bytes,
         Reclaimer& reclaimer, RandomSource::Seed seed);
    ~Node();
    unsigned workers() const;

    // control thread
    const Settings& settings() const;  // those in force
    /// One turn: rings from workers, gateway timers, publication of snapshots, page refill, table
    /// growth. Never blocks; call it every millisecond or so.
    void control_turn(Time now);
    /// How long the caller's last turn took; the longest is a statistic (the core has no clock).
    void record_turn(Duration length);
    /// Takes up to `limit` events for the log.
    template <class Fn>
    std::size_t take_events(std::size_t limit, Fn&& fn) {
        EventRecord e;
        std::size_t n = 0;
        for (; n < limit && next_event(e); ++n) fn(e);
        return n;
    }
    bool next_event(EventRecord& event);
    /// Begins an orderly end: ASPs told, SHUTDOWN to all. drained() says when nothing is left.
    void drain(Time now);
    bool drained() const;

    // control thread: the operator (core/inspect.h)
    /// Asks the workers about one peer's association or all; known after some turns, or when the
    /// time is over: then with what came.
    void ask_associations(PeerIndex only, Time now);
    bool associations_known(Time now) const;
    std::vector<AssociationInfo> take_associations();
    RouteAnswer explain(const RouteQuestion& question) const;
    std::vector<PeerIndex> bindings(AsIndex as) const;  // by SLS
    void block(PeerIndex peer, Time now);               // ASP out of service, SCTP stays
    void unblock(PeerIndex peer);
    bool drop_association(PeerIndex peer);  // ABORT; false: it has none

    // reload (core/reload.h): any thread plans, one at a time
    ReloadRoom reload_room() const;
    std::shared_ptr<const Settings> settings_in_force() const;
    std::shared_ptr<const Plan> make_plan(Settings settings);
    /// Control thread: puts the plan of a ReloadPlan's settings in force; associations that must
    /// end are shut down in the next turn, after what their ASPs are told.
    void reload(std::shared_ptr<const Plan> plan, const std::vector<PeerFate>& fates, Time now);

    // any thread
    const Counters& worker_counters(WorkerIndex worker) const;
    const Counters& control_counters() const;
    std::shared_ptr<const NodeStatistics> statistics()
        const;  // made by control_turn() about once a second

    struct Shared;  // core's own
    Shared& shared() { return *shared_; }

 private:
    std::unique_ptr<Shared> shared_;
};

}  // namespace signalbox::core
