// SPDX-License-Identifier: Apache-2.0
// A record: | size (4, of the payload; kSkip: go on at the start of the ring) | unused (4) |
// payload, padded to 8 | Positions count bytes and never wrap; their low bits are the place in the
// ring.
#include "base/byte_ring.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace signalbox {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint32_t kSkip = 0xffffffff;
constexpr std::size_t kMinCapacityBytes = 4096;
constexpr std::size_t kMaxCapacityBytes = std::size_t{1}
                                          << 31;  // sizes fit in 32 bits, below kSkip

constexpr std::size_t record_bytes(std::size_t payload) {
    return kHeaderBytes + ((payload + 7) & ~std::size_t{7});
}
void write_size(std::uint8_t* at, std::uint32_t size) {
    std::memcpy(at, &size, sizeof size);
}
std::uint32_t read_size(const std::uint8_t* at) {
    std::uint32_t size = 0;
    std::memcpy(&size, at, sizeof size);
    return size;
}

}  // namespace

ByteRing::ByteRing(std::size_t capacity_bytes)
    : capacity_(std::bit_ceil(std::clamp(capacity_bytes, kMinCapacityBytes, kMaxCapacityBytes))),
      bytes_(std::make_unique<std::uint8_t[]>(capacity_)) {
    assert(capacity_ == capacity_bytes);
}

bool ByteRing::has_room(std::uint64_t tail, std::size_t bytes) {
    if (capacity_ - (tail - tail_.other_seen) >= bytes) return true;
    tail_.other_seen = head_.published.load(std::memory_order_acquire);
    return capacity_ - (tail - tail_.other_seen) >= bytes;
}

std::span<std::uint8_t> ByteRing::reserve(std::size_t bytes) {
    if (bytes == 0 || bytes > capacity_ - kHeaderBytes) return {};
    const std::size_t need = record_bytes(bytes);
    std::uint64_t tail = tail_.published.load(std::memory_order_relaxed);
    const std::size_t place = tail & (capacity_ - 1);
    const std::size_t to_end = capacity_ - place;
    if (need > to_end) {
        // The skip is published at once: the consumer may then free the whole ring, so that even
        // a record of more than half of it is taken in the end.
        if (!has_room(tail, to_end)) return {};
        write_size(bytes_.get() + place, kSkip);
        tail += to_end;
        tail_.published.store(tail, std::memory_order_release);
    }
    if (!has_room(tail, need)) return {};
    reserved_bytes_ = bytes;
    return {bytes_.get() + (tail & (capacity_ - 1)) + kHeaderBytes, bytes};
}

void ByteRing::commit(std::size_t bytes) {
    assert(bytes > 0 && bytes <= reserved_bytes_);
    if (bytes == 0 || bytes > reserved_bytes_) return;
    reserved_bytes_ = 0;
    const std::uint64_t tail = tail_.published.load(std::memory_order_relaxed);
    write_size(bytes_.get() + (tail & (capacity_ - 1)), static_cast<std::uint32_t>(bytes));
    tail_.published.store(tail + record_bytes(bytes), std::memory_order_release);
}

std::span<const std::uint8_t> ByteRing::front() {
    std::uint64_t head = head_.published.load(std::memory_order_relaxed);
    for (;;) {
        if (head == head_.other_seen) {
            head_.other_seen = tail_.published.load(std::memory_order_acquire);
            if (head == head_.other_seen) return {};
        }
        const std::size_t place = head & (capacity_ - 1);
        const std::uint32_t size = read_size(bytes_.get() + place);
        if (size != kSkip) return {bytes_.get() + place + kHeaderBytes, size};
        head += capacity_ - place;
        head_.published.store(head, std::memory_order_release);
    }
}

void ByteRing::pop() {
    const std::uint64_t head = head_.published.load(std::memory_order_relaxed);
    assert(head != head_.other_seen);
    const std::uint32_t size = read_size(bytes_.get() + (head & (capacity_ - 1)));
    assert(size != kSkip);
    head_.published.store(head + record_bytes(size), std::memory_order_release);
}

}  // namespace signalbox
