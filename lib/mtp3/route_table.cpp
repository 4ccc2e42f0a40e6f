// SPDX-License-Identifier: Apache-2.0
#include "mtp3/route_table.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace signalbox::mtp3 {

namespace {

/// Q.704 14.2.1: network management and its tests are between neighbours and never routed.
constexpr std::uint8_t kFirstUserPart = 3;
constexpr std::uint8_t kNetworkIndicators = 4;  // two bits, 14.2.2

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
    return std::tuple{r.instance, r.mask_bits, r.dpc.value, 4 - r.match.fields(), r.priority};
}

constexpr std::uint64_t key_of(std::uint16_t instance, std::uint8_t mask_bits, std::uint32_t dpc) {
    return std::uint64_t{instance} << 40 | std::uint64_t{mask_bits} << 32 | dpc;
}

/// Routes are ours, nobody chooses them against us: a plain multiplication spreads them.
constexpr std::size_t hash(std::uint64_t key) {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 20);
}

}  // namespace

RouteTable::RouteTable(std::vector<Instance> instances, std::vector<Route> routes)
    : instances_(std::move(instances)), routes_(std::move(routes)), masks_(instances_.size()) {
    std::vector<std::pair<Route, std::uint32_t>> sorted;
    for (std::uint32_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i].instance >= instances_.size()) continue;
        sorted.emplace_back(routes_[i], i);
        std::uint32_t& dpc = sorted.back().first.dpc.value;
        dpc = without_low_bits(dpc, routes_[i].mask_bits);
    }
    // Stable: of two routes that are alike the first configured one comes first.
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return sort_key(a.first) < sort_key(b.first);
    });
    places_.resize(std::bit_ceil(2 * sorted.size() + 2));
    for (std::size_t at = 0; at < sorted.size();) {
        const Route& first = sorted[at].first;
        Group group{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at)};
        const std::uint64_t key = key_of(first.instance, first.mask_bits, first.dpc.value);
        for (; at < sorted.size(); ++at, ++group.end) {
            const Route& r = sorted[at].first;
            if (key_of(r.instance, r.mask_bits, r.dpc.value) != key) break;
            entries_.push_back({sorted[at].second, r.as, std::max<std::uint16_t>(r.weight, 1),
                                r.priority, static_cast<std::uint8_t>(r.match.fields())});
        }
        std::size_t place = hash(key) & (places_.size() - 1);
        while (places_[place].group.end != 0) place = (place + 1) & (places_.size() - 1);
        places_[place] = {key, group};
        auto& masks = masks_[first.instance];
        if (masks.empty() || masks.back() != first.mask_bits) masks.push_back(first.mask_bits);
    }
    note_what_leads_on();
}

void RouteTable::note_what_leads_on() {
    constexpr std::uint64_t kNothing = ~std::uint64_t{0};
    std::vector<std::uint64_t> destination;  // by AS: the one that was seen
    for (const Route& r : routes_) {
        if (r.as.value >= destination.size()) {
            destination.resize(r.as.value + std::size_t{1}, kNothing);
            leads_on_.resize(destination.size());
        }
        std::uint64_t& seen = destination[r.as.value];
        const std::uint64_t key = key_of(r.instance, r.mask_bits, r.dpc.value);
        if (r.mask_bits != 0 || (seen != kNothing && seen != key)) leads_on_[r.as.value] = true;
        seen = key;
    }
}

const RouteTable::Group* RouteTable::look_up(std::uint16_t instance, std::uint8_t mask_bits,
                                             std::uint32_t dpc, Trace* trace) const {
    const std::uint64_t key = key_of(instance, mask_bits, without_low_bits(dpc, mask_bits));
    for (std::size_t place = hash(key);; ++place) {
        const Place& p = places_[place & (places_.size() - 1)];
        if (trace != nullptr) ++trace->probes;
        if (p.group.end == 0) return nullptr;
        if (p.key == key) return &p.group;
    }
}

bool RouteTable::matches(const Entry& e, const Instance& here, const Label& label) const {
    const Match& m = routes_[e.route].match;
    if (m.opc && without_low_bits(m.opc->value ^ label.opc.value, m.opc_mask_bits) != 0)
        return false;
    if (m.service_indicators != 0 && (m.service_indicators >> label.service_indicator & 1) == 0)
        return false;
    if (!m.ssns.empty()) {
        if (label.service_indicator != wire::kSiSccp) return false;
        const auto ssn = wire::called_ssn(label.user_data, here.address_form);
        if (!ssn || !std::binary_search(m.ssns.begin(), m.ssns.end(), *ssn)) return false;
    }
    if (m.has_circuits) {
        if (label.service_indicator != wire::kSiIsup) return false;
        const auto circuit = wire::circuit(label.user_data, here.address_form);
        if (!circuit || *circuit < m.first_circuit || *circuit > m.last_circuit) return false;
    }
    return true;
}

std::optional<Drop> RouteTable::judge(const Instance& here, const Label& label) const {
    // Q.704 14.2.2: the network indicator says which numbering the point codes belong to, so it
    // comes first.
    if (label.network_indicator >= kNetworkIndicators) return Drop::mtp3_bad_service_information;
    if (label.network_indicator != here.network_indicator) return Drop::mtp3_bad_network_indicator;
    if (!in_range(here, label.opc) || !in_range(here, label.dpc)) return Drop::mtp3_bad_point_code;
    if (is_own(here, label.opc)) return Drop::mtp3_own_origin;  // from outside: forged or a loop
    if (label.service_indicator < kFirstUserPart) return Drop::mtp3_network_management;
    if (is_own(here, label.dpc)) return Drop::mtp3_local_user;  // HMDC
    return std::nullopt;
}

std::span<const RouteTable::Entry> RouteTable::find(std::uint16_t instance, const Label& label,
                                                    std::optional<Drop>& refused,
                                                    Trace* trace) const {
    refused = Drop::mtp3_no_route;
    if (instance >= instances_.size()) return {};
    const Instance& here = instances_[instance];
    if (const auto bad = judge(here, label)) {
        refused = bad;
        return {};
    }
    for (const std::uint8_t mask_bits : masks_[instance]) {
        const Group* group = look_up(instance, mask_bits, label.dpc.value, trace);
        if (group == nullptr) continue;
        for (std::uint32_t at = group->begin; at < group->end; ++at) {
            if (trace != nullptr) ++trace->entries;
            const Entry& e = entries_[at];
            if (e.fields != 0 && !matches(e, here, label)) continue;
            // All entries with as many fields, from this one on; those that do not match are passed
            // over again.
            Group same{at, at};
            while (same.end < group->end && entries_[same.end].fields == e.fields) ++same.end;
            if (trace != nullptr)
                trace->say("route " + std::to_string(e.route) + ": mask " +
                           std::to_string(mask_bits) + ", " + std::to_string(e.fields) +
                           " further fields");
            refused.reset();
            return {&entries_[same.begin], same.end - same.begin};
        }
    }
    return {};
}

/// Combined sets share by SLS. Each SLS has a normal next hop whatever is available now; when that
/// one is away its SLS values are shared out among the others, and no other value moves.
const RouteTable::Entry& RouteTable::share(std::uint16_t instance, const Label& label,
                                           std::span<const Entry> best, std::uint32_t available,
                                           Trace* trace) const {
    const Instance& here = instances_[instance];
    const unsigned sls = label.sls.value & ((1u << here.sls_bits) - 1);
    const auto pick = [&](std::uint32_t among, unsigned number) -> std::size_t {
        unsigned total = 0;
        for (std::size_t i = 0; i < best.size(); ++i)
            if ((among >> i & 1) != 0) total += best[i].weight;
        unsigned at = number % total;
        std::size_t i = 0;
        for (;; ++i) {
            if ((among >> i & 1) == 0) continue;
            if (at < best[i].weight) return i;
            at -= best[i].weight;
        }
    };
    const std::uint32_t all = (1u << best.size()) - 1;
    std::size_t chosen = pick(all, sls);
    // The values of one that is away step by how many hops there are: dividing spreads them.
    if ((available >> chosen & 1) == 0)
        chosen = pick(available, sls / static_cast<unsigned>(best.size()));
    const Entry& e = best[chosen];
    if (trace != nullptr)
        trace->say("priority " + std::to_string(e.priority) + ", " + std::to_string(best.size()) +
                   " next hops, SLS " + std::to_string(sls) + " -> AS " +
                   std::to_string(e.as.value));
    return e;
}

AsIndex RouteTable::owner(std::uint16_t instance, PointCode pc) const {
    if (instance >= instances_.size()) return kNoAs;
    const Group* group = look_up(instance, 0, pc.value, nullptr);
    if (group == nullptr) return kNoAs;
    const AsIndex as = entries_[group->begin].as;
    for (std::uint32_t at = group->begin; at < group->end; ++at)
        if (entries_[at].as != as) return kNoAs;
    return as;
}

/// One bit to the right within `bits` (ANSI T1.111.4 section 7); what lies above stays.
Sls RouteTable::rotated(Sls sls, unsigned bits) {
    const unsigned mask = (1u << bits) - 1;
    const unsigned low = sls.value & mask;
    const unsigned turned = (low >> 1 | (low & 1) << (bits - 1)) & mask;
    return Sls{static_cast<std::uint8_t>((sls.value & ~mask) | turned)};
}

}  // namespace signalbox::mtp3
