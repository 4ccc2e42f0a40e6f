// SPDX-License-Identifier: Apache-2.0
// Immutable MTP3 routing (ITU-T Q.704 HMDC/HMRT): published to workers as a snapshot, rebuilt by
// the control thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/drop.h"
#include "base/numbers.h"

namespace signalbox::mtp3 {

/// Routing label and service information of one message. ITU: 14-bit point codes, 4-bit SLS.
struct Label {
    PointCode opc;
    PointCode dpc;
    std::uint8_t service_indicator = 0;
    std::uint8_t network_indicator = 0;
    std::uint8_t priority = 0;
    Sls sls;
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
};

struct Route {
    std::uint16_t instance = 0;
    PointCode dpc;
    std::uint8_t mask_bits = 0;  // low bits of dpc that are not compared (RFC 4666 3.4.1 mask)
    AsIndex as;
};

struct Decision {
    AsIndex as = kNoAs;
    std::optional<Drop> refused;  // set: the message goes nowhere, for this reason
};

class RouteTable {
 public:
    RouteTable() = default;
    RouteTable(std::vector<Instance> instances, std::vector<Route> routes);
    /// HMDC and HMRT for a message that came from an AS of `instance`. No allocation; O(number of
    /// distinct masks).
    Decision route(std::uint16_t instance, const Label& label) const;
    std::span<const Instance> instances() const { return instances_; }
    std::span<const Route> routes() const { return routes_; }

 private:
    /// Routes of one instance with one mask: a run of sorted_, searched by halves.
    struct Run {
        std::uint8_t mask_bits = 0;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    AsIndex find(std::uint16_t instance, PointCode dpc) const;

    std::vector<Instance> instances_;
    std::vector<Route> routes_;             // as configured
    std::vector<Route> sorted_;             // by instance, mask, point code
    std::vector<Run> runs_;                 // by instance, longest mask (fewest free bits) first
    std::vector<std::uint32_t> first_run_;  // instance -> position in runs_; one more at the end
};

}  // namespace signalbox::mtp3
