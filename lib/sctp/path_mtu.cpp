// SPDX-License-Identifier: Apache-2.0
#include "sctp/path_mtu.h"

#include <algorithm>

namespace signalbox::sctp {

namespace {

constexpr std::uint16_t kBaseV4 = 1200;
constexpr std::uint16_t kBaseV6 = 1280;
constexpr std::uint32_t kFloorV4 = 512;  // V06: no ICMP error makes packets smaller than this
constexpr std::uint32_t kFloorV6 = 1280;
constexpr std::uint16_t kEthernet = 1500;
constexpr std::uint16_t kLeastGain = 16;        // a smaller step is not worth three lost probes
constexpr std::uint8_t kMaxProbes = 3;          // RFC 8899 5.1.2
constexpr std::uint8_t kBlackHole = 2;          // time-outs in a row
constexpr Duration kProbeTimer = 16s;           // 5.1.1: larger than 15 s
constexpr Duration kRaiseTimer = 600s;          // 5.1.1
constexpr std::uint16_t kWholeWords = 0xfffcu;  // chunks end on a multiple of 4

}  // namespace

std::uint16_t first_mtu(const Profile& profile, bool v4) {
    if (!profile.path_mtu_probe) return profile.path_mtu_bytes;
    return std::min(profile.path_mtu_bytes, v4 ? kBaseV4 : kBaseV6);
}

void MtuSearch::reset(const Profile& profile, bool v4) {
    *this = MtuSearch{};
    size_ = first_mtu(profile, v4);
}

void MtuSearch::begin(const Profile& profile, Time now) {
    if (!profile.path_mtu_probe || limit_ != 0) return;
    limit_ = high_ = static_cast<std::uint16_t>(profile.path_mtu_bytes & kWholeWords);
    next(now);
}

/// The next size to try: the largest first, since most paths carry what their ends do, then what
/// Ethernet carries, then halves of what is left.
void MtuSearch::next(Time now) {
    wanted_ = false;
    nonce_ = 0;
    tries_ = 0;
    if (high_ < size_ + kLeastGain && high_ != limit_) return rest(now);
    if (high_ <= size_) return rest(now);
    if (high_ == limit_)
        probe_ = high_;
    else if (high_ > kEthernet && size_ < kEthernet)
        probe_ = kEthernet;
    else
        probe_ = static_cast<std::uint16_t>((size_ + high_ + 4) / 2 & kWholeWords);
    wanted_ = true;
    due_ = kNever;  // sent() arms the timer
}

void MtuSearch::rest(Time now) {
    due_ = size_ < limit_ ? now + kRaiseTimer : kNever;
    probe_ = 0;
}

void MtuSearch::expire(Time now, bool usable) {
    if (!usable) {
        due_ = now + kProbeTimer;
        return;
    }
    if (probe_ == 0) {  // the raise timer: paths change
        high_ = limit_;
        return next(now);
    }
    due_ = kNever;
    if (nonce_ != 0 && ++tries_ >= kMaxProbes) {
        high_ = static_cast<std::uint16_t>(probe_ - 4);
        return next(now);
    }
    wanted_ = true;
}

void MtuSearch::sent(std::uint64_t nonce, Time now) {
    wanted_ = false;
    nonce_ = nonce;
    due_ = now + kProbeTimer;
}

bool MtuSearch::answered(std::uint64_t nonce, Time now) {
    if (nonce == 0 || nonce != nonce_) return false;
    size_ = probe_;
    next(now);
    return true;
}

bool MtuSearch::too_big(std::uint32_t mtu_bytes, bool v4, Time now) {
    if (limit_ == 0) return false;
    const std::uint32_t believed =
        std::max(mtu_bytes, v4 ? kFloorV4 : kFloorV6) & std::uint32_t{kWholeWords};
    if (believed >= size_ && (probe_ == 0 || believed >= probe_)) return false;
    high_ = static_cast<std::uint16_t>(std::min<std::uint32_t>(believed, high_));
    size_ = std::min(size_, high_);
    wanted_ = false;
    nonce_ = 0;
    tries_ = 0;
    probe_ = 0;
    if (high_ <= size_) {
        rest(now);
        return true;
    }
    probe_ = high_;  // the router said what passes
    wanted_ = true;
    due_ = kNever;
    return true;
}

void MtuSearch::timed_out(const Profile& profile, bool v4, Time now) {
    const std::uint16_t base = first_mtu(profile, v4);
    if (limit_ == 0 || size_ <= base || ++time_outs_ < kBlackHole) return;
    time_outs_ = 0;
    high_ = static_cast<std::uint16_t>(size_ - 4);
    size_ = base;
    wanted_ = false;
    nonce_ = 0;
    tries_ = 0;
    probe_ = high_ > size_ ? static_cast<std::uint16_t>((size_ + high_ + 4) / 2 & kWholeWords)
                           : std::uint16_t{0};
    due_ = now + kProbeTimer;  // not into the same hole at once
}

}  // namespace signalbox::sctp
