// SPDX-License-Identifier: Apache-2.0
// What one scrape shows: plain values copied at one time, so that rendering touches nothing shared.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counters.h"
#include "core/node.h"

namespace signalbox::metrics {

struct CounterValues {
    std::array<std::uint64_t, kCountCount> counts{};
    std::array<std::uint64_t, kDropCount> drops{};
    static CounterValues of(const Counters& counters);
};

struct Snapshot {
    std::vector<CounterValues> workers;  // by WorkerIndex
    CounterValues control;
    core::NodeStatistics statistics;
    std::vector<std::string> as_names;    // by AsIndex; empty: a reload took it away
    std::vector<std::string> peer_names;  // by PeerIndex; the same
};

/// Any thread: the counters are read once, the statistics are the control thread's last ones.
Snapshot collect(const core::Node& node);

}  // namespace signalbox::metrics
