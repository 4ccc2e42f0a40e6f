// SPDX-License-Identifier: Apache-2.0
// Our addresses and routes per port. A packet leaves by the port that owns its source address,
// through that port's routes: a multihomed association keeps its paths apart (RFC 9260 6.4).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ip_address.h"
#include "io/settings.h"
#include "wire/ethernet.h"

namespace signalbox::io {

using wire::MacAddress;
using PortIndex = std::uint16_t;

struct NextHop {
    PortIndex port = 0;
    IpAddress address;
};

/// The port's own link-local address: fe80:: and the MAC as modified EUI-64 (RFC 4291 2.5.1,
/// appendix A).
IpAddress link_local_of(const MacAddress& mac);
/// True when the first `length` bits (of the address's family) agree; families must be the same.
bool in_prefix(const IpAddress& address, const IpAddress& prefix, std::uint8_t length);

class Addressing {
 public:
    /// One MAC address for each port.
    Addressing(std::span<const PortSettings> ports, std::span<const MacAddress> macs);

    std::optional<PortIndex> port_of(const IpAddress& mine) const;
    bool owns(PortIndex port, const IpAddress& address) const;
    /// The address is a solicited-node group of one of the port's addresses.
    bool in_solicited_group(PortIndex port, const IpAddress& group) const;
    bool on_link(PortIndex port, const IpAddress& address) const;
    std::optional<NextHop> next_hop(const IpAddress& source, const IpAddress& destination) const;
    /// The address in whose name a neighbour is asked for: of the target's subnet, else the first
    /// of its family.
    std::optional<IpAddress> asker_for(PortIndex port, const IpAddress& target) const;
    std::span<const InterfaceAddress> addresses(PortIndex port) const;

 private:
    struct PortAddresses {
        std::vector<InterfaceAddress> addresses;  // the link-local one last
        std::vector<RouteSettings> routes;        // longest prefix first
    };
    std::vector<PortAddresses> ports_;
};

}  // namespace signalbox::io
