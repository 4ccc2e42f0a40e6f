// SPDX-License-Identifier: Apache-2.0
// What a profile of the configuration sets for its associations.
#pragma once
#include <array>
#include <cstdint>

#include "base/time.h"

namespace signalbox::sctp {

using namespace std::chrono_literals;

/// Which stream's message or chunk goes next: RFC 8260 3.
enum class Scheduler : std::uint8_t { fcfs, round_robin, priority, fair, weighted };

enum class Backoff : std::uint8_t { exponential, linear };

/// Defaults are preset `rfc9260` (RFC 9260 section 16).
struct Profile {
    Duration rto_initial = 1000ms;
    Duration rto_min = 1000ms;
    Duration rto_max = 60'000ms;
    Backoff rto_backoff =
        Backoff::exponential;  // linear: deliberate deviation from 6.3.3, closed networks only
    std::uint16_t path_max_retransmits = 5;
    std::uint16_t association_max_retransmits = 10;
    std::uint16_t max_init_retransmits = 8;
    std::uint16_t potentially_failed_after =
        5;  // RFC 7829 PF.Max; equal to path_max_retransmits: off
    std::uint16_t primary_switchover_after = 0xffff;  // RFC 7829 PSMR; 65535: never
    Duration heartbeat_interval = 30'000ms;
    Duration sack_delay = 200ms;
    Duration cookie_life = 60'000ms;
    /// A peer that answers and consumes nothing for so long is aborted (D09); 0: never (RFC 9260).
    Duration stall_limit{};
    /// What cannot be delivered because a part is missing waits so long (D03, D07); 0: for ever.
    /// Longer than a peer needs to give up, so that no mere outage ends an association.
    Duration reassembly_limit{};
    std::uint16_t streams_out = 16;
    std::uint16_t streams_in = 65535;
    std::uint32_t receive_window_bytes = 256 * 1024;
    std::uint32_t send_buffer_bytes = 1024 * 1024;
    std::uint16_t path_mtu_bytes = 1500;  // IP packet size; with probing the largest one tried
    bool path_mtu_probe = false;          // RFC 8899
    std::uint8_t dscp = 0;
    bool partial_reliability = true;    // RFC 3758 offered
    bool stream_reset = false;          // RFC 6525 offered
    bool message_interleaving = false;  // RFC 8260 offered
    Scheduler scheduler = Scheduler::fcfs;
    /// Priorities (0 goes first) or weights of streams 0 to 15; others and 0: weight 1.
    std::array<std::uint16_t, 16> scheduler_values{};
    friend bool operator==(const Profile&, const Profile&) = default;
};

inline constexpr Profile kProfileRfc9260{};
inline constexpr Profile kProfileSigtranLan{.rto_initial = 120ms,
                                            .rto_min = 100ms,
                                            .rto_max = 400ms,
                                            .path_max_retransmits = 4,
                                            .association_max_retransmits = 8,
                                            .potentially_failed_after = 0,
                                            .heartbeat_interval = 1000ms,
                                            .sack_delay = 50ms,
                                            .stall_limit = 10'000ms,
                                            .reassembly_limit = 30'000ms};
inline constexpr Profile kProfileSigtranWan{.rto_initial = 500ms,
                                            .rto_min = 300ms,
                                            .rto_max = 2000ms,
                                            .path_max_retransmits = 4,
                                            .association_max_retransmits = 8,
                                            .potentially_failed_after = 1,
                                            .heartbeat_interval = 5000ms,
                                            .sack_delay = 150ms,
                                            .stall_limit = 10'000ms,
                                            .reassembly_limit = 60'000ms};

}  // namespace signalbox::sctp
