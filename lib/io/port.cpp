// SPDX-License-Identifier: Apache-2.0
#include "io/port.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "io/eal.h"

namespace signalbox::io {

namespace {

constexpr std::uint16_t kDescriptors = 512;  // a queue and direction: 10 ms at 50,000 packets/s
constexpr std::uint16_t kFrameOverhead = 14 + 4 + 4;  // Ethernet, VLAN tag, FCS
constexpr std::size_t kWorkerBuffers =
    4096;  // transmit queues, neighbours' queues, fragments, cache
constexpr std::size_t kEalMemoryBytes = std::size_t{32} << 20;  // EAL's own, and the drivers' rings

/// First port of EAL's that is the configured device.
int id_of(const PortSettings& settings, PortIndex index) {
    std::uint16_t id = 0;
    const int rc = rte_eth_dev_get_port_by_name(device_name(settings, index).c_str(), &id);
    return rc == 0 ? id : -1;
}

std::uint64_t hash_functions(std::uint64_t capability) {
    constexpr std::uint64_t kSctp = RTE_ETH_RSS_NONFRAG_IPV4_SCTP | RTE_ETH_RSS_NONFRAG_IPV6_SCTP;
    constexpr std::uint64_t kIp = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 |
                                  RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_NONFRAG_IPV6_OTHER;
    return capability & (kSctp | kIp);
}

std::string failure(const char* what, int rc) {
    return std::string(what) + ": " + rte_strerror(-rc);
}

}  // namespace

std::size_t buffers_for(const Settings& settings, std::size_t workers) {
    return settings.ports.size() * workers * 2u * kDescriptors + workers * kWorkerBuffers;
}

std::uint16_t buffer_bytes_for(const Settings& settings) {
    std::size_t room = RTE_MBUF_DEFAULT_DATAROOM;
    for (const PortSettings& port : settings.ports) {
        const std::size_t frame = port.driver == Driver::af_packet
                                      ? packet_frame_bytes(port.mtu_bytes)
                                      : (port.mtu_bytes + kFrameOverhead + 63u) / 64 * 64;
        room = std::max(room, frame);
    }
    return static_cast<std::uint16_t>(std::min<std::size_t>(room + RTE_PKTMBUF_HEADROOM, 0xff80));
}

std::size_t buffer_memory_for(const Settings& settings, std::size_t workers) {
    const std::size_t each = buffer_bytes_for(settings) + sizeof(rte_mbuf) + 128;
    return buffers_for(settings, workers) * each +
           kEalMemoryBytes * (1 + settings.ports.size() / 4);
}

std::variant<std::unique_ptr<Port>, Problem> Port::open(const PortSettings& settings,
                                                        PortIndex index, std::size_t workers,
                                                        rte_mempool* pool) {
    std::unique_ptr<Port> port{new Port(settings, index)};
    const int id = id_of(settings, index);
    if (id < 0)
        return Problem{Severity::fatal,
                       "port " + settings.name + ": DPDK has not made a port of " +
                           settings.device + "; its log above says why",
                       ""};
    port->id_ = static_cast<std::uint16_t>(id);
    const std::string error = port->configure(workers, pool);
    if (!error.empty()) return Problem{Severity::fatal, "port " + settings.name + ": " + error, ""};
    return port;
}

std::string Port::configure(std::size_t workers, rte_mempool* pool) {
    rte_eth_dev_info info;
    if (const int rc = rte_eth_dev_info_get(id_, &info); rc != 0)
        return failure("the device tells nothing of itself", rc);
    receive_queues_ =
        static_cast<std::uint16_t>(std::clamp<std::size_t>(workers, 1, info.max_rx_queues));
    transmit_queues_ =
        static_cast<std::uint16_t>(std::clamp<std::size_t>(workers, 1, info.max_tx_queues));
    if (settings_.driver == Driver::tap)  // its queues are pairs
        receive_queues_ = transmit_queues_ = std::min(receive_queues_, transmit_queues_);
    rte_eth_conf conf;
    std::memset(&conf, 0, sizeof conf);
    conf.rx_adv_conf.rss_conf.rss_hf = hash_functions(info.flow_type_rss_offloads);
    const bool spread = receive_queues_ > 1 && conf.rx_adv_conf.rss_conf.rss_hf != 0;
    conf.rxmode.mq_mode = spread ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
    checksum_offload_ = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SCTP_CKSUM) != 0;
    if (checksum_offload_) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_SCTP_CKSUM;
    checks_checksum_ = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCTP_CKSUM) != 0;
    if (checks_checksum_) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCTP_CKSUM;
    if (const int rc = rte_eth_dev_configure(id_, receive_queues_, transmit_queues_, &conf);
        rc != 0)
        return failure("the device refuses its configuration", rc);
    if (std::string error = set_queues(pool); !error.empty()) return error;
    shared_ = transmit_queues_ < workers;
    taken_ = std::vector<std::atomic_flag>(transmit_queues_);
    if (std::string error = set_mac_and_mtu(); !error.empty()) return error;
    if (const int rc = rte_eth_dev_start(id_); rc != 0)
        return failure("the device does not start", rc);
    // Neighbour solicitations come to multicast groups; where the device filters them, all are
    // asked for.
    rte_eth_allmulticast_enable(id_);
    return part_tap_macs();
}

std::string Port::set_queues(rte_mempool* pool) {
    std::uint16_t rx = kDescriptors, tx = kDescriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx, &tx);
    for (std::uint16_t q = 0; q < receive_queues_; ++q)
        if (const int rc = rte_eth_rx_queue_setup(id_, q, rx, SOCKET_ID_ANY, nullptr, pool);
            rc != 0)
            return failure("a receive queue cannot be set up", rc);
    for (std::uint16_t q = 0; q < transmit_queues_; ++q)
        if (const int rc = rte_eth_tx_queue_setup(id_, q, tx, SOCKET_ID_ANY, nullptr); rc != 0)
            return failure("a transmit queue cannot be set up", rc);
    return "";
}

std::string Port::set_mac_and_mtu() {
    if (settings_.mac) {
        rte_ether_addr mac;
        std::copy(settings_.mac->begin(), settings_.mac->end(), mac.addr_bytes);
        rte_ether_addr now;
        rte_eth_macaddr_get(id_, &now);
        if (!rte_is_same_ether_addr(&mac, &now))
            if (const int rc = rte_eth_dev_default_mac_addr_set(id_, &mac);
                rc != 0 && rc != -ENOTSUP)
                return failure("the device refuses its MAC address", rc);
    }
    std::uint16_t mtu = 0;
    if (rte_eth_dev_get_mtu(id_, &mtu) == 0 && mtu != settings_.mtu_bytes)
        if (const int rc = rte_eth_dev_set_mtu(id_, settings_.mtu_bytes);
            rc != 0 && (rc != -ENOTSUP || settings_.mtu_bytes > 1500))
            return failure("the device refuses its MTU", rc);
    rte_ether_addr mac;
    if (const int rc = rte_eth_macaddr_get(id_, &mac); rc != 0)
        return failure("the device has no MAC address", rc);
    std::copy(mac.addr_bytes, mac.addr_bytes + mac_.bytes.size(), mac_.bytes.begin());
    if (settings_.mac)
        mac_.bytes = *settings_.mac;  // a device that cannot be told (ring) takes any
    return "";
}

/// A TAP interface has one MAC address for both its ends: the kernel would take our frames for its
/// own. Its end gets another, locally administered one.
std::string Port::part_tap_macs() {
    if (settings_.driver != Driver::tap) return "";
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return "no socket to set the kernel's MAC address";
    ifreq request{};
    settings_.device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    MacAddress theirs = mac_;
    theirs.bytes[0] = static_cast<std::uint8_t>((theirs.bytes[0] | 0x02) & 0xfe);
    theirs.bytes[5] ^= 0x80;
    std::memcpy(request.ifr_hwaddr.sa_data, theirs.bytes.data(), theirs.bytes.size());
    const int rc = ioctl(fd, SIOCSIFHWADDR, &request);
    close(fd);
    return rc == 0 ? "" : "the kernel's end of the TAP interface refuses a MAC address of its own";
}

Port::~Port() {
    if (id_ != 0xffff) {
        rte_eth_dev_stop(id_);
        rte_eth_dev_close(id_);
    }
}

bool Port::link_up() const {
    rte_eth_link link;
    if (rte_eth_link_get_nowait(id_, &link) != 0) return false;
    return link.link_status == RTE_ETH_LINK_UP;
}

std::uint16_t Port::receive(std::size_t worker, rte_mbuf** packets, std::uint16_t count) {
    return rte_eth_rx_burst(id_, static_cast<std::uint16_t>(worker), packets, count);
}

std::uint16_t Port::transmit(std::size_t worker, rte_mbuf** packets, std::uint16_t count) {
    const auto queue = static_cast<std::uint16_t>(worker % transmit_queues_);
    if (!shared_) return rte_eth_tx_burst(id_, queue, packets, count);
    if (taken_[queue].test_and_set(std::memory_order_acquire)) return 0;
    const std::uint16_t sent = rte_eth_tx_burst(id_, queue, packets, count);
    taken_[queue].clear(std::memory_order_release);
    return sent;
}

}  // namespace signalbox::io
