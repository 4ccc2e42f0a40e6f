// SPDX-License-Identifier: Apache-2.0
// A token bucket: at most `per_second` in the long run, at most a tenth of a second's worth at
// once.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace signalbox::core {

class Budget {
 public:
    explicit Budget(std::uint32_t per_second) { set_rate(per_second); }
    void set_rate(std::uint32_t per_second) {
        per_second_ = per_second;
        burst_ = std::max<std::uint64_t>(per_second / 10, 1);
    }

    bool take(Time now) {
        const auto elapsed = std::min<std::int64_t>((now - filled_).count(), 1'000'000'000);
        if (elapsed > 0) {
            const auto nano_tokens = static_cast<std::uint64_t>(elapsed) * per_second_ + rest_;
            tokens_ = std::min(burst_, tokens_ + nano_tokens / 1'000'000'000);
            rest_ = nano_tokens % 1'000'000'000;
            filled_ = now;
        }
        if (tokens_ == 0) return false;
        --tokens_;
        return true;
    }

 private:
    std::uint64_t per_second_ = 0;
    std::uint64_t burst_ = 1;
    std::uint64_t tokens_ = 0;
    std::uint64_t rest_ = 0;  // nano-tokens not yet a whole one
    Time filled_{};
};

}  // namespace signalbox::core
