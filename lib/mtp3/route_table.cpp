// SPDX-License-Identifier: Apache-2.0
#include "mtp3/route_table.h"

#include <algorithm>
#include <tuple>

namespace signalbox::mtp3 {

namespace {

constexpr std::uint32_t without_low_bits(std::uint32_t value, unsigned bits) {
    return bits >= 32 ? 0 : value >> bits << bits;
}

bool is_own(const Instance& instance, PointCode pc) {
    return pc == instance.point_code || std::find(instance.aliases.begin(), instance.aliases.end(),
                                                  pc) != instance.aliases.end();
}

bool in_range(const Instance& instance, PointCode pc) {
    return pc.value >> instance.point_code_bits == 0;
}

auto sort_key(const Route& r) {
    return std::tuple{r.instance, r.mask_bits, r.dpc.value};
}

}  // namespace

RouteTable::RouteTable(std::vector<Instance> instances, std::vector<Route> routes)
    : instances_(std::move(instances)), routes_(std::move(routes)), sorted_(routes_) {
    const auto nowhere = [this](const Route& r) { return r.instance >= instances_.size(); };
    sorted_.erase(std::remove_if(sorted_.begin(), sorted_.end(), nowhere), sorted_.end());
    for (Route& r : sorted_) r.dpc.value = without_low_bits(r.dpc.value, r.mask_bits);
    // Stable: of two routes with the same key the first configured one serves.
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Route& a, const Route& b) { return sort_key(a) < sort_key(b); });
    first_run_.assign(instances_.size() + 1, 0);
    std::uint32_t at = 0;
    for (std::size_t instance = 0; instance < instances_.size(); ++instance) {
        first_run_[instance] = static_cast<std::uint32_t>(runs_.size());
        while (at < sorted_.size() && sorted_[at].instance == instance) {
            Run run{sorted_[at].mask_bits, at, at};
            while (run.end < sorted_.size() && sorted_[run.end].instance == instance &&
                   sorted_[run.end].mask_bits == run.mask_bits)
                ++run.end;
            at = run.end;
            runs_.push_back(run);
        }
    }
    first_run_.back() = static_cast<std::uint32_t>(runs_.size());
}

AsIndex RouteTable::find(std::uint16_t instance, PointCode dpc) const {
    for (std::uint32_t i = first_run_[instance]; i < first_run_[instance + 1u]; ++i) {
        const Run& run = runs_[i];
        const std::uint32_t wanted = without_low_bits(dpc.value, run.mask_bits);
        const auto end = sorted_.begin() + run.end;
        const auto found =
            std::lower_bound(sorted_.begin() + run.begin, end, wanted,
                             [](const Route& r, std::uint32_t pc) { return r.dpc.value < pc; });
        if (found != end && found->dpc.value == wanted) return found->as;
    }
    return kNoAs;
}

Decision RouteTable::route(std::uint16_t instance, const Label& label) const {
    if (instance >= instances_.size()) return {kNoAs, Drop::mtp3_no_route};
    const Instance& here = instances_[instance];
    // Q.704 14.2.2: the network indicator says which numbering the point codes belong to, so it
    // comes first.
    if (label.network_indicator != here.network_indicator)
        return {kNoAs, Drop::mtp3_bad_network_indicator};
    if (!in_range(here, label.opc) || !in_range(here, label.dpc))
        return {kNoAs, Drop::mtp3_bad_point_code};
    if (is_own(here, label.opc))
        return {kNoAs, Drop::mtp3_bad_point_code};  // ours, from outside: forged or a loop
    if (is_own(here, label.dpc)) return {kNoAs, Drop::mtp3_local_user};  // HMDC
    const AsIndex as = find(instance, label.dpc);                        // HMRT
    if (as == kNoAs) return {kNoAs, Drop::mtp3_no_route};
    return {as, std::nullopt};
}

}  // namespace signalbox::mtp3
