// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "metrics/families.h"

namespace signalbox::metrics {

CounterValues CounterValues::of(const Counters& counters) {
    CounterValues values;
    for (std::size_t i = 0; i < kCountCount; ++i)
        values.counts[i] = counters.get(static_cast<Count>(i));
    for (std::size_t i = 0; i < kDropCount; ++i)
        values.drops[i] = counters.drops(static_cast<Drop>(i));
    return values;
}

Exporter::Exporter(Settings settings, std::string version)
    : settings_(settings), max_peers_(settings.max_peers), version_(std::move(version)) {}

std::string Exporter::render(const Snapshot& snapshot) const {
    Settings settings = settings_;
    settings.max_peers = max_peers_.load(std::memory_order_relaxed);
    return prometheus::TextSerializer{}.Serialize(
        SnapshotCollectable{snapshot, settings, version_}.Collect());
}

}  // namespace signalbox::metrics
