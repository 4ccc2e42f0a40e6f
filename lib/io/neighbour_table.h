// SPDX-License-Identifier: Apache-2.0
// Link-layer addresses of neighbours, for ARP (RFC 826) and neighbour discovery (RFC 4861 7.3)
// alike. One table for each worker, nothing shared. Bounded: entries come only from packets that we
// want to send, never from what others say.
//
//   (none) -- packet to send --> incomplete -- answer --> reachable -- used after 30 s --> probing
//                                    |                        ^                             |   |
//                                    +-- 3 times no answer    +---------- answer -----------+   |
//                                             v                                                 |
//                                          (none) <-------------- 3 times no answer ------------+
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "io/addressing.h"

namespace signalbox::io {

struct NeighbourKey {
    IpAddress address;
    PortIndex port = 0;
    friend constexpr bool operator==(const NeighbourKey&, const NeighbourKey&) = default;
};

class NeighbourTable {
 public:
    using Packet = void*;                               // the caller's; the table only keeps it
    static constexpr std::size_t kQueuedMax = 3;        // packets for each unresolved neighbour
    static constexpr std::size_t kUnresolvedMax = 512;  // bounds queued packets and requests
    static constexpr std::size_t kEntriesMax = 8192;
    static constexpr unsigned kAttemptsMax = 3;  // RFC 4861 10, MAX_MULTICAST_SOLICIT
    static constexpr Duration kRetry = std::chrono::seconds{1};       // RETRANS_TIMER
    static constexpr Duration kReachable = std::chrono::seconds{30};  // REACHABLE_TIME
    static constexpr Duration kTick = std::chrono::milliseconds{50};

    enum class Answer : std::uint8_t { known, queued, refused };
    struct Resolution {
        Answer answer = Answer::refused;
        MacAddress mac{};
        bool ask = false;  // send a request now: to `mac` when known, else to all
    };
    struct Released {
        std::array<Packet, kQueuedMax> packets{};
        std::size_t count = 0;
        bool changed = false;  // an entry exists and was confirmed or renewed
    };

    /// `seed`: so that nobody outside can aim at one hash chain.
    explicit NeighbourTable(std::uint64_t seed, std::size_t entries_max = kEntriesMax);

    /// Where a packet goes. `queued`: the table keeps it; `refused`: it stays the caller's.
    Resolution resolve(const NeighbourKey& key, Packet packet, Time now);
    /// The neighbour has said its address; what waited for it comes back to be sent.
    Released learn(const NeighbourKey& key, const MacAddress& mac, Time now);
    /// Repeats requests and gives up. ask(key, optional mac); discard(packet).
    template <class Ask, class Discard>
    void tick(Time now, Ask&& ask, Discard&& discard);
    /// Gives every queued packet back (the end of the worker).
    template <class Discard>
    void clear(Discard&& discard);

    std::optional<MacAddress> find(const NeighbourKey& key) const;
    std::size_t size() const { return used_; }

 private:
    enum class State : std::uint8_t { free, incomplete, reachable, probing };
    static constexpr std::uint32_t kNone = 0xffffffff;
    struct Entry {
        NeighbourKey key;
        MacAddress mac{};
        State state = State::free;
        std::uint8_t attempts = 0;
        std::uint8_t queued = 0;
        std::uint32_t next = kNone;    // in the chain of its bucket, or of the free list
        std::uint32_t waiting_at = 0;  // position in waiting_, while incomplete or probing
        std::array<Packet, kQueuedMax> queue{};
        Time confirmed{};
        Time used{};
        Time ask_at{};
    };

    std::size_t bucket_of(const NeighbourKey& key) const;
    std::uint32_t index_of(const NeighbourKey& key) const;
    Entry* take_free(Time now);
    bool evict(Time now);
    void unlink(std::uint32_t index);
    void start_waiting(std::uint32_t index, State state, Time now);
    void stop_waiting(Entry& entry);
    Resolution begin(const NeighbourKey& key, Packet packet, Time now);

    std::uint64_t seed_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_;
    std::vector<std::uint32_t> waiting_;  // capacity reserved: kUnresolvedMax
    std::uint32_t free_ = kNone;
    std::uint32_t hand_ = 0;
    std::size_t used_ = 0;
    Time next_tick_{};
};

template <class Ask, class Discard>
void NeighbourTable::tick(Time now, Ask&& ask, Discard&& discard) {
    if (now < next_tick_) return;
    next_tick_ = now + kTick;
    for (std::size_t i = waiting_.size(); i-- > 0;) {
        const std::uint32_t index = waiting_[i];
        Entry& entry = entries_[index];
        if (entry.ask_at > now) continue;
        if (entry.attempts >= kAttemptsMax) {
            for (std::size_t q = 0; q < entry.queued; ++q) discard(entry.queue[q]);
            stop_waiting(entry);
            unlink(index);
            continue;
        }
        ++entry.attempts;
        entry.ask_at = now + kRetry;
        ask(entry.key, entry.state == State::probing ? std::optional{entry.mac} : std::nullopt);
    }
}

template <class Discard>
void NeighbourTable::clear(Discard&& discard) {
    for (std::uint32_t index : waiting_) {
        Entry& entry = entries_[index];
        for (std::size_t q = 0; q < entry.queued; ++q) discard(entry.queue[q]);
        entry.queued = 0;
    }
}

}  // namespace signalbox::io
