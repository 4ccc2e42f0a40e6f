// SPDX-License-Identifier: Apache-2.0
// The far end of the daemon's memif port: a DPDK process of its own that hands out and takes IP
// packets and answers for a whole range of addresses. Test tool; it shares no code with lib/io.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/arp.h"
#include "wire/ethernet.h"

struct rte_mempool;

namespace signalbox::fleet {

class MemifPort {
 public:
    /// `socket`: that the daemon's port listens on; `vlan`: 802.1Q tag of all frames, 0 for none.
    /// Throws std::runtime_error. One in a process.
    MemifPort(const std::string& socket, std::uint16_t vlan);
    ~MemifPort();
    MemifPort(const MemifPort&) = delete;
    MemifPort& operator=(const MemifPort&) = delete;

    /// Addresses for which ARP requests are answered: all of this prefix except `gateway`, whose
    /// own MAC is asked for until it is known.
    void serve(IpAddress first, IpAddress gateway) {
        first_ = first;
        gateway_ = gateway;
    }
    bool ready() const { return gateway_mac_.has_value(); }

    /// Packets that came in, IP header first; valid until the next call.
    std::span<const std::vector<std::uint8_t>> receive();
    /// False: the ring is full just now.
    bool transmit(std::span<const std::uint8_t> ip);
    void ask_for_gateway();

 private:
    void take_frame(std::span<const std::uint8_t> bytes);
    void answer(const wire::Arp& request);
    bool send_frame(wire::MacAddress to, wire::EtherType type, std::span<const std::uint8_t> body);

    rte_mempool* pool_ = nullptr;
    std::uint16_t port_ = 0;
    std::uint16_t vlan_;
    wire::MacAddress mac_;
    IpAddress first_;
    IpAddress gateway_;
    std::optional<wire::MacAddress> gateway_mac_;
    std::vector<std::vector<std::uint8_t>> received_;
};

}  // namespace signalbox::fleet
