// SPDX-License-Identifier: Apache-2.0
// One destination address of an association: RTO, congestion window, error count, heartbeat. RFC
// 9260 6.3, 7.2, 8.
//
//   unconfirmed --HEARTBEAT ACK--> active --errors > PF.Max--> potentially failed --errors >
//   Path.Max--> inactive
//                                    ^------------------ acknowledgement on the path
//                                    ----------------------'
#pragma once
#include <array>
#include <cstdint>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/prefetch.h"
#include "base/time.h"
#include "sctp/environment.h"
#include "sctp/path_mtu.h"

namespace signalbox::sctp {

inline constexpr std::size_t kMaxPaths = 16;
inline constexpr std::size_t kInlinePaths = 2;
inline constexpr std::uint32_t kCommonHeaderBytes = 12;

struct Path {
    // A cache line that each packet of the association reads,
    IpAddress remote;
    Time t3 = kNever;          // retransmission, RFC 9260 6.3.2
    Time hb_due = kNever;      // next HEARTBEAT
    Time hb_timeout = kNever;  // the one under way has no answer
    MtuSearch mtu;
    // one for packets on this path,
    IpAddress local;
    Duration rto{};
    Time last_sent_at{};  // new DATA
    std::uint32_t cwnd_bytes = 0;
    std::uint32_t flight_bytes = 0;
    std::uint32_t ssthresh_bytes = 0;
    std::uint32_t partial_bytes_acked = 0;
    std::uint16_t error_count = 0;
    std::uint16_t udp_port = 0;  // the peer's, packets go there in UDP (RFC 6951); 0: plain IP
    bool confirmed = false;
    bool active = true;
    bool potentially_failed = false;
    bool hb_wanted = false;
    // and one for measurements.
    bool rtt_pending = false;
    Tsn rtt_tsn;
    Time rtt_sent_at{};  // of rtt_tsn, or of the HEARTBEAT
    Time hb_sent_at{};
    Time icmp_after{};  // the next "unreachable" counts from here on
    Duration srtt{};    // 0: no measurement yet
    Duration rttvar{};
    Duration hb_period{};
    std::uint64_t hb_nonce = 0;  // 0: none under way

    void reset(const Environment& env, const IpAddress& to, const IpAddress& from);
    /// What IP (and UDP, RFC 6951) put before an SCTP packet.
    std::uint32_t overhead_bytes() const {
        return (remote.is_v4() ? 20u : 40u) + (udp_port != 0 ? 8u : 0u);
    }
    /// Largest SCTP packet on this path.
    std::uint32_t packet_bytes() const { return mtu.size() - overhead_bytes(); }
    void measured(const Profile& profile, Duration rtt);  // 6.3.1
    void back_off(const Profile& profile);                // 6.3.3 E2
    void window_after_timeout();                          // 7.2.3
    void window_after_loss();                             // 7.2.4
    void decay_window(Time now);                          // 7.2.1: idle for some RTOs
    void start_t3(Time now) { t3 = now + rto; }
    Time deadline() const;
    /// When the next HEARTBEAT is due: RTO + interval, jittered by half an RTO either way (8.3).
    void schedule_heartbeat(Environment& env);
    bool usable_for_data() const { return confirmed && active && !potentially_failed; }
};

/// The paths of one association: two inline, the others in one block taken when there are more.
class PathSet {
 public:
    std::size_t size() const { return count_; }
    Path& operator[](std::size_t i) {
        return i < kInlinePaths ? inline_[i] : more_[i - kInlinePaths];
    }
    const Path& operator[](std::size_t i) const {
        return i < kInlinePaths ? inline_[i] : more_[i - kInlinePaths];
    }
    /// False: no memory or no room. An address that is there already changes nothing.
    bool add(Environment& env, const IpAddress& remote, const IpAddress& local);
    SIGNALBOX_ALWAYS_INLINE void prefetch() const {
        prefetch_lines(&inline_[0], &inline_[0].rtt_pending);
        prefetch_lines(&inline_[1], &inline_[1].local);
    }
    /// Index of the path, size() when there is none.
    std::size_t find(const IpAddress& remote) const;
    void clear(Environment& env);
    void truncate(std::size_t count) { count_ = static_cast<std::uint8_t>(count); }

    /// A HEARTBEAT or an MTU probe waits to be sent.
    bool anything_wanted() const {
        bool wanted = false;
        for (std::size_t i = 0; i < count_; ++i)
            wanted |= (*this)[i].hb_wanted || (*this)[i].mtu.wanted() != 0;
        return wanted;
    }
    std::uint8_t primary() const { return primary_; }
    void set_primary(std::size_t i) { primary_ = static_cast<std::uint8_t>(i); }
    /// Where new data goes: the primary when it may, else another (RFC 9260 6.4, RFC 7829 5).
    std::size_t for_data() const;
    /// Where a chunk that timed out on `last` goes: another active path when there is one (6.4.1).
    std::size_t for_retransmission(std::size_t last) const;
    std::uint32_t flight_bytes() const;
    /// Smallest packet size over the paths that carry data; over all when none does.
    std::uint32_t packet_bytes() const;

 private:
    static constexpr std::size_t kMoreBytes = sizeof(Path) * (kMaxPaths - kInlinePaths);
    std::size_t best_but(std::size_t excluded) const;
    std::array<Path, kInlinePaths> inline_;
    Path* more_ = nullptr;
    std::uint8_t count_ = 0;
    std::uint8_t primary_ = 0;
};

/// The local address for the path number `index` to `remote`: the nearest by prefix, as a route
/// would choose; among equally near ones paths take turns, so that one dead link does not silence
/// them all. Unspecified: none of its family.
IpAddress local_for(const Environment& env, const IpAddress& remote, std::size_t index);

}  // namespace signalbox::sctp
