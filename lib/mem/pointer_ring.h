// SPDX-License-Identifier: Apache-2.0
// Single-producer single-consumer ring of addresses.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace signalbox::mem {

class PointerRing {
 public:
    /// capacity is rounded up to a power of two.
    explicit PointerRing(std::size_t capacity)
        : mask_(std::bit_ceil(capacity < 1 ? 1 : capacity) - 1),
          slots_(std::make_unique<void*[]>(mask_ + 1)) {}

    /// Producer; false when full.
    bool push(void* p) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
        slots_[tail & mask_] = p;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    /// Consumer; nullptr when empty.
    void* pop() {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) return nullptr;
        void* const p = slots_[head & mask_];
        head_.store(head + 1, std::memory_order_release);
        return p;
    }
    /// Either side: exact for what it does itself, a moment old for the other.
    std::size_t size() const {
        const std::uint64_t head = head_.load(std::memory_order_acquire);
        return tail_.load(std::memory_order_acquire) - head;
    }
    std::size_t capacity() const { return mask_ + 1; }

 private:
    std::size_t mask_;
    std::unique_ptr<void*[]> slots_;
    alignas(64) std::atomic<std::uint64_t> head_{0};  // consumer: rw, producer: ro
    alignas(64) std::atomic<std::uint64_t> tail_{0};  // producer: rw, consumer: ro
};

}  // namespace signalbox::mem
