// SPDX-License-Identifier: Apache-2.0
// Routing keys of application servers, routes, screening: everything that names point codes.
#include <algorithm>
#include <charconv>
#include <tuple>

#include "config/loader.h"

namespace signalbox::config {
namespace {

constexpr std::uint16_t kMaxCircuit = 0x3fff;  // ANSI; ITU has 12 bits
constexpr std::string_view kDefaultRoute = "default";

Place place_of(const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    return found != nullptr ? found->place : node.place;
}

std::uint16_t bits_of(const Node& item, std::string_view key) {
    std::uint16_t bits = 0;
    for (const Node& one : item.children_of(key))
        if (one.good) bits = static_cast<std::uint16_t>(bits | 1u << one.number);
    return bits;
}

std::vector<std::uint8_t> sorted_of(const Node& item, std::string_view key) {
    std::vector<std::uint8_t> values;
    for (const Node& one : item.children_of(key))
        if (one.good) values.push_back(static_cast<std::uint8_t>(one.number));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

/// "7" or "1-31".
std::optional<std::pair<std::uint16_t, std::uint16_t>> circuits_of(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto number = [](std::string_view part) -> std::optional<std::uint16_t> {
        std::uint16_t value = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc{} || end != part.data() + part.size() || value > kMaxCircuit)
            return std::nullopt;
        return value;
    };
    const auto first = number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    return std::pair{*first, *last};
}

}  // namespace

std::optional<PointCode> Loader::point_code(const Node& item, std::string_view key,
                                            const mtp3::Instance& in) {
    const Node* node = item.find(key);
    if (node == nullptr || !mtp3::is_point_code_format(in.point_code_format)) return std::nullopt;
    const auto code = mtp3::parse_point_code(node->text, in.point_code_format);
    if (!code)
        errors_.add(node->place, std::string(key) + ": '" + node->text +
                                     "' is not a point code of format " + in.point_code_format);
    return code;
}

std::uint8_t Loader::mask_of(const Node& item, std::string_view key, const mtp3::Instance& in) {
    const std::int64_t mask = item.number_of(key);
    if (mask > in.point_code_bits)
        errors_.add(place_of(item, key), std::string(key) + ": a point code of instance '" +
                                             in.name + "' has " +
                                             std::to_string(in.point_code_bits) + " bits");
    return static_cast<std::uint8_t>(mask);
}

void Loader::load_match(const Node& item, const mtp3::Instance& in, sigtran::DestinationKey& key) {
    key.fields.opc = point_code(item, "opc", in);
    key.fields.opc_mask_bits = mask_of(item, "opc_mask", in);
    key.fields.service_indicators = bits_of(item, "si");
    key.fields.ssns = sorted_of(item, "ssn");
    const Node* cic = item.find("cic");
    if (cic == nullptr) return;
    const auto circuits = circuits_of(cic->text);
    if (!circuits)
        return errors_.add(cic->place, "cic: '" + cic->text + "' is not a range such as 1-31");
    key.fields.has_circuits = true;
    std::tie(key.fields.first_circuit, key.fields.last_circuit) = *circuits;
}

std::optional<sigtran::DestinationKey> Loader::load_key(const Node& item,
                                                        const mtp3::Instance& in) {
    const auto code = point_code(item, "dpc", in);
    if (!code) return std::nullopt;
    sigtran::DestinationKey key;
    key.dpc = *code;
    key.mask_bits = mask_of(item, "mask", in);
    load_match(item, in, key);
    return key;
}

void Loader::load_keys(const Node& node, sigtran::AsSettings& server) {
    const mtp3::Instance& instance = out_.core.instances[server.instance];
    for (const Node& item : node.children_of("keys")) {
        if (!item.good) continue;
        const auto key = load_key(item, instance);
        if (!key) continue;
        const std::uint32_t compared = key->dpc.value & ~std::uint32_t{0} << key->mask_bits;
        auto& owners = server_of_key_[std::tuple{server.instance, key->mask_bits, compared}];
        const auto owner = std::find_if(owners.begin(), owners.end(),
                                        [&](const auto& o) { return o.first == key->fields; });
        if (owner != owners.end())
            errors_.add(place_of(item, "dpc"), "dpc: " + item.text_of("dpc") +
                                                   " already belongs to application server '" +
                                                   owner->second + "'");
        else
            owners.emplace_back(key->fields, server.name);
        server.keys.push_back(*key);
    }
}

/// A route is one more key of its next hop, at a priority of its own.
void Loader::load_routes(const Node& root) {
    for (const Node& item : root.children_of("routes")) {
        if (!item.good) continue;
        const auto instance = instances_.find(item.find("instance"), errors_);
        const auto via = servers_.find(item.find("via"), errors_);
        if (!instance || !via) continue;
        const mtp3::Instance& in = out_.core.instances[*instance];
        sigtran::AsSettings& server = out_.core.servers[*via];
        if (server.instance != *instance) {
            errors_.add(place_of(item, "via"), "via: application server '" + server.name +
                                                   "' is in instance '" +
                                                   out_.core.instances[server.instance].name + "'");
            continue;
        }
        std::optional<sigtran::DestinationKey> key;
        if (item.text_of("dpc") == kDefaultRoute) {
            key = sigtran::DestinationKey{PointCode{0}, in.point_code_bits, {}};
            load_match(item, in, *key);
        } else {
            key = load_key(item, in);
        }
        if (!key) continue;
        key->priority = static_cast<std::uint8_t>(item.number_of("priority"));
        key->weight = static_cast<std::uint16_t>(item.number_of("weight"));
        server.keys.push_back(*key);
    }
}

core::ScreeningRule Loader::load_rule(const Node& item) {
    core::ScreeningRule rule;
    for (const Node& peer : item.children_of("peers")) {
        if (!peer.good) continue;
        if (const auto index = peers_.find(&peer, errors_))
            rule.peers.push_back(PeerIndex{static_cast<std::uint32_t>(*index)});
    }
    const Node* named = item.find("instance");
    const bool has_codes = item.find("opc") != nullptr || item.find("dpc") != nullptr;
    if (named == nullptr && has_codes)
        errors_.add(item.place, "missing key 'instance' in rules: point codes are of a network");
    if (const auto index = named != nullptr ? instances_.find(named, errors_) : std::nullopt) {
        const mtp3::Instance& in = out_.core.instances[*index];
        rule.instance = static_cast<std::uint16_t>(*index);
        rule.opc = point_code(item, "opc", in);
        rule.opc_mask_bits = mask_of(item, "opc_mask", in);
        rule.dpc = point_code(item, "dpc", in);
        rule.dpc_mask_bits = mask_of(item, "mask", in);
    }
    rule.service_indicators = bits_of(item, "si");
    rule.network_indicators = static_cast<std::uint8_t>(bits_of(item, "ni"));
    rule.ssns = sorted_of(item, "ssn");
    rule.allow = item.number_of("action") == 0;
    return rule;
}

void Loader::load_screening(const Node& root) {
    const Node* screening = root.find("screening");
    if (screening == nullptr) return;
    out_.core.screening_allows = screening->number_of("default") == 0;
    for (const Node& item : screening->children_of("rules"))
        if (item.good) out_.core.screening.push_back(load_rule(item));
}

}  // namespace signalbox::config
