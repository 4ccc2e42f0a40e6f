// SPDX-License-Identifier: Apache-2.0
// One worker's pages. The worker takes and gives without a lock and without waiting; the control
// thread refills ahead of need:
//
//            fresh ring                    own list
//   pool  --------------->  worker takes  <-------->  worker gives
//         <---------------   (what its list holds beyond the target)
//           surplus ring
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mem/fault_point.h"
#include "mem/page_pool.h"
#include "mem/page_source.h"
#include "mem/pointer_ring.h"

namespace signalbox::mem {

class PageCache final : public PageSource {
 public:
    /// target_pages: what top_up() fills up to; not many more stay in the worker's hands.
    PageCache(PagePool& pool, std::size_t target_pages);
    /// Both threads have stopped using it; its pages go back to the pool.
    ~PageCache() override;
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    // worker
    void* take() noexcept override;
    void give(void* page) noexcept override;
    void* take_kept() noexcept override;

    /// take() leaves this many pages alone from now on: only take_kept() gets them.
    void keep_back(std::size_t pages) { kept_back_ = pages; }
    /// Pages beyond the target start on their way to the pool, as many as the ring takes. Once a
    /// turn: what came back in one heap shall not stay here for ever.
    void shed() noexcept;
    FaultPoint& faults() noexcept { return faults_; }

    // control thread
    /// Returns how many pages went to the worker.
    std::size_t top_up();

    // either
    /// Pages that the worker could take now.
    std::size_t available() const { return own_.load(std::memory_order_relaxed) + fresh_.size(); }
    /// Pages that the worker gave beyond the target, on their way to the pool.
    std::size_t returning() const { return surplus_.size(); }
    /// How often the worker was told "no". It never goes down.
    std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
    void* pop_own() noexcept;
    void* take_leaving(std::size_t kept_back) noexcept;

    PagePool& pool_;
    const std::size_t target_;
    PointerRing fresh_;                       // control -> worker
    PointerRing surplus_;                     // worker -> control
    std::size_t kept_back_ = 0;               // worker: rw
    FaultPoint faults_;                       // worker: rw
    alignas(64) void* own_first_ = nullptr;   // worker: rw; each page holds the next one's address
    std::atomic<std::size_t> own_{0};         // worker: rw, control: ro
    std::atomic<std::uint64_t> refusals_{0};  // worker: rw, control: ro
};

}  // namespace signalbox::mem
