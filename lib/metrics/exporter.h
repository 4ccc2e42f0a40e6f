// SPDX-License-Identifier: Apache-2.0
// Prometheus text of a node: every counter, every drop reason (at zero from the start), and the
// gauges of the control thread's statistics (operations.md section 3). Holds no state of a scrape:
// any number of threads may render.
#pragma once
#include <atomic>
#include <string>
#include <string_view>

#include "metrics/settings.h"
#include "metrics/snapshot.h"

namespace signalbox::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

class Exporter {
 public:
    Exporter(Settings settings, std::string version);
    /// A reload's; any thread.
    void set_max_peers(std::uint32_t n) { max_peers_.store(n, std::memory_order_relaxed); }
    std::string render(const Snapshot& snapshot) const;
    std::string render(const core::Node& node) const;

 private:
    Settings settings_;
    std::atomic<std::uint32_t> max_peers_;
    std::string version_;
};

}  // namespace signalbox::metrics
