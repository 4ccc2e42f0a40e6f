// SPDX-License-Identifier: Apache-2.0
// One association's place in the arena: the lines that the table points to, the association, and
// what core keeps for it. Written by its owner alone; other workers read `nodes` (immutable while
// inserted) and `congested`.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/numbers.h"
#include "base/prefetch.h"
#include "base/timer_wheel.h"
#include "core/records.h"
#include "sctp/association.h"
#include "table/transport_table.h"

namespace signalbox::core {

inline constexpr std::size_t kInlineNodes = 2;

struct Slot;

/// Its timer is a base, because the wheel hands back the node. In the order in which a packet
/// touches it: what every packet needs fills the first line, then come the lines of the table.
struct alignas(64) Slot : TimerNode {
    bool dirty = false;
    bool blocked = false;      // holds messages that core could not route yet
    bool established = false;  // was up: counted in the gauge
    bool client = false;       // we opened it: its failure is news too
    bool ended = false;        // closed, aborted or lost; being taken down
    bool unsettled = false;    // on the list of those that owe a table entry or a report
    Slot* next_dirty = nullptr;
    std::uint32_t generation = 0;
    PeerIndex peer = kNoPeer;
    std::uint16_t listener = 0;
    std::uint16_t profile = 0;
    std::uint8_t nodes_inserted = 0;    // paths 0.. that the table holds
    std::uint8_t congestion_level = 0;  // of the send queue, as control was told
    std::atomic<bool> congested{
        false};  // owner: rw, workers: ro. Send queue over half full: hold, do not send

    alignas(64) table::Node nodes[kInlineNodes];  // paths 0 and 1; owner: rw while not inserted,
                                                  // all: ro
    sctp::Association association;                // owner: rw

    bool salvaged = false;     // ended, and what it had not delivered waits in its servers' queues
    bool owes_report = false;  // control must still learn about `pending_report`
    bool unindexed = false;    // owes table entries
    bool restarting = false;   // its peer restarted, and what waited for the old one comes back
    RecordKind pending_report{};
    EventKind end_event{};  // why it ended
    std::uint16_t end_cause = 0;
    table::Node* more_nodes = nullptr;  // paths from 2 on, one block
    Slot* next_blocked = nullptr;
    Slot* next_ending = nullptr;
    Slot* next_unsettled = nullptr;
    std::uint64_t grace_token = 0;
    Time blocked_since{};

    /// For a new association. `congested` is stored, not rebuilt: other workers may be reading it.
    void prepare() {
        for (table::Node& n : nodes) n = {};
        std::destroy_at(&association);
        std::construct_at(&association);
        more_nodes = nullptr;
        grace_token = 0;
        ++generation;
        nodes_inserted = 0;
        congestion_level = 0;
        dirty = blocked = established = client = ended = salvaged = owes_report = false;
        unsettled = unindexed = restarting = false;
        congested.store(false, std::memory_order_relaxed);
    }
    /// Asks for what a packet or a time-out of the association touches. (The table's lookup has
    /// fetched the node.)
    SIGNALBOX_ALWAYS_INLINE void prefetch() const {
        prefetch_lines(this, nodes);
        association.prefetch();
    }
    /// One that has sent nothing yet.
    void forget_association(sctp::Environment& env) {
        while (!association.release(env, 64)) {
        }
        std::destroy_at(&association);
        std::construct_at(&association);
    }
    table::Node& node(std::size_t path) {
        return path < kInlineNodes ? nodes[path] : more_nodes[path - kInlineNodes];
    }
};
static_assert(sizeof(table::Node) ==
              64);  // nodes begin the second line, the association the fourth

}  // namespace signalbox::core
