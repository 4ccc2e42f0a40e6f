// SPDX-License-Identifier: Apache-2.0
// Rates over 1 s, 1 min and 1 h without Prometheus: a sample of a few sums each second.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/node.h"

namespace signalbox::admin {

class Rates {
 public:
    static constexpr std::size_t kSums = 7;
    static constexpr std::array<std::string_view, kSums> kNames{
        "rx_packets", "tx_packets",      "rx_messages", "tx_messages",
        "routed",     "retransmissions", "drops"};
    static constexpr std::array<Duration, 3> kSpans{
        std::chrono::seconds{1}, std::chrono::seconds{60}, std::chrono::seconds{3600}};
    using Sums = std::array<std::uint64_t, kSums>;

    /// Control thread, every turn; takes a sample when a second is over.
    void turn(const core::Node& node, Time now);
    void sample(const Sums& sums, Time now);
    /// A second, over the span or what there is of it. Any thread.
    std::array<double, kSums> over(Duration span) const;

 private:
    static constexpr std::size_t kSamples = 3601;
    struct Sample {
        Time when{};
        Sums sums{};
    };
    mutable std::mutex mutex_;  // readers are control sockets' threads, never workers
    std::vector<Sample> samples_;
    std::size_t next_ = 0;
    Time due_{};
};

}  // namespace signalbox::admin
