// SPDX-License-Identifier: Apache-2.0
// One worker's loop: receive, hand to the core, let it do what is due, send, report quiescence, and
// sleep a little when there is nothing to do.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/worker.h"
#include "io/neighbour_exchange.h"
#include "io/quiescence.h"
#include "io/reassembly.h"
#include "io/transmitter.h"

namespace signalbox::io {

Time monotonic_now();

/// What all poll loops share.
struct Fabric {
    std::span<const std::unique_ptr<Port>> ports;
    const Addressing& addressing;
    NeighbourExchange& exchange;
    Quiescence& quiescence;
    rte_mempool* pool;
    Idle idle = Idle::adaptive;
};

class PollLoop {
 public:
    /// `seed`: of the neighbour table's hash.
    PollLoop(std::size_t index, core::Node& node, const Fabric& fabric, std::uint64_t seed);
    PollLoop(const PollLoop&) = delete;
    PollLoop& operator=(const PollLoop&) = delete;

    /// Until `stop`; on the worker's own lcore.
    void run(const std::atomic<bool>& stop);
    /// One turn; true when it found work.
    bool turn(Time now);

    /// control: ro. Another station uses one of our addresses: the port's number + 1, 0: none was
    /// seen.
    std::uint32_t duplicate_seen() const { return duplicate_.load(std::memory_order_relaxed); }

 private:
    static constexpr std::size_t kScratchBytes = std::size_t{128}
                                                 << 10;  // two of the longest IP packets

    bool receive_port(Port& port, Time now);
    void take(Port& port, rte_mbuf* packet, Time now);
    void deliver(rte_mbuf* packet, std::span<const std::uint8_t> ip, core::Checksum checksum,
                 Time now);
    void hand_over(Time now);
    void take_fragment(Port& port, rte_mbuf* packet, std::span<const std::uint8_t> ip, Time now);
    void act_on(PortIndex port, const Taken& taken);
    std::span<const std::uint8_t> contiguous(rte_mbuf* packet, Time now);
    std::span<std::uint8_t> scratch_room(std::size_t bytes, Time now);
    void housekeep(Time now);
    void announce(Time now);
    void sleep(Time now);

    std::size_t index_;
    Fabric fabric_;
    Transmitter transmitter_;
    core::Worker worker_;
    Reassembly reassembly_;
    std::array<core::PacketView, core::Worker::kBurst> views_{};
    std::array<rte_mbuf*, core::Worker::kBurst>
        held_{};  // buffers of the views; nullptr: in scratch_
    std::size_t view_count_ = 0;
    std::vector<std::uint8_t> scratch_;  // packets that were in pieces, until they are handed over
    std::size_t scratch_used_ = 0;
    std::vector<std::uint8_t> answer_;
    unsigned idle_turns_ = 0;
    unsigned announcements_ = 0;
    Time announce_at_{};
    std::atomic<std::uint32_t> duplicate_{0};  // worker: rw, control: ro
};

}  // namespace signalbox::io
