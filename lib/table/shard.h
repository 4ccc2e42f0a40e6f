// SPDX-License-Identifier: Apache-2.0
// One shard of the transport table; only for the table's own sources.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "table/transport_table.h"

namespace signalbox::table {

struct alignas(64) TransportTable::Shard {
    // The line that readers touch. control: rw, readers: ro
    std::atomic<const BucketArray*> current{};

    // Writers' line.
    alignas(64) std::atomic<bool> locked{false};  // workers, control: rw
    std::atomic<std::size_t> entries{0};          // holder of the lock: rw, control: ro
    std::atomic<std::uint64_t> busy{0};           // workers: rw, control: ro
    BucketArray* newest = nullptr;                // control writes under the lock: same as current
    BucketArray* being_copied = nullptr;          // control writes under the lock: newest->previous

    // control: rw
    alignas(64) std::unique_ptr<BucketArray> array;
    std::unique_ptr<BucketArray>
        old_array;  // while it is copied, and until its grace period is over
    std::size_t copied_homes = 0;
    std::uint64_t grace_token = 0;
    bool waits_for_grace = false;
    std::uint64_t growths = 0, shrinks = 0, rekeys = 0;
    bool rekeyed = false;  // at this size already: what is still deep is equal keys

    class TryLock {
     public:
        explicit TryLock(Shard& shard)
            : shard_(shard),
              held_(!shard.locked.load(std::memory_order_relaxed) &&
                    !shard.locked.exchange(true, std::memory_order_acquire)) {}
        ~TryLock() {
            if (held_) shard_.locked.store(false, std::memory_order_release);
        }
        TryLock(const TryLock&) = delete;
        TryLock& operator=(const TryLock&) = delete;
        bool held() const { return held_; }

     private:
        Shard& shard_;
        bool held_;
    };
};

inline Node* TransportTable::node_at(std::uint32_t line) const {
    return reinterpret_cast<Node*>(arena_ + (std::size_t{line} - 1) * sizeof(Node));
}

inline std::uint32_t TransportTable::line_of(const Node& node) const {
    const auto offset = reinterpret_cast<const std::uint8_t*>(&node) - arena_;
    return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / sizeof(Node) + 1);
}

inline TransportTable::Shard& TransportTable::shard_of(std::uint64_t hash) const {
    return shards_[(hash >> shard_shift_) & (settings_.shards - 1)];
}

}  // namespace signalbox::table
