// SPDX-License-Identifier: Apache-2.0
// The conductor on one worker: finds the association, hands the packet in, reads the effects out,
// asks mtp3 where, then sigtran how. Driven by io's poll loop; every call returns, none blocks,
// none allocates from the heap.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "base/counters.h"
#include "base/numbers.h"
#include "base/time.h"
#include "mem/fault_point.h"
#include "sctp/transmit_sink.h"

namespace signalbox::core {

class Node;  // core/node.h: what workers and control share

enum class Checksum : std::uint8_t { unknown, good, bad };  // as the port's hardware said

/// One received IP packet, contiguous, from the IP header on; valid until receive() returns.
struct PacketView {
    std::span<const std::uint8_t> ip;
    Checksum checksum = Checksum::unknown;
};

class Worker {
 public:
    static constexpr std::size_t kBurst = 32;
    Worker(Node& node, WorkerIndex index);
    ~Worker();

    /// Up to kBurst packets.
    void receive(std::span<const PacketView> burst, Time now, sctp::TransmitSink& sink);
    /// Hand-off rings, retries of held messages, then timers. True when it found work.
    bool advance(Time now, sctp::TransmitSink& sink);
    /// Every dirty association writes what it may; true when more waits.
    bool flush(Time now, sctp::TransmitSink& sink);
    /// Nothing needs to be done before this time unless a packet or a ring record comes.
    Time next_deadline() const;
    Counters& counters();
    mem::FaultPoint& block_faults();  // of its block pool

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox::core
