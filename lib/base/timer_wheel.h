// SPDX-License-Identifier: Apache-2.0
// Hierarchical timer wheel with intrusive nodes: arm and cancel are O(1), no allocation. 1 ms
// ticks.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace signalbox {

/// Embed in the owner. Trivially zero-initialised = not armed. Must not move while armed.
struct TimerNode {
    TimerNode* next = nullptr;
    TimerNode* prev = nullptr;
    std::int64_t deadline_tick = 0;
    bool armed() const { return next != nullptr; }
};

class TimerWheel {
 public:
    static constexpr Duration kTick = std::chrono::milliseconds{1};
    explicit TimerWheel(Time start);
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    /// Arms or moves the node (kNever: disarms it): it expires at the first advance(now) with now
    /// >= deadline (rounded up to a tick).
    void arm(TimerNode& node, Time deadline);
    void cancel(TimerNode& node);
    /// Arms the node, or moves it if it would expire later than the deadline. Armed earlier it
    /// stays where it is: the owner looks when it expires and arms it anew. For deadlines that move
    /// with each packet, so that the neighbours in the lists are left alone (kNever: nothing).
    void arm_no_later(TimerNode& node, Time deadline) {
        if (deadline == kNever) return;
        if (!node.armed() || node.deadline_tick * kTick > deadline.time_since_epoch())
            arm(node, deadline);
    }
    /// Takes up to `limit` expired nodes, disarmed, in order of deadline tick; call again while it
    /// returns limit or the wheel is behind().
    template <class Fn>  // Fn(TimerNode&); may arm and cancel any node
    std::size_t advance(Time now, std::size_t limit, Fn&& expired) {
        std::size_t n = 0;
        std::size_t moves = kMovesPerCall;
        while (n < limit) {
            TimerNode* node = pop_expired(now, moves);
            if (node == nullptr) break;
            expired(*node);
            ++n;
        }
        return n;
    }
    /// No node expires before this time; kNever when none is armed. May be earlier than the first
    /// deadline.
    Time next_deadline() const;
    std::size_t armed() const { return armed_; }
    /// A slot of an upper level is being spread: the last advance() may have left expired nodes.
    bool behind() const { return spreading_.next != &spreading_; }
    /// Nodes that one advance() moves between levels: a million timers armed together with the same
    /// interval must not make one turn long.
    static constexpr std::size_t kMovesPerCall = 512;

 private:
    static constexpr unsigned kLevels = 8;  // 2^48 ms: more than Time can hold
    static constexpr unsigned kBits = 6;    // 64 slots a level
    static constexpr unsigned kSlots = 1u << kBits;
    struct Place {
        unsigned level = 0;
        unsigned slot = 0;
    };
    struct Event {
        Place place;
        std::int64_t tick = -1;  // when the slot begins; -1: nothing is armed
    };
    TimerNode* pop_expired(Time now, std::size_t& moves);
    void link(TimerNode& node);
    Place place_of(std::int64_t tick) const;
    Event next_event() const;
    void enter(const Event& event);
    void spread(std::size_t& moves);
    std::array<std::array<TimerNode, kSlots>, kLevels> slots_;  // list heads
    std::array<std::uint64_t, kLevels> occupied_{};             // bit per slot
    TimerNode due_;                                             // expired, not yet taken
    TimerNode spreading_;  // of the upper slot that now_tick_ has reached, not yet moved down
    std::int64_t now_tick_ = 0;
    std::size_t armed_ = 0;
};

}  // namespace signalbox
