// SPDX-License-Identifier: Apache-2.0
// In an executable of its own: it counts every allocation, those of C libraries included, by
// standing in for malloc. The C library's own names for the real functions are glibc's.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "base/byte_ring.h"
#include "base/crc32c.h"
#include "base/hmac.h"
#include "base/random.h"
#include "base/timer_wheel.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);

void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
    ++allocations;
    return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
    ++allocations;
    return __libc_realloc(old, size);
}
}

using namespace signalbox;

namespace {

template <class Fn>
std::uint64_t allocations_of(Fn&& fn) {
    const std::uint64_t before = allocations;
    fn();
    return allocations - before;
}

}  // namespace

TEST_CASE("the count sees an allocation of C and of C++") {
    void* volatile kept = nullptr;  // a compiler may leave out what nobody sees
    CHECK(allocations_of([&] {
              kept = new int[10];
              delete[] static_cast<int*>(kept);
          }) > 0);
    CHECK(allocations_of([&] {
              kept = std::malloc(100);
              std::free(kept);
          }) > 0);
    CHECK(allocations_of([] { HmacKey{{}}; }) > 0);
}

TEST_CASE("MEM-1: a MAC with a prepared key does not allocate, the first one neither") {
    const std::vector<std::uint8_t> message(300, 1);
    HmacKey key{message};
    std::uint8_t all = 0;
    CHECK(allocations_of([&] {
              for (int i = 0; i < 1000; ++i) all |= key.mac(message)[0];
          }) == 0);
    CHECK(all != 0);
}

TEST_CASE("MEM-1: drawing random numbers does not allocate") {
    RandomSource random{1};
    std::uint64_t all = 0;
    CHECK(allocations_of([&] {
              for (int i = 0; i < 10'000; ++i) all |= random.u32() | random.below(17);
          }) == 0);
    CHECK(all != 0);
}

TEST_CASE("MEM-1: checksums, rings and timers do not allocate") {
    std::vector<std::uint8_t> packet(200, 3);
    ByteRing ring{4096};
    TimerWheel wheel{Time{}};
    std::vector<TimerNode> nodes(100);
    CHECK(allocations_of([&] {
              for (int i = 0; i < 1000; ++i) {
                  sctp_checksum_store(packet);
                  if (!ring.reserve(100).empty()) ring.commit(100);
                  if (!ring.front().empty()) ring.pop();
                  wheel.arm(nodes[i % 100], Time{} + std::chrono::milliseconds{i * 7});
                  wheel.advance(Time{} + std::chrono::milliseconds{i}, 10, [](TimerNode&) {});
              }
          }) == 0);
    CHECK(sctp_checksum_ok(packet));
}
