// SPDX-License-Identifier: Apache-2.0
// Monotonic time, passed in by the caller: nothing below `io` reads a clock (design: "the core is
// pure").
#pragma once
#include <chrono>

namespace signalbox {

struct MonotonicClock {  // a name for time_point; it has no now() on purpose
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonotonicClock, duration>;
    static constexpr bool is_steady = true;
};

using Duration = std::chrono::nanoseconds;
using Time = MonotonicClock::time_point;

inline constexpr Time kNever = Time::max();

}  // namespace signalbox
