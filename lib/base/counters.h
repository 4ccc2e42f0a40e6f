// SPDX-License-Identifier: Apache-2.0
// A worker's counters: plain 64-bit numbers, written by their owner alone, never reset. A reader on
// another thread may see a value that is one turn old; it never sees a torn one (aligned 64-bit
// relaxed atomics).
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/drop.h"

namespace signalbox {

// X(name, help): everything counted that is not a discard.
#define SIGNALBOX_COUNTS(X)                                                                    \
    X(rx_packets, "packets received with SCTP inside")                                         \
    X(rx_bytes, "bytes received, IP header included")                                          \
    X(tx_packets, "packets sent with SCTP inside")                                             \
    X(tx_bytes, "bytes sent, IP header included")                                              \
    X(rx_data_chunks, "DATA chunks received and accepted")                                     \
    X(tx_data_chunks, "DATA chunks sent, retransmissions included")                            \
    X(tx_retransmitted_chunks, "DATA chunks sent again")                                       \
    X(tx_fast_retransmits, "fast retransmissions started")                                     \
    X(t3_expiries, "retransmission time-outs")                                                 \
    X(rx_messages, "user messages delivered by SCTP")                                          \
    X(tx_messages, "user messages accepted for sending")                                       \
    X(routed_messages, "signaling messages routed to an application server")                   \
    X(associations_up, "associations that reached ESTABLISHED")                                \
    X(associations_closed, "associations ended by SHUTDOWN")                                   \
    X(associations_aborted, "associations ended by ABORT, either side")                        \
    X(associations_lost, "associations ended by the retransmission limit")                     \
    X(associations_restarted, "associations restarted by the peer")                            \
    X(paths_failed, "paths that became inactive")                                              \
    X(paths_potentially_failed, "paths that became potentially failed (RFC 7829)")             \
    X(primaries_switched, "primary paths replaced after too many errors (RFC 7829)")           \
    X(paths_restored, "paths that became active again")                                        \
    X(inits_answered, "INITs answered with INIT ACK")                                          \
    X(handoff_packets, "packets handed to the worker that owns the association")               \
    X(handoff_messages, "messages handed to the worker of the outgoing association")           \
    X(tag_hint_hits, "packets whose verification tag named the right worker")                  \
    X(tag_hint_misses, "packets whose verification tag named another worker")                  \
    X(handovers_not_drained, "flows moved before the ASP that had them took all, after 2 s")   \
    X(streams_reset, "stream resets carried out, either side's (RFC 6525)")                    \
    X(stream_lookups, "states of streams looked up: once for a message in, twice for one out") \
    X(heartbeats_sent, "HEARTBEATs sent")                                                      \
    X(mtu_probes_sent, "path MTU probes sent (RFC 8899)")                                      \
    X(icmp_errors, "ICMP errors that quoted an association's packet and were obeyed")          \
    X(turns, "turns of the poll loop")                                                         \
    X(busy_turns, "turns of the poll loop that found work")                                    \
    X(sleeps, "idle sleeps")

enum class Count : std::uint8_t {
#define SIGNALBOX_COUNT_ENUM(name, help) name,
    SIGNALBOX_COUNTS(SIGNALBOX_COUNT_ENUM)
#undef SIGNALBOX_COUNT_ENUM
};
#define SIGNALBOX_COUNT_ONE(name, help) +1
inline constexpr std::size_t kCountCount = 0 SIGNALBOX_COUNTS(SIGNALBOX_COUNT_ONE);
#undef SIGNALBOX_COUNT_ONE
inline constexpr std::array<std::string_view, kCountCount> kCountNames{
#define SIGNALBOX_COUNT_NAME(name, help) #name,
    SIGNALBOX_COUNTS(SIGNALBOX_COUNT_NAME)
#undef SIGNALBOX_COUNT_NAME
};
inline constexpr std::array<std::string_view, kCountCount> kCountHelp{
#define SIGNALBOX_COUNT_HELP(name, help) help,
    SIGNALBOX_COUNTS(SIGNALBOX_COUNT_HELP)
#undef SIGNALBOX_COUNT_HELP
};

/// One writer (the owning worker), any number of readers.
class Counters {
 public:
    void drop(Drop reason, std::uint64_t n = 1) {
        add(drops_[static_cast<std::size_t>(reason)], n);
    }
    void add(Count what, std::uint64_t n = 1) { add(counts_[static_cast<std::size_t>(what)], n); }
    std::uint64_t drops(Drop reason) const {
        return drops_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
    }
    std::uint64_t get(Count what) const {
        return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
    }

 private:
    using Cell = std::atomic<std::uint64_t>;
    static void add(Cell& cell, std::uint64_t n) {  // not a locked instruction: one writer
        cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::array<Cell, kDropCount> drops_{};    // worker: rw, control: ro
    std::array<Cell, kCountCount> counts_{};  // worker: rw, control: ro
};

}  // namespace signalbox
