// SPDX-License-Identifier: Apache-2.0
// Work that only the control thread may do, brought by other threads: bounded, and one step each
// turn, so that it never holds the control thread up.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/time.h"

namespace signalbox::admin {

class ControlQueue {
 public:
    static constexpr std::size_t kMaxWaiting = 32;
    static constexpr std::chrono::seconds kPatience{30};

    /// Called on the control thread once a turn until it returns true.
    using Step = std::function<bool(Time now)>;

    /// Any thread but control's: waits until the step is done. False: the queue is full, the time
    /// is over, or the daemon ends; then the step is not called any more, but what it refers to
    /// must be shared with it.
    bool run(Step step);

    // control thread
    void turn(Time now);
    void close();  // nobody waits any more

 private:
    struct Job {
        Step step;
        bool done = false;
        bool running = false;
        bool abandoned = false;
    };
    std::mutex mutex_;
    std::condition_variable done_;
    std::deque<std::shared_ptr<Job>> jobs_;
    bool closed_ = false;
};

}  // namespace signalbox::admin
