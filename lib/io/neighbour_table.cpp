// SPDX-License-Identifier: Apache-2.0
#include "io/neighbour_table.h"

#include <bit>
#include <cstring>

namespace signalbox::io {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a ^ 0x9e3779b97f4a7c15u} * (b ^ 0xd1b54a32d192ed03u);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// An entry that nobody used for so long may go when room is needed.
constexpr Duration kIdleMin = std::chrono::seconds{60};
constexpr unsigned kEvictionSteps = 64;  // bounds the search for such an entry

}  // namespace

NeighbourTable::NeighbourTable(std::uint64_t seed, std::size_t entries_max)
    : seed_(seed), entries_(entries_max), buckets_(std::bit_ceil(2 * entries_max), kNone) {
    waiting_.reserve(kUnresolvedMax);
    for (std::size_t i = entries_max; i-- > 0;) {
        entries_[i].next = free_;
        free_ = static_cast<std::uint32_t>(i);
    }
}

std::size_t NeighbourTable::bucket_of(const NeighbourKey& key) const {
    std::uint64_t high = 0, low = 0;
    std::memcpy(&high, key.address.bytes.data(), 8);
    std::memcpy(&low, key.address.bytes.data() + 8, 8);
    return mix(mix(high ^ seed_, low), key.port ^ seed_) & (buckets_.size() - 1);
}

std::uint32_t NeighbourTable::index_of(const NeighbourKey& key) const {
    std::uint32_t i = buckets_[bucket_of(key)];
    while (i != kNone && entries_[i].key != key) i = entries_[i].next;
    return i;
}

NeighbourTable::Resolution NeighbourTable::resolve(const NeighbourKey& key, Packet packet,
                                                   Time now) {
    const std::uint32_t index = index_of(key);
    if (index == kNone) return begin(key, packet, now);
    Entry& entry = entries_[index];
    entry.used = now;
    if (entry.state == State::incomplete) {
        if (entry.queued == kQueuedMax) return {};
        entry.queue[entry.queued++] = packet;
        return {Answer::queued, {}, false};
    }
    // An established path keeps its entry, and is used, until unreachability is proved.
    const bool probe = entry.state == State::reachable && now - entry.confirmed >= kReachable &&
                       waiting_.size() < kUnresolvedMax;
    if (probe) start_waiting(index, State::probing, now);
    return {Answer::known, entry.mac, probe};
}

NeighbourTable::Resolution NeighbourTable::begin(const NeighbourKey& key, Packet packet, Time now) {
    if (waiting_.size() >= kUnresolvedMax) return {};
    Entry* entry = take_free(now);
    if (entry == nullptr) return {};
    const auto index = static_cast<std::uint32_t>(entry - entries_.data());
    const std::size_t bucket = bucket_of(key);
    *entry = Entry{};
    entry->key = key;
    entry->next = buckets_[bucket];
    entry->used = now;
    entry->queue[0] = packet;
    entry->queued = 1;
    buckets_[bucket] = index;
    ++used_;
    start_waiting(index, State::incomplete, now);
    return {Answer::queued, {}, true};
}

NeighbourTable::Released NeighbourTable::learn(const NeighbourKey& key, const MacAddress& mac,
                                               Time now) {
    const std::uint32_t index = index_of(key);
    if (index == kNone) return {};
    Entry& entry = entries_[index];
    const Released released{entry.queue, entry.queued, true};
    entry.queued = 0;
    if (entry.state != State::reachable) stop_waiting(entry);
    entry.state = State::reachable;
    entry.mac = mac;
    entry.confirmed = now;
    return released;
}

std::optional<MacAddress> NeighbourTable::find(const NeighbourKey& key) const {
    const std::uint32_t index = index_of(key);
    if (index == kNone || entries_[index].state == State::incomplete) return std::nullopt;
    return entries_[index].mac;
}

NeighbourTable::Entry* NeighbourTable::take_free(Time now) {
    if (free_ == kNone && !evict(now)) return nullptr;
    Entry& entry = entries_[free_];
    free_ = entry.next;
    return &entry;
}

bool NeighbourTable::evict(Time now) {
    for (unsigned step = 0; step < kEvictionSteps; ++step) {
        const std::uint32_t index = hand_;
        hand_ = (hand_ + 1) % static_cast<std::uint32_t>(entries_.size());
        const Entry& entry = entries_[index];
        if (entry.state != State::reachable || now - entry.used < kIdleMin) continue;
        unlink(index);
        return true;
    }
    return false;
}

void NeighbourTable::unlink(std::uint32_t index) {
    Entry& entry = entries_[index];
    std::uint32_t* link = &buckets_[bucket_of(entry.key)];
    while (*link != index) link = &entries_[*link].next;
    *link = entry.next;
    entry.state = State::free;
    entry.queued = 0;
    entry.next = free_;
    free_ = index;
    --used_;
}

void NeighbourTable::start_waiting(std::uint32_t index, State state, Time now) {
    Entry& entry = entries_[index];
    entry.state = state;
    entry.attempts = 1;
    entry.ask_at = now + kRetry;
    entry.waiting_at = static_cast<std::uint32_t>(waiting_.size());
    waiting_.push_back(index);
}

void NeighbourTable::stop_waiting(Entry& entry) {
    const std::uint32_t last = waiting_.back();
    waiting_[entry.waiting_at] = last;
    entries_[last].waiting_at = entry.waiting_at;
    waiting_.pop_back();
}

}  // namespace signalbox::io
