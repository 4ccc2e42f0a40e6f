// SPDX-License-Identifier: Apache-2.0
#include "sigtran/sls_binding.h"

#include <algorithm>

namespace signalbox::sigtran {

SlsBinding::SlsBinding(std::span<const std::uint16_t> weights, unsigned sls_bits)
    : mask_(static_cast<std::uint8_t>((1u << std::clamp(sls_bits, 1u, 8u)) - 1)),
      load_(weights.size(), 0) {
    normal_.fill(kNobody);
    serving_.fill(kNobody);
    for (const std::uint16_t w : weights) weights_.push_back(std::max<std::uint32_t>(w, 1));
    if (weights_.empty()) return;
    // Smooth weighted round robin: equal weights alternate, unequal ones interleave, each member
    // within one of its share.
    std::int64_t total = 0;
    for (const std::uint32_t w : weights_) total += w;
    std::vector<std::int64_t> credit(weights_.size(), 0);
    for (unsigned sls = 0; sls <= mask_; ++sls) {
        for (std::size_t i = 0; i < credit.size(); ++i) credit[i] += weights_[i];
        const auto best = std::max_element(credit.begin(), credit.end());
        *best -= total;
        normal_[sls] = static_cast<std::uint16_t>(best - credit.begin());
    }
}

std::size_t SlsBinding::least_loaded(std::span<const std::uint8_t> active) const {
    std::size_t best = active.size();
    for (std::size_t i = 0; i < active.size(); ++i) {
        if (active[i] == 0) continue;
        if (best == active.size() || std::uint64_t{load_[i] + 1} * weights_[best] <
                                         std::uint64_t{load_[best] + 1} * weights_[i])
            best = i;
    }
    return best;
}

bool SlsBinding::over_its_share(std::size_t member, std::uint64_t active_weight) const {
    const std::uint64_t all = mask_ + 1u;
    const std::uint64_t share = (all * weights_[member] + active_weight - 1) / active_weight;
    return load_[member] >= share;
}

void SlsBinding::rebind(std::span<const std::uint8_t> active) {
    std::uint64_t active_weight = 0;
    for (std::size_t i = 0; i < active.size(); ++i)
        if (active[i] != 0) active_weight += weights_[i];
    const auto before = serving_;
    serving_.fill(kNobody);
    if (active_weight == 0) return;

    std::fill(load_.begin(), load_.end(), 0);
    const auto bind = [this](unsigned sls, std::size_t member) {
        serving_[sls] = static_cast<std::uint16_t>(member);
        ++load_[member];
    };
    for (unsigned sls = 0; sls <= mask_; ++sls)
        if (active[normal_[sls]] != 0) bind(sls, normal_[sls]);
    // An alternate keeps what it has unless an ASP that came back should have it.
    for (unsigned sls = 0; sls <= mask_; ++sls) {
        const std::uint16_t old = before[sls];
        if (serving_[sls] == kNobody && old != kNobody && active[old] != 0 &&
            !over_its_share(old, active_weight))
            bind(sls, old);
    }
    for (unsigned sls = 0; sls <= mask_; ++sls)
        if (serving_[sls] == kNobody) bind(sls, least_loaded(active));
}

}  // namespace signalbox::sigtran
