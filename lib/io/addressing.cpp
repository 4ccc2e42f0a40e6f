// SPDX-License-Identifier: Apache-2.0
#include "io/addressing.h"

#include <algorithm>

#include "wire/ndp.h"

namespace signalbox::io {

IpAddress link_local_of(const MacAddress& address) {
    const auto& mac = address.bytes;
    IpAddress a;
    a.bytes = {0xfe,   0x80,   0,
               0,      0,      0,
               0,      0,      static_cast<std::uint8_t>(mac[0] ^ 0x02),
               mac[1], mac[2], 0xff,
               0xfe,   mac[3], mac[4],
               mac[5]};
    return a;
}

bool in_prefix(const IpAddress& address, const IpAddress& prefix, std::uint8_t length) {
    if (address.is_v4() != prefix.is_v4()) return false;
    const unsigned bits = length + (prefix.is_v4() ? 96u : 0u);
    const unsigned whole = bits / 8;
    if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, prefix.bytes.begin()))
        return false;
    const unsigned rest = bits % 8;
    if (rest == 0) return true;
    return (address.bytes[whole] ^ prefix.bytes[whole]) >> (8 - rest) == 0;
}

Addressing::Addressing(std::span<const PortSettings> ports, std::span<const MacAddress> macs) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        PortAddresses p{ports[i].addresses, ports[i].routes};
        p.addresses.push_back({link_local_of(macs[i]), 64});
        std::stable_sort(p.routes.begin(), p.routes.end(), [](const auto& a, const auto& b) {
            return a.prefix_length > b.prefix_length;
        });
        ports_.push_back(std::move(p));
    }
}

std::optional<PortIndex> Addressing::port_of(const IpAddress& mine) const {
    for (std::size_t i = 0; i < ports_.size(); ++i)
        if (owns(static_cast<PortIndex>(i), mine)) return static_cast<PortIndex>(i);
    return std::nullopt;
}

bool Addressing::owns(PortIndex port, const IpAddress& address) const {
    const auto& list = ports_[port].addresses;
    return std::any_of(list.begin(), list.end(),
                       [&](const InterfaceAddress& a) { return a.address == address; });
}

bool Addressing::in_solicited_group(PortIndex port, const IpAddress& group) const {
    const auto& list = ports_[port].addresses;
    return std::any_of(list.begin(), list.end(), [&](const InterfaceAddress& a) {
        return a.address.is_v6() && wire::solicited_node(a.address) == group;
    });
}

bool Addressing::on_link(PortIndex port, const IpAddress& address) const {
    const auto& list = ports_[port].addresses;
    return std::any_of(list.begin(), list.end(), [&](const InterfaceAddress& a) {
        return in_prefix(address, a.address, a.prefix_length);
    });
}

std::optional<NextHop> Addressing::next_hop(const IpAddress& source,
                                            const IpAddress& destination) const {
    const auto port = port_of(source);
    if (!port) return std::nullopt;
    if (on_link(*port, destination)) return NextHop{*port, destination};
    for (const RouteSettings& route : ports_[*port].routes)
        if (in_prefix(destination, route.prefix, route.prefix_length))
            return NextHop{*port, route.via};
    return std::nullopt;
}

std::optional<IpAddress> Addressing::asker_for(PortIndex port, const IpAddress& target) const {
    const IpAddress* first = nullptr;
    for (const InterfaceAddress& a : ports_[port].addresses) {
        if (a.address.is_v4() != target.is_v4()) continue;
        if (in_prefix(target, a.address, a.prefix_length)) return a.address;
        if (first == nullptr) first = &a.address;
    }
    if (first == nullptr) return std::nullopt;
    return *first;
}

std::span<const InterfaceAddress> Addressing::addresses(PortIndex port) const {
    return ports_[port].addresses;
}

}  // namespace signalbox::io
