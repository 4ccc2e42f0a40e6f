// SPDX-License-Identifier: Apache-2.0
// What Node holds: memory, table, rings and the published snapshot. Who writes what stands beside
// it.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/byte_ring.h"
#include "base/counters.h"
#include "base/published_array.h"
#include "core/access_list.h"
#include "core/handover.h"
#include "core/ledger.h"
#include "core/node.h"
#include "core/records.h"
#include "core/screening.h"
#include "core/sites.h"
#include "core/tag_steering.h"
#include "mem/page_cache.h"
#include "mem/page_pool.h"
#include "mtp3/route_table.h"
#include "sigtran/signaling_gateway.h"
#include "table/transport_table.h"

namespace signalbox::core {

struct Slot;

/// Pages of a worker that only messages already taken from a peer may use: what is accepted and
/// cannot go on just now must find room to wait. More than the messages of one packet need, in
/// blocks of every size.
inline constexpr std::size_t kKeptBackPages = 32;

/// Where a peer's association lives; part of the snapshot.
struct PeerLink {
    AssociationRef ref;
    std::uint16_t streams_out = 0;
    bool up = false;
};

/// How an AS in this state takes messages, for the choice among routes.
constexpr mtp3::Reach reach_of(sigtran::AsState state) {
    if (state == sigtran::AsState::active) return mtp3::Reach::available;
    return state == sigtran::AsState::pending ? mtp3::Reach::queueing : mtp3::Reach::none;
}

using Links = PublishedArray<PeerLink, 64>;

/// The configuration as workers use it; a reload replaces it as a whole. Immutable.
struct Plan {
    /// `before`: the one that it replaces; a route that was there keeps its counter.
    Plan(Settings s, std::uint64_t which, const Plan* before = nullptr);
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    const Settings settings;
    const AccessList access;  // refers to `settings`
    const mtp3::RouteTable routes;
    std::vector<std::uint32_t> route_counters;  // by route: its line in Ledger::routes
    std::size_t counters_given = 0;             // since the start
    const Screening screening;                  // refers to `settings`
    const std::uint64_t generation;             // 0 at start, one more with each reload

 private:
    void count_routes(const Plan* before);
};

/// Immutable once published. Old ones are freed after a grace period, and with the last one of a
/// plan the plan.
struct Snapshot {
    sigtran::Distribution distribution;
    Links links;  // by PeerIndex
    std::shared_ptr<const Plan> plan;
};

struct alignas(64) WorkerShared {
    WorkerShared(mem::PagePool& pool, std::size_t cache_pages, std::size_t ring_bytes,
                 const ReloadRoom& room)
        : pages(pool, cache_pages),
          to_control(ring_bytes),
          from_control(ring_bytes),
          ledger(room.peers, room.servers, room.routes),
          heard(std::make_unique<std::atomic<std::int64_t>[]>(room.peers)) {}
    Counters counters;      // worker: rw, others: ro
    mem::PageCache pages;   // worker: take and give, control: top_up
    ByteRing to_control;    // worker: producer, control: consumer
    ByteRing from_control;  // control: producer, worker: consumer
    Ledger ledger;          // worker: rw, control: ro
    /// By peer: when a message of it came last; only for those that get our BEAT.
    std::unique_ptr<std::atomic<std::int64_t>[]> heard;  // worker: rw, control: ro
    std::atomic<std::int64_t> established{0};            // worker: rw, control: ro
    std::atomic<std::int64_t> slots_used{0};             // worker: rw, control: ro
    std::atomic<std::uint64_t> events_dropped{0};        // worker: rw, control: ro
    /// Associations with paths that the table does not hold yet.
    std::atomic<std::size_t> unindexed{0};  // worker: rw, other workers: ro
    FaultPoints faults;                     // worker: rw
};

struct Node::Shared {
    Shared(Settings s, unsigned worker_count, void* region, std::size_t region_bytes, Reclaimer& r,
           RandomSource::Seed seed);
    ~Shared();

    std::shared_ptr<const Plan> plan;  // control: rw; workers read the snapshot's
    const Settings& settings() const { return plan->settings; }
    unsigned workers;
    Reclaimer& reclaimer;
    RandomSource random;  // control: rw (and the constructor, for the workers' seeds)
    std::array<std::uint8_t, 32> cookie_key{};
    std::array<std::uint8_t, 32> cookie_key_previous{};
    std::vector<RandomSource::Seed> worker_seeds;
    TagHint tag_hint;
    TagSequence tags;  // workers: rw

    ReloadRoom room;               // all: ro
    std::uint64_t plans_made = 0;  // by the one thread that plans a reload

    // memory: [slots][pages]
    Slot* slots = nullptr;
    std::size_t slot_count = 0;
    std::atomic<std::size_t> slots_fresh{0};  // never used yet, from here on; workers: rw
    std::unique_ptr<mem::PagePool> pool;
    std::unique_ptr<table::TransportTable> table;
    std::vector<std::unique_ptr<WorkerShared>> per_worker;
    std::vector<std::unique_ptr<ByteRing>> between;  // [from * workers + to]
    ByteRing& ring(unsigned from, unsigned to) { return *between[from * workers + to]; }
    // By AS, over all workers, what is on its way out of a queue included; workers: rw
    std::unique_ptr<std::atomic<std::uint32_t>[]> pending_messages;
    std::unique_ptr<std::atomic<std::uint32_t>[]>
        returned_messages;  // those of them that came back
    std::unique_ptr<std::atomic<std::uint32_t>[]> pending_bytes;
    std::unique_ptr<std::atomic<std::uint32_t>[]>
        associations;  // by listener, over all workers; workers: rw

    std::atomic<const Snapshot*> snapshot{nullptr};  // control: rw, workers: ro

    // control thread only
    struct Old {
        const Snapshot* snapshot;
        std::uint64_t token;
    };
    std::deque<Old> old_snapshots;
    Counters control_counters;
    FaultPoints control_faults;
    std::unique_ptr<sigtran::SignalingGateway> gateway;
    Links links;
    std::vector<Time> reconnect_at;        // by peer; kNever: nothing to open
    std::vector<Duration> reconnect_wait;  // by peer: the last wait; 0 once it was up
    std::vector<std::deque<std::vector<std::uint8_t>>>
        backlog;  // records that a worker's ring did not take
    bool links_changed = false;
    std::map<std::uint64_t, Handover> handovers;
    std::uint64_t last_handover = 0;
    std::vector<std::pair<PeerIndex, AssociationRef>> lost_links;  // since the last publication
    std::deque<sigtran::Outgoing> outgoing;  // waits for the snapshot that it builds on
    std::vector<PeerIndex> to_shut_down;     // when their ASPs were told
    bool draining = false;
    std::deque<EventRecord> events;
    std::uint64_t events_dropped = 0;
    std::uint64_t longest_turn_ns = 0;
    bool memory_low = false;
    bool table_deep = false;
    std::uint64_t memory_alarms = 0;
    Time statistics_due{};
    mutable std::mutex statistics_mutex;  // readers of statistics() are HTTP threads, never workers
    std::shared_ptr<const NodeStatistics> statistics;

    struct Survey {  // of associations, for the operator
        std::vector<PeerIndex> to_ask;
        std::size_t next = 0;
        std::size_t awaited = 0;
        Time deadline{};
        std::vector<AssociationInfo> found;
    };
    Survey survey;

    void described(const Record& record);
    void continue_survey();
    bool publish();  // false: no memory now
    void reclaim_snapshots();
    void command(const RecordHeader& header, std::span<const std::uint8_t> bytes);
    void from_worker(unsigned worker, const Record& record, Time now);
    void association_up(const Record& record, Time now);
    void association_ended(const Record& record, Time now);
    Duration next_reconnect(PeerIndex peer);
    void note(const EventRecord& event);
    void send_outgoing(Time now);
    void disconnect(PeerIndex peer, RecordKind how);

    // handover.cpp
    void begin_handover();
    void advance_handovers(Time now);
    bool drained(std::uint64_t number, Handover& h, Time now);
    void handover_answer(const Record& record);

    // control.cpp
    void look_for_beats(Time now);
    void note_changes(Time now);
    void open_associations(Time now);
    void flush_backlog();
    void collect_statistics(Time now);
    void add_up_ledger(NodeStatistics& s) const;
    std::size_t free_pages() const;
    std::size_t low_water() const;
    void watch_memory(Time now);
    void watch_table(const table::TransportTable::Statistics& found, Time now);
};

}  // namespace signalbox::core
