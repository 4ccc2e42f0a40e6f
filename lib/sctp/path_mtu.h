// SPDX-License-Identifier: Apache-2.0
// Path MTU discovery without ICMP, RFC 8899, on one path: HEARTBEATs padded by PAD (RFC 4820) look
// for the largest IP packet that arrives. A lost probe costs nothing but itself.
//
//   fixed                        (probing off: the configured size, always)
//   base --probe answered--> searching --nothing left to try--> complete --raise timer--> searching
//    ^------------------------ black hole, too big ---------------------'
#pragma once
#include <cstdint>

#include "base/time.h"
#include "sctp/settings.h"

namespace signalbox::sctp {

/// The size that a path begins with: configured, or one that is expected to pass everywhere (RFC
/// 8899 5.1.2 BASE_PLPMTU; for IPv6 what RFC 8200 5 promises).
std::uint16_t first_mtu(const Profile& profile, bool v4);

class MtuSearch {
 public:
    /// Size back to the first one, nothing under way.
    void reset(const Profile& profile, bool v4);
    /// The path is confirmed: probes may begin.
    void begin(const Profile& profile, Time now);
    std::uint16_t size() const { return size_; }

    Time deadline() const { return due_; }
    /// The deadline has passed. `usable`: a probe may be sent now; a dead path would only teach
    /// wrong sizes.
    void expire(Time now, bool usable);
    /// A probe of this IP packet size waits to be sent; 0: none.
    std::uint16_t wanted() const { return wanted_ ? probe_ : std::uint16_t{0}; }
    void sent(std::uint64_t nonce, Time now);
    /// True when the nonce is that of the probe under way.
    bool answered(std::uint64_t nonce, Time now);
    /// ICMP "too big", whose tag was right. False: it tells nothing new, or probing is off.
    bool too_big(std::uint32_t mtu_bytes, bool v4, Time now);
    /// DATA timed out on the path: twice in a row may mean that only small packets pass (RFC
    /// 8899 4.3), which HEARTBEATs, being small, do not tell.
    void timed_out(const Profile& profile, bool v4, Time now);
    void delivered() { time_outs_ = 0; }

 private:
    void next(Time now);
    void rest(Time now);

    Time due_ = kNever;  // probe timer, raise timer
    std::uint16_t size_ = 1500;
    std::uint16_t limit_ = 0;  // the largest ever tried; 0: fixed
    std::uint16_t high_ = 0;   // the largest not known to fail
    std::uint16_t probe_ = 0;
    std::uint8_t tries_ = 0;
    std::uint8_t time_outs_ = 0;  // in a row
    bool wanted_ = false;
    std::uint64_t nonce_ = 0;  // of the probe under way
};

}  // namespace signalbox::sctp
