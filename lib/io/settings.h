// SPDX-License-Identifier: Apache-2.0
// Ports, CPUs and memory as configured.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip_address.h"

namespace signalbox::io {

enum class Driver : std::uint8_t { tap, af_packet, af_xdp, memif, pci, ring };
enum class Idle : std::uint8_t { adaptive, poll };
enum class Hugepages : std::uint8_t { automatic, required, off };

struct InterfaceAddress {
    IpAddress address;
    std::uint8_t prefix_length = 0;  // of its family: 0..32 or 0..128
};

struct RouteSettings {
    IpAddress prefix;
    std::uint8_t prefix_length = 0;
    IpAddress via;
};

struct PortSettings {
    std::string name;
    Driver driver = Driver::tap;
    std::string device;
    std::optional<std::array<std::uint8_t, 6>> mac;  // absent: auto
    std::uint16_t mtu_bytes = 1500;
    std::optional<std::uint16_t> vlan;
    std::vector<InterfaceAddress> addresses;
    std::vector<RouteSettings> routes;
};

struct Settings {
    std::vector<unsigned> cpus;  // empty: auto
    bool share_cpu = false;
    Idle idle = Idle::adaptive;
    Hugepages hugepages = Hugepages::automatic;
    std::vector<PortSettings> ports;
};

}  // namespace signalbox::io
