// SPDX-License-Identifier: Apache-2.0
// Loadsharing (sigtran.md 2.5): every SLS has a normal ASP whatever that ASP's state. While it is
// away an alternate serves; when it returns, its flows return. The loss of one ASP moves only the
// flows that it served.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.h"

namespace signalbox::sigtran {

class SlsBinding {
 public:
    static constexpr std::uint16_t kNobody = 0xffff;

    /// One weight per member (0 counts as 1); `sls_bits` of the SLS decide, 1 to 8.
    SlsBinding(std::span<const std::uint16_t> weights, unsigned sls_bits);

    /// `active[i]` is not 0 when member i takes traffic.
    void rebind(std::span<const std::uint8_t> active);

    /// The member that serves this SLS, or kNobody.
    std::uint16_t serving(Sls sls) const { return serving_[sls.value & mask_]; }
    std::uint16_t normal(Sls sls) const { return normal_[sls.value & mask_]; }

 private:
    std::size_t least_loaded(std::span<const std::uint8_t> active) const;
    bool over_its_share(std::size_t member, std::uint64_t active_weight) const;

    std::uint8_t mask_;
    std::vector<std::uint32_t> weights_;
    std::vector<std::uint32_t> load_;  // SLS served per member, while rebinding
    std::array<std::uint16_t, 256> normal_;
    std::array<std::uint16_t, 256> serving_;
};

}  // namespace signalbox::sigtran
