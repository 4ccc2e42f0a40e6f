// SPDX-License-Identifier: Apache-2.0
#include "admin/rates.h"

namespace signalbox::admin {

namespace {

constexpr Duration kEvery = std::chrono::seconds{1};

void add(Rates::Sums& sums, const Counters& c) {
    constexpr std::array<Count, Rates::kSums - 1> kCounts{
        Count::rx_packets,  Count::tx_packets,      Count::rx_messages,
        Count::tx_messages, Count::routed_messages, Count::tx_retransmitted_chunks};
    for (std::size_t i = 0; i < kCounts.size(); ++i) sums[i] += c.get(kCounts[i]);
    for (std::size_t d = 0; d < kDropCount; ++d) sums.back() += c.drops(static_cast<Drop>(d));
}

}  // namespace

void Rates::turn(const core::Node& node, Time now) {
    if (now < due_) return;
    due_ = now + kEvery;
    Sums sums{};
    for (unsigned w = 0; w < node.workers(); ++w)
        add(sums, node.worker_counters(WorkerIndex{static_cast<std::uint8_t>(w)}));
    add(sums, node.control_counters());
    sample(sums, now);
}

void Rates::sample(const Sums& sums, Time now) {
    const std::lock_guard lock(mutex_);
    if (samples_.size() < kSamples) {
        samples_.push_back({now, sums});
        return;
    }
    samples_[next_] = {now, sums};
    next_ = (next_ + 1) % kSamples;
}

std::array<double, Rates::kSums> Rates::over(Duration span) const {
    const std::lock_guard lock(mutex_);
    std::array<double, kSums> out{};
    if (samples_.size() < 2) return out;
    const std::size_t newest = (next_ + samples_.size() - 1) % samples_.size();
    const auto wanted = static_cast<std::size_t>(span / kEvery);
    const std::size_t back = std::min(wanted, samples_.size() - 1);
    const Sample& first = samples_[(newest + samples_.size() - back) % samples_.size()];
    const Sample& last = samples_[newest];
    const double seconds = std::chrono::duration<double>(last.when - first.when).count();
    if (seconds <= 0) return out;
    for (std::size_t i = 0; i < kSums; ++i)
        out[i] = static_cast<double>(last.sums[i] - first.sums[i]) / seconds;
    return out;
}

}  // namespace signalbox::admin
