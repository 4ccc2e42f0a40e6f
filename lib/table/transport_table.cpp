// SPDX-License-Identifier: Apache-2.0
#include "table/transport_table.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include "table/shard.h"

namespace signalbox::table {
namespace {

constexpr std::size_t kHomesMin = 8;
constexpr std::size_t kEntriesPerHome = 5;  // aimed at when a size is chosen: half full
// While chains are copied into an array. With so many entries, 18 % of its homes need a second
// bucket; half of the pool, for 25 %, is kept for the copies. So they find room, and the move ends.
constexpr std::size_t kMaxLoadInMove = 8;
constexpr std::size_t kPoolPartForCopies = 2;

}  // namespace

struct TransportTable::Wanted {
    const Key& key;
    const IpAddress& local;
    const VerificationTag* tag;  // null: any

    // 0: another key. The local address decides before the tag does.
    unsigned rank(const Node& node) const {
        if (!same(node.key, key)) return 0;
        if (!same(node.local, local)) return 1;
        return tag == nullptr || node.local_tag == *tag ? kBest : 2;
    }
    static constexpr unsigned kBest = 3;
};

TransportTable::TransportTable(const Settings& settings, const HashKey& key, void* arena,
                               Reclaimer& reclaimer)
    : settings_(settings),
      hash_(key),
      arena_(static_cast<std::uint8_t*>(arena)),
      reclaimer_(reclaimer),
      shard_shift_(
          settings.shards > 1 ? 64 - static_cast<unsigned>(std::countr_zero(settings.shards)) : 0),
      homes_min_(std::max(kHomesMin, settings.initial_entries / settings.shards / kEntriesPerHome)),
      shards_(std::make_unique<Shard[]>(settings.shards)),
      // Salts must not follow from the hash key's own outputs: another domain of the same secret.
      salt_key_{{siphash13(key, 0, 0, 1), siphash13(key, 1, 0, 1)}} {
    assert(std::has_single_bit(settings.shards));
    assert(reinterpret_cast<std::uintptr_t>(arena) % sizeof(Node) == 0);
    for (std::size_t i = 0; i < settings_.shards; ++i) {
        auto& shard = shards_[i];
        shard.array = BucketArray::make(homes_min_, siphash13(salt_key_, salts_drawn_++, 0, 0));
        if (shard.array == nullptr) throw std::bad_alloc{};
        shard.newest = shard.array.get();
        shard.current.store(shard.newest, std::memory_order_release);
    }
}

TransportTable::~TransportTable() = default;

// Three passes over the burst, so that its cache misses overlap: buckets, then nodes, then the
// comparison.
void TransportTable::lookup(std::span<const Key> keys, std::span<const IpAddress> locals,
                            std::span<Node*> out) const {
    assert(keys.size() <= kMaxBurst && locals.size() == keys.size() && out.size() == keys.size());
    std::array<std::uint64_t, kMaxBurst> hashes;
    std::array<const Bucket*, kMaxBurst> buckets;
    hash_.burst(keys, hashes);
    std::uint64_t whole_search =
        0;  // bit i: the home bucket of the newest array is not all there is
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& array = *shard_of(hashes[i]).current.load(std::memory_order_acquire);
        if (array.previous.load(std::memory_order_acquire) != nullptr)
            whole_search |= std::uint64_t{1} << i;
        buckets[i] = &array.home(hashes[i]);
        __builtin_prefetch(buckets[i]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        out[i] = nullptr;
        auto matches = buckets[i]->match(BucketArray::tag_of(hashes[i]));
        if (!matches.none()) {
            const auto slot = matches.take();
            const auto line = buckets[i]->lines[slot].load(std::memory_order_acquire);
            if (line != 0) out[i] = node_at(line);
            __builtin_prefetch(out[i]);
            if (!matches.none()) whole_search |= std::uint64_t{1} << i;
        }
        if (buckets[i]->next.load(std::memory_order_relaxed) != 0)
            whole_search |= std::uint64_t{1} << i;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Wanted wanted{keys[i], locals[i], nullptr};
        const auto rank = out[i] == nullptr ? 0 : wanted.rank(*out[i]);
        if (rank == Wanted::kBest) continue;
        if ((whole_search >> i & 1) != 0)
            out[i] = find(hashes[i], wanted);
        else if (rank == 0)
            out[i] = nullptr;
    }
}

Node* TransportTable::lookup(const Key& key, const IpAddress& local) const {
    return find(hash_(key), {key, local, nullptr});
}

Node* TransportTable::lookup(const Key& key, const IpAddress& local, VerificationTag tag) const {
    return find(hash_(key), {key, local, &tag});
}

Node* TransportTable::find(std::uint64_t hash, const Wanted& wanted) const {
    Node* best = nullptr;
    unsigned best_rank = 0;
    const auto& array = *shard_of(hash).current.load(std::memory_order_acquire);
    const auto* previous = array.previous.load(std::memory_order_acquire);
    find_in(array, hash, wanted, best, best_rank);
    if (best_rank != Wanted::kBest && previous != nullptr)
        find_in(*previous, hash, wanted, best, best_rank);
    return best;
}

void TransportTable::find_in(const BucketArray& array, std::uint64_t hash, Wanted wanted,
                             Node*& best, unsigned& best_rank) const {
    const auto* bucket = &array.home(hash);
    for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
        for (auto matches = bucket->match(BucketArray::tag_of(hash)); !matches.none();) {
            const auto line = bucket->lines[matches.take()].load(std::memory_order_acquire);
            if (line == 0) continue;
            const auto rank = wanted.rank(*node_at(line));
            if (rank <= best_rank) continue;
            best = node_at(line);
            best_rank = rank;
            if (rank == Wanted::kBest) return;
        }
        const auto next = bucket->next.load(std::memory_order_acquire);
        if (next == 0) return;
        bucket = &array.at(next);
    }
}

InsertResult TransportTable::insert(Node& node) {
    node.hash = hash_(node.key);
    auto& shard = shard_of(node.hash);
    const Shard::TryLock lock(shard);
    if (lock.held()) return insert_locked(shard, node);
    shard.busy.fetch_add(1, std::memory_order_relaxed);
    return InsertResult::busy;
}

InsertResult TransportTable::insert_locked(Shard& shard, Node& node) {
    if (is_duplicate(shard, node)) return InsertResult::duplicate;
    if (entries_.fetch_add(1, std::memory_order_relaxed) >= settings_.max_entries ||
        !has_room(shard) || !shard.newest->put(node.hash, line_of(node), kMaxInsertDepth)) {
        entries_.fetch_sub(1, std::memory_order_relaxed);
        return InsertResult::full;
    }
    shard.entries.store(shard.entries.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    return InsertResult::inserted;
}

// An insert must not take the room that a move needs to end: nothing could grow any more then.
bool TransportTable::has_room(const Shard& shard) const {
    if (shard.being_copied == nullptr) return true;
    const auto& array = *shard.newest;
    const auto pool = array.size() - array.homes();
    return shard.entries.load(std::memory_order_relaxed) < kMaxLoadInMove * array.homes() &&
           array.pool_free() > pool / kPoolPartForCopies;
}

bool TransportTable::is_duplicate(const Shard& shard, const Node& node) const {
    const Wanted wanted{node.key, node.local, &node.local_tag};
    Node* best = nullptr;
    unsigned best_rank = 0;
    find_in(*shard.newest, node.hash, wanted, best, best_rank);
    if (best_rank != Wanted::kBest && shard.being_copied != nullptr)
        find_in(*shard.being_copied, node.hash, wanted, best, best_rank);
    return best_rank == Wanted::kBest;
}

bool TransportTable::remove(Node& node) {
    auto& shard = shard_of(node.hash);
    const Shard::TryLock lock(shard);
    if (!lock.held()) {
        shard.busy.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    const auto line = line_of(node);
    bool was_there = shard.newest->erase(node.hash, line);
    if (shard.being_copied != nullptr) was_there |= shard.being_copied->erase(node.hash, line);
    assert(was_there);
    if (was_there) {
        entries_.fetch_sub(1, std::memory_order_relaxed);
        shard.entries.store(shard.entries.load(std::memory_order_relaxed) - 1,
                            std::memory_order_relaxed);
    }
    return true;
}

TransportTable::Statistics::Group TransportTable::describe(const Shard& shard) {
    const auto& array = *shard.array;
    Statistics::Group group;
    group.entries = shard.entries.load(std::memory_order_relaxed);
    group.homes = group.chains[0] = array.homes();
    for (unsigned depth = 2; depth <= kMaxDepth; ++depth) {
        const auto chains = array.chains(depth);
        group.chains[std::min(depth - 1, kDepthAlarm)] += chains;
        group.chains[0] -= chains;
    }
    group.max_depth = array.max_depth();
    group.growths = shard.growths;
    group.shrinks = shard.shrinks;
    group.rekeys = shard.rekeys;
    return group;
}

namespace {

/// A table's statistics are a group's too.
template <class Sum>
void add_group(Sum& sum, const TransportTable::Statistics::Group& one) {
    sum.entries += one.entries;
    sum.homes += one.homes;
    for (std::size_t depth = 0; depth < one.chains.size(); ++depth)
        sum.chains[depth] += one.chains[depth];
    sum.max_depth = std::max(sum.max_depth, one.max_depth);
    sum.growths += one.growths;
    sum.shrinks += one.shrinks;
    sum.rekeys += one.rekeys;
}

}  // namespace

TransportTable::Statistics TransportTable::statistics() const {
    Statistics sum;
    sum.groups.resize(std::min(settings_.shards, kGroups));
    sum.shards_in_group = settings_.shards / sum.groups.size();
    for (std::size_t i = 0; i < settings_.shards; ++i) {
        const auto& shard = shards_[i];
        const auto one = describe(shard);
        add_group(sum, one);
        add_group(sum.groups[i / sum.shards_in_group], one);
        sum.busy += shard.busy.load(std::memory_order_relaxed);
        sum.buckets += shard.array->size();
    }
    sum.resting = resting_;
    sum.growths_refused = growths_refused_;
    return sum;
}

}  // namespace signalbox::table
