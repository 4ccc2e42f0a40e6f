// SPDX-License-Identifier: Apache-2.0
#include "core/screening.h"

#include <algorithm>

namespace signalbox::core {

namespace {

bool differs(PointCode a, PointCode b, unsigned mask_bits) {
    return (a.value ^ b.value) >> mask_bits != 0;
}

}  // namespace

Screening::Screening(const Settings& settings)
    : settings_(settings),
      nothing_(settings.screening.empty()),
      otherwise_(settings.screening_allows) {
    if (nothing_) return;
    for_peer_.resize(settings.peers.size());
    std::vector<bool> named(settings.peers.size());
    for (const ScreeningRule& rule : settings.screening)
        for (const PeerIndex peer : rule.peers) named[peer.value] = true;
    for (std::uint16_t i = 0; i < settings.screening.size(); ++i) {
        const ScreeningRule& rule = settings.screening[i];
        if (rule.peers.empty()) for_all_.push_back(i);
        for (std::size_t p = 0; p < named.size(); ++p) {
            const PeerIndex peer{static_cast<std::uint32_t>(p)};
            const auto& peers = rule.peers;
            if (named[p] &&
                (peers.empty() || std::find(peers.begin(), peers.end(), peer) != peers.end()))
                for_peer_[p].push_back(i);
        }
    }
}

bool Screening::fits(const ScreeningRule& rule, std::uint16_t instance,
                     const mtp3::Label& label) const {
    if (rule.instance && *rule.instance != instance) return false;
    if (rule.opc && differs(*rule.opc, label.opc, rule.opc_mask_bits)) return false;
    if (rule.dpc && differs(*rule.dpc, label.dpc, rule.dpc_mask_bits)) return false;
    if (rule.service_indicators != 0 &&
        (rule.service_indicators >> label.service_indicator & 1) == 0)
        return false;
    if (rule.network_indicators != 0 &&
        (label.network_indicator > 3 ||
         (rule.network_indicators >> label.network_indicator & 1) == 0))
        return false;
    if (rule.ssns.empty()) return true;
    if (label.service_indicator != wire::kSiSccp) return false;
    const auto ssn = wire::called_ssn(label.user_data, settings_.instances[instance].address_form);
    return ssn && std::binary_search(rule.ssns.begin(), rule.ssns.end(), *ssn);
}

bool Screening::judge(PeerIndex from, std::uint16_t instance, const mtp3::Label& label) const {
    const bool has_own = from.value < for_peer_.size() && !for_peer_[from.value].empty();
    for (const std::uint16_t i : has_own ? for_peer_[from.value] : for_all_)
        if (fits(settings_.screening[i], instance, label)) return settings_.screening[i].allow;
    return otherwise_;
}

}  // namespace signalbox::core
