// SPDX-License-Identifier: Apache-2.0
// The only file of this layer that reads a running node.
#include "metrics/exporter.h"
#include "metrics/snapshot.h"

namespace signalbox::metrics {

Snapshot collect(const core::Node& node) {
    Snapshot snapshot;
    snapshot.workers.reserve(node.workers());
    for (unsigned i = 0; i < node.workers(); ++i) {
        const WorkerIndex worker{static_cast<std::uint8_t>(i)};
        snapshot.workers.push_back(CounterValues::of(node.worker_counters(worker)));
    }
    snapshot.control = CounterValues::of(node.control_counters());
    if (const auto statistics = node.statistics()) snapshot.statistics = *statistics;
    if (const auto& settings = snapshot.statistics.settings) {
        for (const auto& server : settings->servers)
            snapshot.as_names.push_back(server.retired ? "" : server.name);
        for (const auto& peer : settings->peers)
            snapshot.peer_names.push_back(peer.m3ua.retired ? "" : peer.m3ua.name);
    }
    return snapshot;
}

std::string Exporter::render(const core::Node& node) const {
    return render(collect(node));
}

}  // namespace signalbox::metrics
