// SPDX-License-Identifier: Apache-2.0
// Seam: where packets go. The sink lends a buffer, the association serialises in place. Doubles:
// simulator, tests.
#pragma once
#include <cstdint>
#include <span>

#include "base/ip_address.h"

namespace signalbox::sctp {

struct Datagram {
    IpAddress source;
    IpAddress destination;
    std::uint8_t dscp = 0;
    bool dont_fragment = true;
};

class TransmitSink {
 public:
    virtual ~TransmitSink() = default;
    /// Room for an SCTP packet (common header first) of at least `bytes`; empty when there is none
    /// now.
    virtual std::span<std::uint8_t> lend(std::size_t bytes) = 0;
    /// For what acknowledges, answers or controls, when lend() has nothing: also from what it
    /// leaves alone, where the sink keeps something back.
    virtual std::span<std::uint8_t> lend_kept(std::size_t bytes) { return lend(bytes); }
    /// The lent buffer holds an SCTP packet of `bytes`, checksum field 0: the sink (or the port's
    /// hardware) fills it. lend() without commit() before the next lend() gives the buffer back.
    virtual void commit(const Datagram& datagram, std::size_t bytes) = 0;
};

}  // namespace signalbox::sctp
