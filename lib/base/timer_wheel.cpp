// SPDX-License-Identifier: Apache-2.0
// A node lies at the level of the highest bit in which its deadline differs from now_tick_, in the
// slot that its deadline has there. So everything at one level is earlier than everything above it,
// no level wraps, and the next event is the first slot of the lowest level that is in use:
//
//   deadline   ... | 6 bits: slot of level 2 | 6 bits: slot of level 1 | 12 bits: slot of level 0 |
//
// Reaching a slot of level 0 makes its nodes due; reaching one above spreads its nodes over the
// levels below, a bounded number in each call, and time stands still until all are spread. A node's
// level only changes then, which is why cancel() can find it again from its deadline; of a node
// that waits to be spread it finds the slot where it would go, and that slot's state is true.
#include "base/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

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
    for (TimerNode& head : low_) head.next = head.prev = &head;
    for (auto& level : high_)
        for (TimerNode& head : level) head.next = head.prev = &head;
    due_.next = due_.prev = &due_;
    spreading_.next = spreading_.prev = &spreading_;
}

TimerWheel::Place TimerWheel::place_of(std::int64_t tick) const {
    const auto differs = static_cast<std::uint64_t>(tick ^ now_tick_);
    const auto width = static_cast<unsigned>(std::bit_width(differs));
    const unsigned level = width <= kLowBits ? 0 : 1 + (width - kLowBits - 1) / kBits;
    return {level, static_cast<unsigned>(tick >> shift(level)) % slots(level)};
}

void TimerWheel::occupied(Place at, bool on) {
    const std::uint64_t bit = std::uint64_t{1} << at.slot % 64;
    std::uint64_t& w = word(at);
    w = on ? w | bit : w & ~bit;
    if (at.level != 0) return;
    const std::uint64_t of_word = std::uint64_t{1} << at.slot / 64;
    low_words_ = w != 0 ? low_words_ | of_word : low_words_ & ~of_word;
}

TimerWheel::Event TimerWheel::next_event() const {
    const auto begins = [this](unsigned level, unsigned slot) {
        const unsigned above = shift(level + 1);
        const std::int64_t base = now_tick_ >> above << above;
        return Event{{level, slot}, base | static_cast<std::int64_t>(slot) << shift(level)};
    };
    if (low_words_ != 0) {
        const auto at = static_cast<unsigned>(std::countr_zero(low_words_));
        return begins(0, at * 64 + static_cast<unsigned>(std::countr_zero(low_occupied_[at])));
    }
    for (unsigned level = 1; level < kLevels; ++level)
        if (const std::uint64_t word = high_occupied_[level - 1]; word != 0)
            return begins(level, static_cast<unsigned>(std::countr_zero(word)));
    return {{}, -1};
}

void TimerWheel::link(TimerNode& node) {
    if (node.deadline_tick <= now_tick_) return append(due_, node);
    const Place p = place_of(node.deadline_tick);
    append(head(p), node);
    occupied(p, true);
}

void TimerWheel::arm(TimerNode& node, Time deadline) {
    remove(node);
    if (deadline == kNever) return;
    // What is late already is due now, behind what became due before it.
    node.deadline_tick = std::max(tick_at_or_after(deadline), now_tick_);
    link(node);
    ++armed_;
}

void TimerWheel::remove(TimerNode& node) {
    if (!node.linked()) return;
    cancel(node);
    node.cancelled = false;
    unlink(node);
    if (node.deadline_tick <= now_tick_) return;  // it was due
    const Place p = place_of(node.deadline_tick);
    if (empty(head(p))) occupied(p, false);
}

void TimerWheel::enter(const Event& event) {
    now_tick_ = event.tick;
    occupied(event.place, false);
    splice(event.place.level == 0 ? due_ : spreading_, head(event.place));
}

void TimerWheel::spread(std::size_t& moves) {
    for (; moves > 0 && spreading(); --moves) {
        TimerNode& node = *spreading_.next;
        unlink(node);
        if (!std::exchange(node.cancelled, false)) link(node);
    }
}

TimerNode* TimerWheel::pop_expired(Time now, std::size_t& moves) {
    const std::int64_t target = tick_at_or_before(now);
    for (;;) {
        if (now_tick_ > target) return nullptr;  // the caller's time went back: not yet
        if (!empty(due_)) {
            TimerNode& node = *due_.next;
            if (node.cancelled && moves == 0) return nullptr;
            unlink(node);
            if (std::exchange(node.cancelled, false)) {
                --moves;
                continue;
            }
            --armed_;
            return &node;
        }
        if (spreading()) {
            spread(moves);
            if (spreading()) return nullptr;
            continue;
        }
        const Event event = next_event();
        if (event.tick < 0 || event.tick > target) {
            now_tick_ = target;
            return nullptr;
        }
        enter(event);
    }
}

Time TimerWheel::next_deadline() const {
    if (armed_ == 0) return kNever;
    const std::int64_t tick = behind() ? now_tick_ : next_event().tick;
    if (tick > kNever.time_since_epoch() / kTick) return kNever;
    return Time{tick * kTick};
}

}  // namespace signalbox
