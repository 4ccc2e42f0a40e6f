// SPDX-License-Identifier: Apache-2.0
#include "sigtran/management_parameters.h"

#include <algorithm>

#include "base/bytes.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

namespace {

using wire::m3ua::Tag;
using Octets = std::span<const std::uint8_t>;

/// Every store_ function is false when the value has the wrong form.
bool store_number(Octets value, std::optional<std::uint32_t>& to) {
    if (value.size() != 4 || to) return false;
    to = load_be32(value.data());
    return true;
}

bool store_list(Octets value, std::size_t limit, std::optional<std::vector<std::uint32_t>>& to) {
    if (value.empty() || value.size() % 4 != 0 || to) return false;
    const std::size_t count = std::min(value.size() / 4, limit);
    to.emplace();
    for (std::size_t i = 0; i < count; ++i) to->push_back(load_be32(value.data() + 4 * i));
    return true;
}

bool store_contexts(Octets value, std::optional<std::vector<std::uint32_t>>& to) {
    if (value.size() / 4 > kRoutingContextsMax || !store_list(value, kRoutingContextsMax, to))
        return false;
    std::vector<std::uint32_t> once;
    for (const std::uint32_t rc : *to)
        if (std::find(once.begin(), once.end(), rc) == once.end()) once.push_back(rc);
    to = std::move(once);
    return true;
}

bool store_heartbeat(Octets value, std::optional<Octets>& to) {
    if (value.size() > kHeartbeatDataMax || to) return false;
    to = value;
    return true;
}

bool store(const wire::Parameter& p, ManagementParameters& to) {
    switch (static_cast<Tag>(p.type)) {
        case Tag::routing_context:
            return store_contexts(p.value, to.routing_contexts);
        case Tag::traffic_mode:
            return store_number(p.value, to.traffic_mode);
        case Tag::asp_identifier:
            return store_number(p.value, to.asp_identifier);
        case Tag::network_appearance:
            return store_number(p.value, to.network_appearance);
        case Tag::error_code:
            return store_number(p.value, to.error_code);
        case Tag::congestion:
            return store_number(p.value, to.congestion);
        case Tag::concerned_destination:
            return store_number(p.value, to.concerned);
        case Tag::affected_point_code:
            return store_list(p.value, kAffectedMax, to.affected);
        case Tag::heartbeat_data:
            return store_heartbeat(p.value, to.heartbeat_data);
        default:
            return true;  // what is not known is ignored
    }
}

}  // namespace

std::optional<ManagementParameters> parse_management_parameters(
    std::span<const std::uint8_t> bytes) {
    ManagementParameters result;
    wire::ParameterWalker walker{bytes};
    for (std::size_t n = 0;; ++n) {
        const auto parameter = walker.next();
        if (!parameter) break;
        if (n == wire::m3ua::kParametersMax || !store(*parameter, result)) return std::nullopt;
    }
    if (walker.malformed()) return std::nullopt;
    return result;
}

}  // namespace signalbox::sigtran
