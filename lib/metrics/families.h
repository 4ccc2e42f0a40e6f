// SPDX-License-Identifier: Apache-2.0
// A snapshot as prometheus-cpp's metric families.
#pragma once
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "metrics/settings.h"
#include "metrics/snapshot.h"

namespace signalbox::metrics {

class SnapshotCollectable : public prometheus::Collectable {
 public:
    /// The arguments must outlive the object.
    SnapshotCollectable(const Snapshot& snapshot, const Settings& settings,
                        const std::string& version)
        : snapshot_(snapshot), settings_(settings), version_(version) {}
    std::vector<prometheus::MetricFamily> Collect() const override;

 private:
    const Snapshot& snapshot_;
    const Settings& settings_;
    const std::string& version_;
};

}  // namespace signalbox::metrics
