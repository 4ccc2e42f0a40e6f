// SPDX-License-Identifier: Apache-2.0
// What became of every message (design.md section 11), by peer, by AS and by route. One per worker,
// written by it alone; the sums over the workers balance:
//
//   a peer:  received = forwarded + discarded (before a route was found)
//            accepted = returned + lost + delivered to the peer + in its association's send queue
//   an AS:   offered + returned = accepted + rerouted + discarded + waiting (queues and rings)
//
// At rest nothing waits and no send queue holds anything.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/numbers.h"

namespace signalbox::core {

enum class PeerEntry : std::uint8_t {
    received,   // messages taken from its associations, management too
    forwarded,  // of those: offered to an AS or given to control
    discarded,  // of those: by name
    accepted,   // messages that its associations took for sending, management too
    returned,   // of those: given back when the association ended
    lost,       // of those: could not be given back, by name
};
enum class AsEntry : std::uint8_t {
    received,   // good DATA that its ASPs sent
    offered,    // messages routed to it; of a broadcast each copy
    accepted,   // messages that its ASPs' associations took
    returned,   // of those: given back
    rerouted,   // waited for it and went another way
    discarded,  // by name
};

/// All zero at first; copies are for readers.
template <class Entry, std::size_t Count>
struct alignas(64) LedgerLine {
    std::array<std::uint64_t, Count> values{};
    std::uint64_t operator[](Entry e) const { return values[static_cast<std::size_t>(e)]; }
    void add(Entry e, std::uint64_t n = 1) {  // not a locked instruction: one writer
        std::atomic_ref cell(values[static_cast<std::size_t>(e)]);
        cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    /// Readers on other threads.
    void add_to(LedgerLine& sum) const {
        for (std::size_t i = 0; i < Count; ++i) {
            std::atomic_ref cell(const_cast<std::uint64_t&>(values[i]));
            sum.values[i] += cell.load(std::memory_order_relaxed);
        }
    }
};
using PeerLine = LedgerLine<PeerEntry, 6>;
using AsLine = LedgerLine<AsEntry, 6>;
struct RouteLine {
    std::uint64_t offered = 0;
    void add() {
        std::atomic_ref cell(offered);
        cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void add_to(std::uint64_t& sum) const {
        std::atomic_ref cell(const_cast<std::uint64_t&>(offered));
        sum += cell.load(std::memory_order_relaxed);
    }
};

struct Ledger {
    Ledger(std::size_t peer_count, std::size_t server_count, std::size_t route_count)
        : peers(peer_count), servers(server_count), routes(route_count) {}
    // worker: rw, control: ro. Sized once
    std::vector<PeerLine> peers;
    std::vector<AsLine> servers;
    std::vector<RouteLine> routes;
};

}  // namespace signalbox::core
