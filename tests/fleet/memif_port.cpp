// SPDX-License-Identifier: Apache-2.0
#include "fleet/memif_port.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "base/bytes.h"

namespace signalbox::fleet {

namespace {

constexpr std::uint16_t kBurst = 32;
constexpr unsigned kBuffers = 32767;
constexpr std::uint16_t kRing = 8192;

void check(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + ": " + rte_strerror(rte_errno));
}

}  // namespace

MemifPort::MemifPort(const std::string& socket, std::uint16_t vlan) : vlan_(vlan) {
    std::vector<std::string> words{
        "fleet",
        "--no-huge",
        "--no-shconf",
        "--no-pci",
        "--no-telemetry",
        "-m256",
        "--file-prefix=fleet" + std::to_string(getpid()),
        "--log-level=error",
        "--lcores=0",
        "--vdev=net_memif0,role=client,rsize=13,socket-abstract=no,socket=" + socket};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    check(rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0, "EAL");
    pool_ = rte_pktmbuf_pool_create("fleet", kBuffers, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    check(pool_ != nullptr, "buffers");
    const rte_eth_conf conf{};
    check(rte_eth_dev_configure(port_, 1, 1, &conf) == 0, "configure");
    check(rte_eth_rx_queue_setup(port_, 0, kRing, 0, nullptr, pool_) == 0, "receive queue");
    check(rte_eth_tx_queue_setup(port_, 0, kRing, 0, nullptr) == 0, "transmit queue");
    check(rte_eth_dev_start(port_) == 0, "start");
    rte_ether_addr mac;
    check(rte_eth_macaddr_get(port_, &mac) == 0, "MAC");
    std::memcpy(mac_.bytes.data(), mac.addr_bytes, mac_.bytes.size());
}

MemifPort::~MemifPort() {
    rte_eth_dev_stop(port_);
    rte_eth_dev_close(port_);
    rte_eal_cleanup();
}

bool MemifPort::send_frame(wire::MacAddress to, wire::EtherType type,
                           std::span<const std::uint8_t> body) {
    rte_mbuf* const buffer = rte_pktmbuf_alloc(pool_);
    if (buffer == nullptr) return false;
    const std::size_t header = wire::ethernet_header_bytes(vlan_ != 0);
    char* const room = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(header + body.size()));
    if (room == nullptr) return rte_pktmbuf_free(buffer), false;
    auto* const frame = reinterpret_cast<std::uint8_t*>(room);
    std::memcpy(frame, to.bytes.data(), 6);
    std::memcpy(frame + 6, mac_.bytes.data(), 6);
    if (vlan_ != 0) {
        store_be16(frame + 12, static_cast<std::uint16_t>(wire::EtherType::vlan));
        store_be16(frame + 14, vlan_);
    }
    store_be16(frame + header - 2, static_cast<std::uint16_t>(type));
    std::memcpy(frame + header, body.data(), body.size());
    rte_mbuf* one = buffer;
    if (rte_eth_tx_burst(port_, 0, &one, 1) == 1) return true;
    rte_pktmbuf_free(buffer);
    return false;
}

bool MemifPort::transmit(std::span<const std::uint8_t> ip) {
    return gateway_mac_ && send_frame(*gateway_mac_, wire::EtherType::ipv4, ip);
}

void MemifPort::ask_for_gateway() {
    std::array<std::uint8_t, wire::Arp::kBytes> body;
    wire::write_arp(body, {.operation = wire::ArpOperation::request,
                           .sender_mac = mac_,
                           .sender = first_,
                           .target_mac = {},
                           .target = gateway_});
    send_frame(wire::kBroadcastMac, wire::EtherType::arp, body);
}

void MemifPort::answer(const wire::Arp& request) {
    std::array<std::uint8_t, wire::Arp::kBytes> body;
    wire::write_arp(body, {.operation = wire::ArpOperation::reply,
                           .sender_mac = mac_,
                           .sender = request.target,
                           .target_mac = request.sender_mac,
                           .target = request.sender});
    send_frame(request.sender_mac, wire::EtherType::arp, body);
}

void MemifPort::take_frame(std::span<const std::uint8_t> bytes) {
    const auto frame = wire::parse_ethernet(bytes);
    if (!frame || (frame->vlan ? frame->vlan->id : 0) != vlan_) return;
    if (frame->is(wire::EtherType::ipv4))
        received_.emplace_back(frame->payload.begin(), frame->payload.end());
    if (!frame->is(wire::EtherType::arp)) return;
    const auto arp = wire::parse_arp(frame->payload);
    if (!arp) return;
    if (arp->sender == gateway_) gateway_mac_ = arp->sender_mac;
    // Not for what the gateway probes for itself (RFC 5227).
    if (arp->operation == wire::ArpOperation::request && arp->target != gateway_) answer(*arp);
}

std::span<const std::vector<std::uint8_t>> MemifPort::receive() {
    received_.clear();
    std::array<rte_mbuf*, kBurst> burst;
    const std::uint16_t n = rte_eth_rx_burst(port_, 0, burst.data(), kBurst);
    for (std::uint16_t i = 0; i < n; ++i) {
        const auto* data = rte_pktmbuf_mtod(burst[i], const std::uint8_t*);
        take_frame({data, rte_pktmbuf_data_len(burst[i])});
        rte_pktmbuf_free(burst[i]);
    }
    return received_;
}

}  // namespace signalbox::fleet
