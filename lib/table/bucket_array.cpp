// SPDX-License-Identifier: Apache-2.0
#include "table/bucket_array.h"

#include <algorithm>
#include <new>

namespace signalbox::table {
namespace {

// Half as many again: at ten entries for each home bucket, 42 % of the homes need one more. And 16,
// since chance is greater among few homes.
constexpr std::size_t pool_for(std::size_t homes) {
    return homes / 2 + 16;
}

template <class Word>
void set_lane(std::atomic<Word>& word, unsigned lane, std::uint16_t tag) {
    const auto mask = static_cast<Word>(Word{0xffff} << (16 * lane));
    const auto rest = static_cast<Word>(word.load(std::memory_order_relaxed) & ~mask);
    word.store(static_cast<Word>(rest | Word{tag} << (16 * lane)), std::memory_order_relaxed);
}

}  // namespace

void Bucket::set_tag(unsigned slot, std::uint16_t tag) {
    if (slot < 8)
        set_lane(tags[slot / 4], slot % 4, tag);
    else
        set_lane(tags_tail, slot - 8, tag);
}

bool Bucket::empty() const {
    return std::all_of(lines.begin(), lines.end(),
                       [](const auto& line) { return line.load(std::memory_order_relaxed) == 0; });
}

std::unique_ptr<BucketArray> BucketArray::make(std::size_t homes, std::uint64_t salt) {
    std::unique_ptr<BucketArray> array(new (std::nothrow) BucketArray(homes, salt));
    if (array == nullptr || array->buckets_ == nullptr || array->free_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < array->pool_; ++i)
        array->free_[i] = static_cast<std::uint32_t>(homes + array->pool_ - 1 - i);
    return array;
}

BucketArray::BucketArray(std::size_t homes, std::uint64_t salt)
    : buckets_(new (std::nothrow) Bucket[homes + pool_for(homes)]),
      salt_(salt | 1),
      homes_(homes),
      pool_(pool_for(homes)),
      free_(new (std::nothrow) std::uint32_t[pool_]),
      free_count_(static_cast<std::uint32_t>(pool_)) {}

unsigned BucketArray::max_depth() const {
    for (unsigned depth = kMaxDepth; depth > 1; --depth)
        if (chains(depth) != 0) return depth;
    return 1;
}

void BucketArray::count_chain(unsigned from_depth, unsigned to_depth) {
    const auto add = [this](unsigned depth, std::uint32_t n) {
        auto& cell = chains_[depth];
        cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    };
    if (from_depth > 1) add(from_depth, ~std::uint32_t{0});
    if (to_depth > 1) add(to_depth, 1);
}

bool BucketArray::put(std::uint64_t hash, std::uint32_t line, unsigned max_depth) {
    const auto place = free_place(hash, max_depth);
    if (place.bucket == nullptr) return false;
    place.bucket->set_tag(place.slot, tag_of(hash));
    place.bucket->lines[place.slot].store(line, std::memory_order_release);
    return true;
}

BucketArray::Place BucketArray::free_place(std::uint64_t hash, unsigned max_depth) {
    auto* bucket = &buckets_[home_of(hash)];
    for (unsigned depth = 1;; ++depth) {
        for (unsigned slot = 0; slot < kSlots; ++slot)
            if (bucket->lines[slot].load(std::memory_order_relaxed) == 0) return {bucket, slot};
        const auto next = bucket->next.load(std::memory_order_relaxed);
        if (next == 0) return depth < max_depth ? extend(*bucket, depth) : Place{nullptr, 0};
        bucket = &buckets_[next];
    }
}

BucketArray::Place BucketArray::extend(Bucket& tail, unsigned depth) {
    const auto count = free_count_.load(std::memory_order_relaxed);
    if (count == 0) return {nullptr, 0};
    const auto position = free_[count - 1];
    free_count_.store(count - 1, std::memory_order_relaxed);
    count_chain(depth, depth + 1);
    tail.next.store(position, std::memory_order_release);
    return {&buckets_[position], 0};
}

bool BucketArray::erase(std::uint64_t hash, std::uint32_t line) {
    auto& home = buckets_[home_of(hash)];
    for (auto* bucket = &home;;) {
        for (auto& place : bucket->lines) {
            if (place.load(std::memory_order_relaxed) != line) continue;
            place.store(0, std::memory_order_release);
            drop_empty_tail(home);
            return true;
        }
        const auto next = bucket->next.load(std::memory_order_relaxed);
        if (next == 0) return false;
        bucket = &buckets_[next];
    }
}

// Only the last bucket of a chain goes back to the pool: a reader that stands on it has seen all of
// its own chain, so it loses nothing if the bucket leads it into another chain, and the bound on
// its steps ends its walk.
void BucketArray::drop_empty_tail(Bucket& home) {
    for (;;) {
        auto* before = &home;
        auto position = home.next.load(std::memory_order_relaxed);
        if (position == 0) return;
        unsigned depth = 2;
        for (;; ++depth) {
            const auto next = buckets_[position].next.load(std::memory_order_relaxed);
            if (next == 0) break;
            before = &buckets_[position];
            position = next;
        }
        if (!buckets_[position].empty()) return;
        before->next.store(0, std::memory_order_release);
        count_chain(depth, depth - 1);
        const auto count = free_count_.load(std::memory_order_relaxed);
        free_[count] = position;
        free_count_.store(count + 1, std::memory_order_relaxed);
    }
}

}  // namespace signalbox::table
