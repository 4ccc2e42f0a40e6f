// SPDX-License-Identifier: Apache-2.0
// Single-producer single-consumer ring of records of any length: packets and messages that go to
// another worker, management messages to and from the control thread, events. Records are
// contiguous and read in place.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace signalbox {

class ByteRing {
 public:
    /// capacity_bytes: power of two >= 4096. A record takes 8 bytes + its size rounded up to 8.
    explicit ByteRing(std::size_t capacity_bytes);

    // producer
    /// Room for a record of `bytes`, 8-byte aligned; empty when the ring is too full. One
    /// reservation at a time.
    std::span<std::uint8_t> reserve(std::size_t bytes);
    /// Publishes the reserved record, cut to `bytes` (<= reserved).
    void commit(std::size_t bytes);

    // consumer
    /// The oldest record, or an empty span when there is none. (Empty records are not allowed.)
    std::span<const std::uint8_t> front();
    /// Drops the record that front() returned.
    void pop();
    /// Where the producer is now, and whether the consumer has taken all that was written up to
    /// there. (At the end of the ring it needs one more front().)
    std::uint64_t written() const { return tail_.published.load(std::memory_order_acquire); }
    bool taken_up_to(std::uint64_t position) const {
        return head_.published.load(std::memory_order_relaxed) >= position;
    }

 private:
    struct alignas(64) Position {
        std::atomic<std::uint64_t> published{0};  // owner: rw, other side: ro
        std::uint64_t other_seen = 0;             // owner's copy of the other side's position
    };
    std::size_t capacity_;
    std::unique_ptr<std::uint8_t[]> bytes_;
    Position head_;                                        // consumer
    Position tail_;                                        // producer
    bool has_room(std::uint64_t tail, std::size_t bytes);  // producer
    std::size_t reserved_bytes_ = 0;                       // producer: rw
};

}  // namespace signalbox
