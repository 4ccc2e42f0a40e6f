// SPDX-License-Identifier: Apache-2.0
// Reassembly of IPv4 and IPv6 fragments with DPDK's library, bounded in packets, fragments and
// time. One for each worker.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "base/counters.h"
#include "base/time.h"

struct rte_mbuf;
struct rte_ip_frag_tbl;
struct rte_ip_frag_death_row;

namespace signalbox::io {

class Reassembly {
 public:
    static constexpr Duration kLifetime =
        std::chrono::seconds{15};  // RFC 1122 3.3.2 asks 60 s at most
    static constexpr std::uint32_t kPacketsMax = 256;

    Reassembly();
    ~Reassembly();
    Reassembly(const Reassembly&) = delete;
    Reassembly& operator=(const Reassembly&) = delete;

    /// Takes the buffer, whose data begins with the IP header and of which `ip_bytes` are the
    /// packet. When it completes its packet, copies that to `out` and returns its length; else 0.
    /// What is refused or timed out is counted.
    std::size_t take(rte_mbuf* fragment, std::size_t ip_bytes, Time now, Counters& counters,
                     std::span<std::uint8_t> out);
    /// Throws out what has waited too long.
    void tick(Time now, Counters& counters);

 private:
    rte_mbuf* add(rte_mbuf* fragment, std::size_t ip_bytes, std::uint64_t now);
    void bury(Counters& counters);

    rte_ip_frag_tbl* table_ = nullptr;
    std::unique_ptr<rte_ip_frag_death_row> dead_;
    Time next_tick_{};
};

}  // namespace signalbox::io
