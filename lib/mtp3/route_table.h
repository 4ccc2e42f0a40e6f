// SPDX-License-Identifier: Apache-2.0
// Immutable MTP3 routing (ITU-T Q.704 HMDC/HMRT): published to workers as a snapshot, rebuilt by
// the control thread.
//
// Order of work: network indicator, point codes in range, own origin, own destination, service
// indicator; then the route: the longest mask that has a matching entry; in it the entries with
// most fields; of them the best priority that is available; of these one by SLS and weight.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/drop.h"
#include "base/numbers.h"
#include "wire/user_part.h"

namespace signalbox::mtp3 {

/// Routing label and service information of one message. ITU: 14-bit point codes, 4-bit SLS.
struct Label {
    PointCode opc;
    PointCode dpc;
    std::uint8_t service_indicator = 0;
    std::uint8_t network_indicator = 0;
    std::uint8_t priority = 0;
    Sls sls;
    std::span<const std::uint8_t> user_data{};  // for routes on SSN or circuit
};

/// "1-1-1" in a format such as "3-8-3" <-> number. nullopt: not in the format or out of range.
std::optional<PointCode> parse_point_code(std::string_view text, std::string_view format);
std::string format_point_code(PointCode pc, std::string_view format);
/// True for a list of 1..3 field widths that sum to at most 24 bits ("3-8-3").
bool is_point_code_format(std::string_view format);

struct Instance {
    std::string name;
    std::string point_code_format = "3-8-3";
    PointCode point_code;
    std::vector<PointCode> aliases;
    std::uint8_t network_indicator = 0;  // 0 international, 1 spare, 2 national, 3 reserved
    std::uint8_t point_code_bits = 14;
    std::uint8_t sls_bits = 4;
    bool rotates_sls = false;  // ANSI T1.111.4: after a choice within a combined set
    wire::AddressForm address_form = wire::AddressForm::itu;
    friend bool operator==(const Instance&, const Instance&) = default;
};

/// What else than the destination must fit; everything absent: any.
struct Match {
    std::optional<PointCode> opc;
    std::uint8_t opc_mask_bits = 0;
    std::uint16_t service_indicators = 0;  // a bit each; 0: any
    std::vector<std::uint8_t> ssns;        // of the called party; sorted
    bool has_circuits = false;
    std::uint16_t first_circuit = 0;
    std::uint16_t last_circuit = 0;

    unsigned fields() const {
        return (opc ? 1u : 0u) + (service_indicators != 0) + !ssns.empty() + has_circuits;
    }
    friend bool operator==(const Match&, const Match&) = default;
};

struct Route {
    std::uint16_t instance = 0;
    PointCode dpc;
    std::uint8_t mask_bits = 0;  // low bits of dpc that are not compared (RFC 4666 3.4.1 mask)
    AsIndex as;
    std::uint8_t priority = 1;  // 1 is taken first
    std::uint16_t weight = 1;
    Match match{};
    friend bool operator==(const Route&, const Route&) = default;
};

/// How a next hop takes messages now. Queueing: it recovers, and they wait.
enum class Reach : std::uint8_t { none, queueing, available };

struct Decision {
    AsIndex as = kNoAs;
    std::optional<Drop> refused{};  // set: the message goes nowhere, for this reason
    bool rotate_sls = false;        // a combined set was used, and the variant rotates
    std::uint32_t route = 0;        // which of routes(); when not refused
};

/// Counts what a look-up did; for tests and `route explain`.
struct Trace {
    std::uint32_t probes = 0;   // places of the hash that were looked at
    std::uint32_t entries = 0;  // routes that were compared
    std::vector<std::string>* steps = nullptr;
    void say(std::string text) const {
        if (steps != nullptr) steps->push_back(std::move(text));
    }
};

class RouteTable {
 public:
    RouteTable() = default;
    RouteTable(std::vector<Instance> instances, std::vector<Route> routes);

    /// HMDC and HMRT for a message that came from an AS of `instance`. No allocation; O(number of
    /// distinct masks), whatever the number of routes. `reach_of(AsIndex)` gives a Reach.
    template <class ReachOf>
    Decision route(std::uint16_t instance, const Label& label, const ReachOf& reach_of,
                   Trace* trace = nullptr) const {
        Decision decision;
        const std::span<const Entry> group = find(instance, label, decision.refused, trace);
        if (!group.empty()) choose(instance, label, group, reach_of, decision, trace);
        return decision;
    }
    Decision route(std::uint16_t instance, const Label& label) const {
        return route(instance, label, [](AsIndex) { return Reach::available; });
    }
    /// The AS to which exactly this point code belongs; kNoAs: none, or several.
    AsIndex owner(std::uint16_t instance, PointCode pc) const;
    /// What `pc` sent would come back to it: the AS is that point code and nothing behind it.
    /// Behind one that has several, a mated STP perhaps, one point code may well send to another.
    bool comes_back(std::uint16_t instance, PointCode opc, PointCode dpc, AsIndex to) const {
        return owner(instance, opc) == to && (opc == dpc || !leads_on_[to.value]);
    }
    static Sls rotated(Sls sls, unsigned bits);

    std::span<const Instance> instances() const { return instances_; }
    std::span<const Route> routes() const { return routes_; }

 private:
    static constexpr std::size_t kCombinedMax = 16;  // next hops that share by SLS

    /// A routes_ position and what a comparison needs at hand.
    struct Entry {
        std::uint32_t route = 0;
        AsIndex as;
        std::uint16_t weight = 1;
        std::uint8_t priority = 1;
        std::uint8_t fields = 0;
    };
    /// Entries with one (instance, mask, destination): most fields first, then by priority.
    struct Group {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    struct Place {  // of the hash; empty: no entries
        std::uint64_t key = 0;
        Group group;
    };
    void note_what_leads_on();
    std::optional<Drop> judge(const Instance& here, const Label& label) const;
    /// Entries of one number of fields, the first of which matches; empty: `refused` says why.
    std::span<const Entry> find(std::uint16_t instance, const Label& label,
                                std::optional<Drop>& refused, Trace* trace) const;
    const Group* look_up(std::uint16_t instance, std::uint8_t mask_bits, std::uint32_t dpc,
                         Trace* trace) const;
    bool matches(const Entry& e, const Instance& here, const Label& label) const;
    template <class ReachOf>
    void choose(std::uint16_t instance, const Label& label, std::span<const Entry> all,
                const ReachOf& reach_of, Decision& decision, Trace* trace) const;
    const Entry& share(std::uint16_t instance, const Label& label, std::span<const Entry> best,
                       std::uint32_t available, Trace* trace) const;

    std::vector<Instance> instances_;
    std::vector<Route> routes_;  // as configured
    std::vector<Entry> entries_;
    std::vector<bool> leads_on_;                    // by AS: it has more than one destination
    std::vector<Place> places_;                     // power of two, at most half full
    std::vector<std::vector<std::uint8_t>> masks_;  // by instance, longest mask first
};

template <class ReachOf>
void RouteTable::choose(std::uint16_t instance, const Label& label, std::span<const Entry> all,
                        const ReachOf& reach_of, Decision& decision, Trace* trace) const {
    const Instance& here = instances_[instance];
    const Entry* queueing = nullptr;
    const Entry* first = nullptr;
    for (std::size_t at = 0; at < all.size();) {
        std::array<Entry, kCombinedMax> best;
        std::size_t count = 0;
        std::uint32_t available = 0;
        const std::uint8_t priority = all[at].priority;
        for (; at < all.size() && all[at].priority == priority; ++at) {
            const Entry& e = all[at];
            if (count == kCombinedMax || (e.fields != 0 && !matches(e, here, label))) continue;
            if (first == nullptr) first = &e;
            const Reach reach = reach_of(e.as);
            if (reach == Reach::queueing && queueing == nullptr) queueing = &e;
            if (reach == Reach::available) available |= 1u << count;
            best[count++] = e;
        }
        if (available == 0) continue;
        const Entry& shared = share(instance, label, {best.data(), count}, available, trace);
        decision.as = shared.as;
        decision.route = shared.route;
        decision.rotate_sls = here.rotates_sls && count > 1;
        return;
    }
    const Entry* const chosen = queueing != nullptr ? queueing : first;
    if (trace != nullptr)
        trace->say(queueing != nullptr ? "no next hop is available, one recovers: its queue"
                                       : "no next hop is available");
    decision.as = chosen->as;
    decision.route = chosen->route;
}

}  // namespace signalbox::mtp3
