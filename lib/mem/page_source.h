// SPDX-License-Identifier: Apache-2.0
// Seam: where pages come from. Never blocks, never waits: no page now means nullptr now.
#pragma once
#include <cstddef>

namespace signalbox::mem {

inline constexpr std::size_t kPageBytes = 4096;

class PageSource {
 public:
    virtual ~PageSource() = default;
    /// A page of kPageBytes, aligned to its size, content undefined; nullptr when none is at hand.
    virtual void* take() noexcept = 0;
    virtual void give(void* page) noexcept = 0;
    /// For what must not fail: also from those that take() leaves alone, where the source keeps
    /// some back.
    virtual void* take_kept() noexcept { return take(); }
};

}  // namespace signalbox::mem
