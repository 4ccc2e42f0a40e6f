// SPDX-License-Identifier: Apache-2.0
// SCTP profiles: a preset and what overrides it (RFC 9260 16).
#include <algorithm>

#include "config/loader.h"
#include "config/print.h"
#include "config/scalars.h"

namespace signalbox::config {
namespace {

/// In the order of the words of key `preset`.
constexpr sctp::Profile kPresets[] = {sctp::kProfileRfc9260, sctp::kProfileSigtranLan,
                                      sctp::kProfileSigtranWan};
constexpr const char* kPresetNames[] = {"rfc9260", "sigtran-lan", "sigtran-wan"};

template <class T>
void overlay(const Node& node, std::string_view key, T& value) {
    value = static_cast<T>(node.number_of(key, static_cast<std::int64_t>(value)));
}

void overlay(const Node& node, std::string_view key, Duration& value) {
    value = Duration{node.number_of(key, value.count())};
}

/// Where to point for a pair of values of which one may come from the preset.
Place place_of_either(const Node& node, std::string_view first, std::string_view second) {
    if (const Node* found = node.find(first)) return found->place;
    if (const Node* found = node.find(second)) return found->place;
    return node.place;
}

}  // namespace

void Loader::load_profiles(const Node& root) {
    for (std::size_t i = 0; i < std::size(kPresets); ++i) {
        profiles_.add(kPresetNames[i], Place{}, errors_);
        out_.core.profiles.push_back({kPresetNames[i], kPresets[i]});
        set_path_mtu(Node{}, out_.core.profiles.back().values);
    }
    profiles_.begin(root.find("sctp_profiles"));
    for (const Node& node : root.children_of("sctp_profiles")) {
        const bool is_duplicate = !node.good && profiles_.index_of(node.key);
        if (is_duplicate) continue;
        profiles_.add(node.key, node.key_place, errors_);
        out_.core.profiles.push_back({node.key, node.good ? load_profile(node) : sctp::Profile{}});
    }
}

std::string_view preset_name(std::int64_t preset) {
    return kPresetNames[preset];
}

std::string preset_value(std::int64_t preset, std::string_view key) {
    const sctp::Profile& p = kPresets[preset];
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    const std::pair<std::string_view, std::string> values[] = {
        {"rto_initial", write_duration(p.rto_initial.count())},
        {"rto_min", write_duration(p.rto_min.count())},
        {"rto_max", write_duration(p.rto_max.count())},
        {"path_max_retransmits", number(p.path_max_retransmits)},
        {"association_max_retransmits", number(p.association_max_retransmits)},
        {"max_init_retransmits", number(p.max_init_retransmits)},
        {"potentially_failed_after", number(p.potentially_failed_after)},
        {"primary_switchover_after", number(p.primary_switchover_after)},
        {"heartbeat_interval", write_duration(p.heartbeat_interval.count())},
        {"sack_delay", write_duration(p.sack_delay.count())},
        {"cookie_life", write_duration(p.cookie_life.count())},
        {"stall_limit", write_duration(p.stall_limit.count())},
        {"reassembly_limit", write_duration(p.reassembly_limit.count())},
        {"streams_out", number(p.streams_out)},
        {"streams_in", number(p.streams_in)},
        {"receive_window", write_size(p.receive_window_bytes)},
        {"send_buffer", write_size(p.send_buffer_bytes)},
        {"dscp", number(p.dscp)},
    };
    for (const auto& [name, value] : values)
        if (name == key) return value;
    return {};
}

/// `probe` tries up to the smallest MTU of all ports: a packet of that size leaves by any of them.
void Loader::set_path_mtu(const Node& node, sctp::Profile& profile) const {
    const auto smaller = [](const io::PortSettings& a, const io::PortSettings& b) {
        return a.mtu_bytes < b.mtu_bytes;
    };
    const auto& ports = out_.io.ports;
    const auto smallest = std::min_element(ports.begin(), ports.end(), smaller);
    const Node* given = node.find("path_mtu");
    profile.path_mtu_probe = given == nullptr || given->is_word;
    if (!profile.path_mtu_probe)
        profile.path_mtu_bytes = static_cast<std::uint16_t>(given->number);
    else if (smallest != ports.end())
        profile.path_mtu_bytes = smallest->mtu_bytes;
}

sctp::Profile Loader::load_profile(const Node& node) {
    sctp::Profile p = kPresets[node.number_of("preset")];
    overlay(node, "rto_initial", p.rto_initial);
    overlay(node, "rto_min", p.rto_min);
    overlay(node, "rto_max", p.rto_max);
    overlay(node, "rto_backoff", p.rto_backoff);
    overlay(node, "path_max_retransmits", p.path_max_retransmits);
    overlay(node, "association_max_retransmits", p.association_max_retransmits);
    overlay(node, "max_init_retransmits", p.max_init_retransmits);
    overlay(node, "potentially_failed_after", p.potentially_failed_after);
    overlay(node, "primary_switchover_after", p.primary_switchover_after);
    overlay(node, "heartbeat_interval", p.heartbeat_interval);
    overlay(node, "sack_delay", p.sack_delay);
    overlay(node, "cookie_life", p.cookie_life);
    overlay(node, "stall_limit", p.stall_limit);
    overlay(node, "reassembly_limit", p.reassembly_limit);
    overlay(node, "streams_out", p.streams_out);
    overlay(node, "streams_in", p.streams_in);
    overlay(node, "receive_window", p.receive_window_bytes);
    overlay(node, "send_buffer", p.send_buffer_bytes);
    overlay(node, "dscp", p.dscp);
    overlay(node, "partial_reliability", p.partial_reliability);
    overlay(node, "stream_reset", p.stream_reset);
    overlay(node, "message_interleaving", p.message_interleaving);
    overlay(node, "scheduler", p.scheduler);
    std::size_t stream = 0;
    for (const Node& value : node.children_of("scheduler_values"))
        if (stream < p.scheduler_values.size())
            p.scheduler_values[stream++] = static_cast<std::uint16_t>(value.number);
    set_path_mtu(node, p);
    // A path that fails first never is potentially failed: PF is off (RFC 7829 3).
    p.potentially_failed_after = std::min(p.potentially_failed_after, p.path_max_retransmits);

    if (p.rto_min > p.rto_max)
        errors_.add(place_of_either(node, "rto_min", "rto_max"),
                    "rto_min: " + write_duration(p.rto_min.count()) + " is more than rto_max, " +
                        write_duration(p.rto_max.count()));
    if (p.path_max_retransmits > p.association_max_retransmits)
        errors_.add(place_of_either(node, "path_max_retransmits", "association_max_retransmits"),
                    "path_max_retransmits: " + std::to_string(p.path_max_retransmits) +
                        " is more than association_max_retransmits, " +
                        std::to_string(p.association_max_retransmits));
    if (p.primary_switchover_after < p.potentially_failed_after)  // RFC 7829 5
        errors_.add(place_of_either(node, "primary_switchover_after", "potentially_failed_after"),
                    "primary_switchover_after: " + std::to_string(p.primary_switchover_after) +
                        " is less than potentially_failed_after, " +
                        std::to_string(p.potentially_failed_after));
    const auto fits = [&](const io::PortSettings& port) {
        return port.mtu_bytes >= p.path_mtu_bytes;
    };
    const auto& ports = out_.io.ports;
    if (const Node* mtu = node.find("path_mtu");
        mtu != nullptr && !ports.empty() && std::none_of(ports.begin(), ports.end(), fits))
        errors_.add(mtu->place, "path_mtu: " + mtu->text + " is more than the mtu of every port");
    return p;
}

}  // namespace signalbox::config
