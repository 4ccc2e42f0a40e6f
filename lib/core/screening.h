// SPDX-License-Identifier: Apache-2.0
// Ingress screening: an ordered list of rules over sender and label; the first that fits decides.
// Compiled from Settings once, read by workers without allocation.
#pragma once
#include <cstdint>
#include <vector>

#include "core/settings.h"

namespace signalbox::core {

class Screening {
 public:
    explicit Screening(const Settings& settings);

    bool allows(PeerIndex from, std::uint16_t instance, const mtp3::Label& label) const {
        return (nothing_ && otherwise_) || judge(from, instance, label);
    }

 private:
    bool judge(PeerIndex from, std::uint16_t instance, const mtp3::Label& label) const;
    bool fits(const ScreeningRule& rule, std::uint16_t instance, const mtp3::Label& label) const;

    const Settings& settings_;
    std::vector<std::uint16_t> for_all_;  // rules without a sender
    std::vector<std::vector<std::uint16_t>>
        for_peer_;  // all rules that concern this peer, in order
    bool nothing_;
    bool otherwise_;
};

}  // namespace signalbox::core
