// SPDX-License-Identifier: Apache-2.0
// A node lies at the level of the highest bit in which its deadline differs from now_tick_, in the
// slot that its deadline has there. So everything at one level is earlier than everything above it,
// no level wraps, and the next event is the first slot of the lowest level that is in use:
//
//   deadline   ... | 6 bits: slot of level 2 | 6 bits: slot of level 1 | 6 bits: slot of level 0 |
//
// Reaching a slot of level 0 makes its nodes due; reaching one above spreads its nodes over the
// levels below, a bounded number in each call, and time stands still until all are spread. A node's
// level only changes then, which is why cancel() can find it again from its deadline; of a node
// that waits to be spread it finds the slot where it would go, and that slot's state is true.
#include "base/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace signalbox {
namespace {

// Times before the clock's origin count as the origin.
std::int64_t tick_at_or_before(Time t) {
    return std::max<std::int64_t>(0, t.time_since_epoch() / TimerWheel::kTick);
}
std::int64_t tick_at_or_after(Time t) {
    const Duration d = t.time_since_epoch();
    return std::max<std::int64_t>(0, d / TimerWheel::kTick + (d % TimerWheel::kTick > Duration{}));
}

void append(TimerNode& head, TimerNode& node) {
    node.next = &head;
    node.prev = head.prev;
    head.prev->next = &node;
    head.prev = &node;
}
void unlink(TimerNode& node) {
    node.prev->next = node.next;
    node.next->prev = node.prev;
    node.next = nullptr;
    node.prev = nullptr;
}
bool empty(const TimerNode& head) {
    return head.next == &head;
}
/// All of `from` to the end of `to`, in one step.
void splice(TimerNode& to, TimerNode& from) {
    if (empty(from)) return;
    from.next->prev = to.prev;
    to.prev->next = from.next;
    from.prev->next = &to;
    to.prev = from.prev;
    from.next = from.prev = &from;
}

}  // namespace

TimerWheel::TimerWheel(Time start) : now_tick_(tick_at_or_before(start)) {
    for (auto& level : slots_)
        for (TimerNode& head : level) head.next = head.prev = &head;
    due_.next = due_.prev = &due_;
    spreading_.next = spreading_.prev = &spreading_;
}

TimerWheel::Place TimerWheel::place_of(std::int64_t tick) const {
    const auto differs = static_cast<std::uint64_t>(tick ^ now_tick_);
    const unsigned level = (static_cast<unsigned>(std::bit_width(differs)) - 1) / kBits;
    return {level, static_cast<unsigned>(tick >> (level * kBits)) % kSlots};
}

TimerWheel::Event TimerWheel::next_event() const {
    for (unsigned level = 0; level < kLevels; ++level) {
        if (occupied_[level] == 0) continue;
        const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
        const std::int64_t base = now_tick_ >> ((level + 1) * kBits) << kBits;
        return {{level, slot}, (base | slot) << (level * kBits)};
    }
    return {{}, -1};
}

void TimerWheel::link(TimerNode& node) {
    if (node.deadline_tick <= now_tick_) return append(due_, node);
    const Place p = place_of(node.deadline_tick);
    append(slots_[p.level][p.slot], node);
    occupied_[p.level] |= std::uint64_t{1} << p.slot;
}

void TimerWheel::arm(TimerNode& node, Time deadline) {
    cancel(node);
    if (deadline == kNever) return;
    // What is late already is due now, behind what became due before it.
    node.deadline_tick = std::max(tick_at_or_after(deadline), now_tick_);
    link(node);
    ++armed_;
}

void TimerWheel::cancel(TimerNode& node) {
    if (!node.armed()) return;
    unlink(node);
    --armed_;
    if (node.deadline_tick <= now_tick_) return;  // it was due
    const Place p = place_of(node.deadline_tick);
    if (empty(slots_[p.level][p.slot])) occupied_[p.level] &= ~(std::uint64_t{1} << p.slot);
}

void TimerWheel::enter(const Event& event) {
    now_tick_ = event.tick;
    TimerNode& head = slots_[event.place.level][event.place.slot];
    occupied_[event.place.level] &= ~(std::uint64_t{1} << event.place.slot);
    splice(event.place.level == 0 ? due_ : spreading_, head);
}

void TimerWheel::spread(std::size_t& moves) {
    for (; moves > 0 && behind(); --moves) {
        TimerNode& node = *spreading_.next;
        unlink(node);
        link(node);
    }
}

TimerNode* TimerWheel::pop_expired(Time now, std::size_t& moves) {
    const std::int64_t target = tick_at_or_before(now);
    while (empty(due_)) {
        if (behind()) {
            spread(moves);
            if (behind()) return nullptr;
            continue;
        }
        const Event event = next_event();
        if (event.tick < 0 || event.tick > target) {
            now_tick_ = std::max(now_tick_, target);
            return nullptr;
        }
        enter(event);
    }
    if (now_tick_ > target) return nullptr;  // the caller's time went back: not yet
    TimerNode& node = *due_.next;
    unlink(node);
    --armed_;
    return &node;
}

Time TimerWheel::next_deadline() const {
    if (armed_ == 0) return kNever;
    const std::int64_t tick = empty(due_) && !behind() ? next_event().tick : now_tick_;
    if (tick > kNever.time_since_epoch() / kTick) return kNever;
    return Time{tick * kTick};
}

}  // namespace signalbox
