// SPDX-License-Identifier: Apache-2.0
// Worst cases from the sums of back-offs (RFC 9260 6.3.3, 8.1 to 8.3; RFC 7829).
#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "config/configuration.h"

namespace signalbox::config {
namespace {

constexpr std::size_t kNamesShown = 4;

/// RTO of each of `count` time-outs in a row, the first that of a quiet or unmeasured path.
std::vector<Duration> back_off(const sctp::Profile& p, unsigned count) {
    std::vector<Duration> out;
    Duration rto = std::min(std::max(p.rto_initial, p.rto_min), p.rto_max);
    for (unsigned i = 0; i < count; ++i) {
        out.push_back(rto);
        if (p.rto_backoff == sctp::Backoff::exponential) rto = std::min(rto * 2, p.rto_max);
    }
    return out;
}

/// Data is outstanding: one retransmission follows the other.
Duration busy_time(const sctp::Profile& p, unsigned errors) {
    Duration sum{};
    for (const Duration rto : back_off(p, errors)) sum += rto;
    return sum;
}

/// Only heartbeats tell: each waits for the interval and an RTO of up to half as much again (RFC
/// 9260 8.3), the last one for its answer too.
Duration idle_time(const sctp::Profile& p, unsigned errors) {
    const auto rtos = back_off(p, errors);
    Duration sum = rtos.back();
    for (const Duration rto : rtos) sum += p.heartbeat_interval + rto + rto / 2;
    return sum;
}

std::string seconds(Duration d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(d).count());
    std::string out(text);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out + " s";
}

std::string both(const sctp::Profile& p, unsigned errors) {
    return seconds(busy_time(p, errors)) + " with data outstanding, " +
           seconds(idle_time(p, errors)) + " idle";
}

std::string names_of(const Configuration& c, const std::vector<std::size_t>& peers) {
    std::string text = std::to_string(peers.size()) + (peers.size() == 1 ? " peer: " : " peers: ");
    const bool all = peers.size() <= kNamesShown;
    for (std::size_t i = 0; i < (all ? peers.size() : kNamesShown - 1); ++i)
        text += (i == 0 ? "" : ", ") + c.core.peers[peers[i]].m3ua.name;
    if (!all) text += " .. " + c.core.peers[peers.back()].m3ua.name;
    return text;
}

}  // namespace

std::string describe(const Configuration& c) {
    std::map<std::pair<std::uint16_t, std::size_t>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < c.core.peers.size(); ++i) {
        const core::PeerSettings& peer = c.core.peers[i];
        groups[{peer.profile, peer.addresses.size()}].push_back(i);
    }
    std::string out;
    for (const auto& [group, peers] : groups) {
        const core::NamedProfile& profile = c.core.profiles[group.first];
        const sctp::Profile& p = profile.values;
        const auto paths = static_cast<unsigned>(group.second);
        const unsigned path_errors =
            std::min(p.path_max_retransmits, p.potentially_failed_after) + 1u;
        // PATH-2: the limit in force is the smaller of the configured one and the sum of the
        // paths'.
        const unsigned limit =
            std::min<unsigned>(p.association_max_retransmits, paths * p.path_max_retransmits);
        out += "profile " + profile.name + ", " + std::to_string(paths) +
               (paths == 1 ? " path (" : " paths (") + names_of(c, peers) + ")\n";
        if (paths > 1) out += "  moves to another path within " + both(p, path_errors) + "\n";
        out += "  declares a path down within " + both(p, p.path_max_retransmits + 1u) + "\n";
        out += "  declares the association lost within " + both(p, limit + 1) + "\n";
    }
    return out;
}

}  // namespace signalbox::config
