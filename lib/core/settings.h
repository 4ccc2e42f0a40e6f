// SPDX-License-Identifier: Apache-2.0
// Everything that the core must know; filled by `config`, read only afterwards.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "mtp3/route_table.h"
#include "sctp/settings.h"
#include "sigtran/m3ua_settings.h"

namespace signalbox::core {

enum class Accept : std::uint8_t { configured, prefix, any };

struct ListenerSettings {
    std::string name;
    std::uint16_t port = 2905;
    std::vector<IpAddress> addresses;  // resolved: never empty, at most sctp::kMaxLocalAddresses
    Accept accept = Accept::configured;
    std::uint16_t profile = 0;  // index of Settings::profiles
    std::uint32_t max_associations = 10000;
    friend bool operator==(const ListenerSettings&, const ListenerSettings&) = default;
};

struct PeerSettings {
    sigtran::PeerSettings m3ua;
    std::uint16_t listener = 0;  // index of Settings::listeners
    std::vector<IpAddress> addresses;
    std::optional<std::uint16_t> remote_port;  // absent: any
    bool connect = false;
    std::uint16_t profile = 0;
    std::optional<std::uint32_t> messages_per_second;
    friend bool operator==(const PeerSettings&, const PeerSettings&) = default;
};

/// One row of `screening`; everything absent fits all.
struct ScreeningRule {
    std::vector<PeerIndex> peers;
    std::optional<std::uint16_t> instance;
    std::optional<PointCode> opc;
    std::uint8_t opc_mask_bits = 0;
    std::optional<PointCode> dpc;
    std::uint8_t dpc_mask_bits = 0;
    std::uint16_t service_indicators = 0;  // a bit each; 0: any
    std::uint8_t network_indicators = 0;   // a bit each; 0: any
    std::vector<std::uint8_t> ssns;        // of the called party, sorted
    bool allow = false;
};

struct NamedProfile {
    std::string name;
    sctp::Profile values;
};

struct Settings {
    std::string node_name = "signalbox";
    std::uint8_t node_id = 0;
    std::size_t memory_limit_bytes = 512u << 20;
    std::vector<NamedProfile> profiles;  // [0] is rfc9260
    std::vector<ListenerSettings> listeners;
    std::vector<mtp3::Instance> instances;
    std::vector<PeerSettings> peers;  // templates expanded
    std::vector<sigtran::AsSettings> servers;
    std::vector<ScreeningRule> screening;  // in order
    bool screening_allows = true;          // what no rule names
    std::uint32_t init_per_second = 50000;
    std::uint32_t out_of_the_blue_per_second = 1000;
    std::uint32_t icmp_per_second = 1000;
};

}  // namespace signalbox::core
