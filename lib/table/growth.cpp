// SPDX-License-Identifier: Apache-2.0
// Growth, shrinking, re-keying and walking: the control thread's part of the transport table. All
// three changes are one thing, a move into another array:
//
//     1. Publish the new array with previous = the old one. Inserts go to the new one, removals to
//        both.
//     2. Copy the old chains, a bounded number in each hold of the lock. Nothing is taken out of
//        the old array, so that a reader who missed a copy still finds the entry there.
//     3. previous = null; free the old array after a grace period.
//
// When the new array cannot take a chain the move rests in step 2, which is slower but correct, and
// tries again. Inserts leave it room (has_room()), and it never gets a smaller pool than the old
// one fills, so that only thousands of equal keys could bring that about.
#include <algorithm>

#include "table/shard.h"
#include "table/transport_table.h"

namespace signalbox::table {
namespace {

constexpr std::size_t kGrowAt = 6;       // entries per home bucket: about 4 % of the homes overflow
constexpr std::size_t kAfterGrowth = 4;  // the fuller, the more of the table stays in the caches
constexpr std::size_t kShrinkBelow =
    1;  // far from what halving leads to (2), so that sizes do not swing
constexpr std::size_t kPoolReserve = 8;  // act when less than 1/8 of the pool is left

}  // namespace

bool TransportTable::maintain() {
    free_retired();
    if (moving_ == nullptr) return start_move();
    if (continue_move(*moving_)) moving_ = nullptr;
    return true;
}

void TransportTable::free_retired() {
    for (std::size_t i = 0; i < settings_.shards; ++i) {
        auto& shard = shards_[i];
        if (!shard.waits_for_grace || !reclaimer_.done(shard.grace_token)) continue;
        shard.old_array.reset();
        shard.waits_for_grace = false;
    }
}

TransportTable::Reason TransportTable::reason_to_move(const Shard& shard) const {
    const auto& array = *shard.array;
    const auto entries = shard.entries.load(std::memory_order_relaxed);
    if (shard.waits_for_grace) return Reason::none;
    if (entries > kGrowAt * array.homes()) return Reason::growth;
    const auto pool = array.size() - array.homes();
    if (array.homes() > homes_min_ && entries < kShrinkBelow * array.homes() &&
        array.pool_used() < pool / kPoolReserve)
        return Reason::shrinking;
    // Deep chains at a moderate load: chosen keys, or many equal ones, which another salt cannot
    // part.
    if (array.pool_free() < pool / kPoolReserve)
        return shard.rekeyed ? Reason::growth : Reason::rekeying;
    return array.max_depth() > kDepthAlarm && !shard.rekeyed ? Reason::rekeying : Reason::none;
}

bool TransportTable::start_move() {
    for (std::size_t i = 0; i < settings_.shards; ++i) {
        auto& shard = shards_[next_shard_];
        next_shard_ = (next_shard_ + 1) % settings_.shards;
        const auto reason = reason_to_move(shard);
        if (reason == Reason::none) continue;
        begin_move(shard, reason);
        return true;
    }
    return false;
}

void TransportTable::begin_move(Shard& shard, Reason reason) {
    const auto entries = shard.entries.load(std::memory_order_relaxed);
    auto homes = shard.array->homes();
    const bool pool_short = shard.array->pool_used() > shard.array->pool_free();
    if (reason == Reason::growth || (reason == Reason::rekeying && pool_short))
        homes = std::max(homes * 3 / 2, entries / kAfterGrowth);
    if (reason == Reason::shrinking) homes = std::max(homes_min_, homes / 2);
    auto fresh = growth_faults_.refuses()
                     ? nullptr
                     : BucketArray::make(homes, siphash13(salt_key_, salts_drawn_, 0, 0));
    if (fresh == nullptr) return void(++growths_refused_);  // a later call tries again
    const Shard::TryLock lock(shard);
    if (!lock.held()) return;  // the next call finds the same reason
    ++salts_drawn_;
    shard.growths += reason == Reason::growth;
    shard.shrinks += reason == Reason::shrinking;
    shard.rekeys += reason == Reason::rekeying;
    shard.rekeyed = reason == Reason::rekeying;
    fresh->previous.store(shard.array.get(), std::memory_order_relaxed);
    shard.old_array = std::move(shard.array);
    shard.array = std::move(fresh);
    shard.newest = shard.array.get();
    shard.being_copied = shard.old_array.get();
    shard.copied_homes = 0;
    shard.current.store(shard.newest, std::memory_order_release);
    moving_ = &shard;
}

// True when the whole shard has been moved.
bool TransportTable::continue_move(Shard& shard) {
    const auto& from = *shard.old_array;
    const auto end = std::min(shard.copied_homes + kBucketsPerCall, from.homes());
    prefetch_nodes(from, shard.copied_homes, end);
    const Shard::TryLock lock(shard);
    if (!lock.held()) return false;
    while (shard.copied_homes < end) {
        if (!copy_chain(from, shard.copied_homes, *shard.array)) return ++resting_, false;
        ++shard.copied_homes;
    }
    if (end < from.homes()) return false;
    shard.being_copied = nullptr;
    shard.array->previous.store(nullptr, std::memory_order_release);
    shard.grace_token = reclaimer_.begin();
    shard.waits_for_grace = true;
    return true;
}

// Before the lock is taken: each node's line holds its hash, and a miss for each would be most of
// the hold.
void TransportTable::prefetch_nodes(const BucketArray& array, std::size_t from,
                                    std::size_t to) const {
    for (auto home = from; home < to; ++home)
        for (const auto& place : array.at(home).lines)
            if (const auto line = place.load(std::memory_order_relaxed); line != 0)
                __builtin_prefetch(node_at(line));
}

bool TransportTable::copy_chain(const BucketArray& from, std::size_t home, BucketArray& to) const {
    const auto for_each_line = [&](auto&& act) {
        for (auto position = home;;) {
            for (const auto& place : from.at(position).lines) {
                const auto line = place.load(std::memory_order_relaxed);
                if (line != 0 && !act(line)) return false;
            }
            position = from.at(position).next.load(std::memory_order_relaxed);
            if (position == 0) return true;
        }
    };
    if (for_each_line([&](auto line) { return to.put(node_at(line)->hash, line); })) return true;
    // All or nothing, so that walk() sees each entry once and the next try begins anew.
    for_each_line([&](auto line) { return to.erase(node_at(line)->hash, line), true; });
    return false;
}

// An entry never changes its place in an array, so going through all buckets in order of memory
// meets each once. Of an array that is being copied only the chains not yet copied count.
const Node* TransportTable::walk_next(WalkPosition& position) const {
    while (position.shard < settings_.shards) {
        const auto& shard = shards_[position.shard];
        const auto* array = position.in_previous ? shard.being_copied : shard.newest;
        if (array != nullptr)
            if (const auto* node = walk_array(shard, *array, position)) return node;
        position.position = 0;
        position.slot = 0;
        if (position.in_previous) ++position.shard;
        position.in_previous = !position.in_previous;
    }
    return nullptr;
}

const Node* TransportTable::walk_array(const Shard& shard, const BucketArray& array,
                                       WalkPosition& position) const {
    for (; position.position < array.size(); ++position.position, position.slot = 0) {
        while (position.slot < kSlots) {
            const auto line =
                array.at(position.position).lines[position.slot++].load(std::memory_order_acquire);
            if (line == 0) continue;
            const auto* node = node_at(line);
            if (!position.in_previous || array.home_of(node->hash) >= shard.copied_homes)
                return node;
        }
    }
    return nullptr;
}

}  // namespace signalbox::table
