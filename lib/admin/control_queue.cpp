// SPDX-License-Identifier: Apache-2.0
#include "admin/control_queue.h"

#include <utility>

namespace signalbox::admin {

bool ControlQueue::run(Step step) {
    auto job = std::make_shared<Job>();
    job->step = std::move(step);
    std::unique_lock lock(mutex_);
    if (closed_ || jobs_.size() >= kMaxWaiting) return false;
    jobs_.push_back(job);
    done_.wait_for(lock, kPatience, [&] { return job->done || closed_; });
    done_.wait(lock, [&] { return !job->running; });
    job->abandoned = !job->done;
    return job->done;
}

void ControlQueue::turn(Time now) {
    std::shared_ptr<Job> job;
    {
        // Held by others for a few instructions only.
        const std::lock_guard lock(mutex_);
        if (jobs_.empty()) return;
        job = jobs_.front();
        if (job->abandoned) return jobs_.pop_front();
        job->running = true;
    }
    const bool done = job->step(now);
    const std::lock_guard lock(mutex_);
    job->running = false;
    job->done = done;
    if (done) jobs_.pop_front();
    done_.notify_all();
}

void ControlQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    done_.notify_all();
}

}  // namespace signalbox::admin
