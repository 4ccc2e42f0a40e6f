// SPDX-License-Identifier: Apache-2.0
// A rate with a burst (generic cell rate algorithm): one number of state, no clock of its own.
#pragma once
#include <algorithm>

#include "base/time.h"

namespace signalbox::sigtran {

class Budget {
 public:
    constexpr Budget(unsigned per_second, unsigned burst)
        : interval_(std::chrono::nanoseconds{std::chrono::seconds{1}} / per_second),
          tolerance_(interval_ * burst) {}

    /// False: too many lately.
    bool take(Time now) {
        if (!used_ || earliest_ < now) earliest_ = now;
        used_ = true;
        if (earliest_ + interval_ > now + tolerance_) return false;
        earliest_ += interval_;
        return true;
    }

 private:
    Duration interval_;
    Duration tolerance_;
    Time earliest_{};
    bool used_ = false;
};

}  // namespace signalbox::sigtran
