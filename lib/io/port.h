// SPDX-License-Identifier: Apache-2.0
// One DPDK port: opened, configured and started for the workers there are. A worker has its own
// receive and transmit queue where the device has so many; with fewer, the first workers poll and
// the core hands over, and transmit queues are shared by try-lock: who does not get it keeps its
// packets for its next turn.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "io/addressing.h"
#include "io/problem.h"
#include "io/settings.h"

struct rte_mbuf;
struct rte_mempool;

namespace signalbox::io {

/// Buffers that the ports' rings, bursts and caches may hold at once.
std::size_t buffers_for(const Settings& settings, std::size_t workers);
/// Data room of one buffer: a whole frame of the largest MTU.
std::uint16_t buffer_bytes_for(const Settings& settings);
/// What EAL needs for them, in bytes.
std::size_t buffer_memory_for(const Settings& settings, std::size_t workers);

class Port {
 public:
    /// `index`: position in the configuration; EAL has started.
    static std::variant<std::unique_ptr<Port>, Problem> open(const PortSettings& settings,
                                                             PortIndex index, std::size_t workers,
                                                             rte_mempool* pool);
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    PortIndex index() const { return index_; }
    const std::string& name() const { return settings_.name; }
    const MacAddress& mac() const { return mac_; }
    const PortSettings& settings() const { return settings_; }
    bool has_receive_queue(std::size_t worker) const { return worker < receive_queues_; }
    bool sctp_checksum_offload() const { return checksum_offload_; }
    bool checks_sctp_checksum() const { return checks_checksum_; }
    bool link_up() const;  // control thread

    /// Up to `count` packets of the worker's queue. worker: its own queue.
    std::uint16_t receive(std::size_t worker, rte_mbuf** packets, std::uint16_t count);
    /// How many of the packets were taken; the rest stay the caller's.
    std::uint16_t transmit(std::size_t worker, rte_mbuf** packets, std::uint16_t count);

 private:
    Port(const PortSettings& settings, PortIndex index) : settings_(settings), index_(index) {}
    std::string configure(std::size_t workers, rte_mempool* pool);
    std::string set_queues(rte_mempool* pool);
    std::string set_mac_and_mtu();
    std::string part_tap_macs();

    PortSettings settings_;
    PortIndex index_;
    std::uint16_t id_ = 0xffff;
    std::uint16_t receive_queues_ = 1;
    std::uint16_t transmit_queues_ = 1;
    bool checksum_offload_ = false;  // transmit
    bool checks_checksum_ = false;   // receive
    MacAddress mac_{};
    bool shared_ = false;                  // fewer transmit queues than workers
    std::vector<std::atomic_flag> taken_;  // by transmit queue; workers: rw, by try-lock
};

}  // namespace signalbox::io
