// SPDX-License-Identifier: Apache-2.0
// Hierarchical timer wheel with intrusive nodes: arm and cancel are O(1), no allocation. 1 ms
// ticks. Cancelling writes to the node alone: with a million pending its neighbours in the list
// are two cache misses. The node leaves the lists when its time comes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace signalbox {

/// Embed in the owner. Trivially zero-initialised = not armed. Must not move or end while linked():
/// remove() it before that.
struct TimerNode {
    TimerNode* next = nullptr;
    TimerNode* prev = nullptr;
    std::int64_t deadline_tick = 0;
    bool cancelled = false;
    bool linked() const { return next != nullptr; }
    bool armed() const { return linked() && !cancelled; }
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
    /// It will not expire. It stays linked until its time comes or it is armed anew.
    void cancel(TimerNode& node) {
        if (!node.armed()) return;
        node.cancelled = true;
        --armed_;
    }
    /// Cancels, and takes it out of the lists.
    void remove(TimerNode& node);
    /// Arms the node, or moves it if it would expire later than the deadline. Armed earlier it
    /// stays where it is: the owner looks when it expires and arms it anew. For deadlines that move
    /// with each packet, so that the neighbours in the lists are left alone (kNever: nothing).
    void arm_no_later(TimerNode& node, Time deadline) {
        if (deadline == kNever) return;
        if (!node.linked() || node.deadline_tick * kTick > deadline.time_since_epoch())
            return arm(node, deadline);
        if (!node.cancelled) return;
        node.cancelled = false;
        ++armed_;
    }
    /// Takes up to `limit` expired nodes, disarmed, in order of deadline tick; call again while it
    /// returns limit or the wheel is behind().
    /// `soon` hears of the node that comes after the one given to `expired`, as a hint to fetch
    /// its owner meanwhile; it may not come after all.
    template <class Fn, class Hint>  // Fn(TimerNode&); may arm and cancel any node
    std::size_t advance(Time now, std::size_t limit, Fn&& expired, Hint&& soon) {
        std::size_t n = 0;
        std::size_t moves = kMovesPerCall;
        while (n < limit) {
            TimerNode* node = pop_expired(now, moves);
            if (node == nullptr) break;
            if (due_.next != &due_) {
                soon(*due_.next);
                __builtin_prefetch(due_.next->next);
            }
            expired(*node);
            ++n;
        }
        return n;
    }
    template <class Fn>
    std::size_t advance(Time now, std::size_t limit, Fn&& expired) {
        return advance(now, limit, expired, [](const TimerNode&) {});
    }
    /// No node expires before this time; kNever when none is armed. May be earlier than the first
    /// deadline.
    Time next_deadline() const;
    std::size_t armed() const { return armed_; }
    /// The last advance() may have left expired nodes: a slot of an upper level is being spread, or
    /// many expired together.
    bool behind() const { return spreading_.next != &spreading_ || due_.next != &due_; }
    /// Nodes that one advance() moves between levels, or finds cancelled: a million timers armed
    /// together with the same interval must not make one turn long.
    static constexpr std::size_t kMovesPerCall = 512;

 private:
    // Level 0 reaches four seconds at most: delayed SACKs and retransmissions seldom move.
    static constexpr unsigned kLowBits = 12;
    static constexpr unsigned kBits = 6;    // 64 slots a level above
    static constexpr unsigned kLevels = 8;  // 2^52 ms: more than Time can hold
    static constexpr unsigned kLow = 1u << kLowBits;
    static constexpr unsigned kHigh = 1u << kBits;
    static constexpr unsigned shift(unsigned level) {
        return level == 0 ? 0 : kLowBits + (level - 1) * kBits;
    }
    static constexpr unsigned slots(unsigned level) { return level == 0 ? kLow : kHigh; }
    struct Place {
        unsigned level = 0;
        unsigned slot = 0;
    };
    struct Event {
        Place place;
        std::int64_t tick = -1;  // when the slot begins; -1: nothing is armed
    };
    TimerNode& head(Place at) {
        return at.level == 0 ? low_[at.slot] : high_[at.level - 1][at.slot];
    }
    std::uint64_t& word(Place at) {
        return at.level == 0 ? low_occupied_[at.slot / 64] : high_occupied_[at.level - 1];
    }
    void occupied(Place at, bool on);
    TimerNode* pop_expired(Time now, std::size_t& moves);
    bool spreading() const { return spreading_.next != &spreading_; }
    void link(TimerNode& node);
    Place place_of(std::int64_t tick) const;
    Event next_event() const;
    void enter(const Event& event);
    void spread(std::size_t& moves);
    std::array<TimerNode, kLow> low_;  // list heads
    std::array<std::array<TimerNode, kHigh>, kLevels - 1> high_;
    std::uint64_t low_words_ = 0;  // bit per word of low_occupied_ that is not 0
    std::array<std::uint64_t, kLow / 64> low_occupied_{};  // bit per slot
    std::array<std::uint64_t, kLevels - 1> high_occupied_{};
    TimerNode due_;        // expired, not yet taken
    TimerNode spreading_;  // of the upper slot that now_tick_ has reached, not yet moved down
    std::int64_t now_tick_ = 0;
    std::size_t armed_ = 0;
};

}  // namespace signalbox
