// SPDX-License-Identifier: Apache-2.0
#include "sctp/path.h"

#include <algorithm>
#include <bit>
#include <new>

namespace signalbox::sctp {

namespace {
constexpr std::uint32_t kInitialWindowBytes = 4404;  // RFC 9260 7.2.1

std::uint32_t payload_bytes(const Path& path) {
    return path.packet_bytes() - kCommonHeaderBytes;
}
unsigned common_prefix_bits(const IpAddress& a, const IpAddress& b) {
    unsigned bits = 0;
    for (std::size_t i = 0; i < a.bytes.size(); ++i) {
        const auto different = static_cast<std::uint8_t>(a.bytes[i] ^ b.bytes[i]);
        bits += static_cast<unsigned>(std::countl_zero(different));
        if (different != 0) break;
    }
    return bits;
}
}  // namespace

void Path::reset(const Environment& env, const IpAddress& to, const IpAddress& from) {
    *this = Path{};
    remote = to;
    local = from;
    rto = env.profile.rto_initial;
    mtu.reset(env.profile, to.is_v4());
    const std::uint32_t segment = payload_bytes(*this);
    cwnd_bytes = std::min(4 * segment, std::max(2 * segment, kInitialWindowBytes));
    ssthresh_bytes = 0x7fffffff;  // 7.2.1: may be arbitrarily high
}

void Path::measured(const Profile& profile, Duration rtt) {
    if (rtt <= Duration::zero()) rtt = Duration{1};
    if (srtt == Duration::zero()) {
        srtt = rtt;
        rttvar = rtt / 2;
    } else {
        const Duration error = srtt > rtt ? srtt - rtt : rtt - srtt;
        rttvar = (rttvar * 3 + error) / 4;
        srtt = (srtt * 7 + rtt) / 8;
    }
    if (rttvar == Duration::zero()) rttvar = std::chrono::milliseconds{1};  // 6.3.1 G1
    rto = std::clamp(srtt + 4 * rttvar, profile.rto_min, profile.rto_max);
}

void Path::back_off(const Profile& profile) {
    if (profile.rto_backoff == Backoff::exponential) rto = std::min(rto * 2, profile.rto_max);
}

void Path::window_after_timeout() {
    const std::uint32_t segment = payload_bytes(*this);
    ssthresh_bytes = std::max(cwnd_bytes / 2, 4 * segment);
    cwnd_bytes = segment;
    partial_bytes_acked = 0;
}

void Path::window_after_loss() {
    ssthresh_bytes = std::max(cwnd_bytes / 2, 4 * payload_bytes(*this));
    cwnd_bytes = ssthresh_bytes;
    partial_bytes_acked = 0;
}

void Path::decay_window(Time now) {
    const std::uint32_t least = 4 * payload_bytes(*this);
    for (Duration idle = now - last_sent_at; flight_bytes == 0 && idle > rto && cwnd_bytes > least;
         idle -= rto)
        cwnd_bytes = std::max(cwnd_bytes / 2, least);
}

Time Path::deadline() const {
    return std::min({t3, hb_due, hb_timeout, mtu.deadline()});
}

void Path::schedule_heartbeat(Environment& env) {
    const auto span = static_cast<std::uint64_t>(std::max<Duration::rep>(rto.count(), 1));
    const Duration jitter{static_cast<Duration::rep>(env.random.below(span))};
    hb_period = potentially_failed && active ? rto  // asked every RTO (RFC 7829 5)
                                             : rto / 2 + jitter + env.profile.heartbeat_interval;
    hb_due = env.now + hb_period;
}

bool PathSet::add(Environment& env, const IpAddress& remote, const IpAddress& local) {
    if (find(remote) < count_) return true;
    if (count_ >= kMaxPaths) return false;
    if (count_ >= kInlinePaths && more_ == nullptr) {
        more_ = static_cast<Path*>(env.blocks.take(kMoreBytes));
        if (more_ == nullptr) return false;
        for (std::size_t i = 0; i < kMaxPaths - kInlinePaths; ++i) new (more_ + i) Path;
    }
    ++count_;
    (*this)[count_ - 1u].reset(env, remote, local);
    return true;
}

std::size_t PathSet::find(const IpAddress& remote) const {
    for (std::size_t i = 0; i < count_; ++i)
        if ((*this)[i].remote == remote) return i;
    return count_;
}

void PathSet::clear(Environment& env) {
    if (more_ != nullptr) env.blocks.give(more_, kMoreBytes);
    more_ = nullptr;
    count_ = 0;
    primary_ = 0;
}

std::size_t PathSet::best_but(std::size_t excluded) const {
    std::size_t best = count_;
    const auto rank = [this](std::size_t i) {  // lower is better
        const Path& p = (*this)[i];
        const unsigned state = p.usable_for_data()       ? 0
                               : p.confirmed && p.active ? 1
                               : p.confirmed             ? 2
                                                         : 3;
        return state << 16 | p.error_count;
    };
    for (std::size_t i = 0; i < count_; ++i) {
        if (i == excluded) continue;
        if (best == count_ || rank(i) < rank(best) || (rank(i) == rank(best) && i == primary_))
            best = i;
    }
    return best;
}

std::size_t PathSet::for_data() const {
    if ((*this)[primary_].usable_for_data()) return primary_;
    return best_but(count_);
}

std::size_t PathSet::for_retransmission(std::size_t last) const {
    const std::size_t other = best_but(last);
    if (other < count_ && (*this)[other].usable_for_data()) return other;
    return for_data();
}

std::uint32_t PathSet::flight_bytes() const {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += (*this)[i].flight_bytes;
    return sum;
}

std::uint32_t PathSet::packet_bytes() const {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::uint32_t usable = kNone;
    std::uint32_t any = kNone;
    for (std::size_t i = 0; i < count_; ++i) {
        const Path& path = (*this)[i];
        any = std::min(any, path.packet_bytes());
        if (path.usable_for_data()) usable = std::min(usable, path.packet_bytes());
    }
    return usable != kNone ? usable : any;
}

IpAddress local_for(const Environment& env, const IpAddress& remote, std::size_t index) {
    IpAddress best;
    unsigned best_bits = 0;
    std::size_t ties = 0;
    for (const IpAddress& candidate : env.local_addresses) {
        if (candidate.is_v4() != remote.is_v4()) continue;
        const unsigned bits = common_prefix_bits(candidate, remote);
        if (ties != 0 && bits < best_bits) continue;
        ties = ties != 0 && bits == best_bits ? ties + 1 : 1;
        if (ties == 1 || ties <= index + 1) best = candidate;
        best_bits = bits;
    }
    return best;
}

}  // namespace signalbox::sctp
