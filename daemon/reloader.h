// SPDX-License-Identifier: Apache-2.0
// `signalboxctl reload` and SIGHUP: read, compare, plan, and only then put in force, all or
// nothing. The file is read and the plan made on a thread of its own; the control thread takes the
// plan in one turn.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "admin/control_queue.h"
#include "admin/table.h"
#include "config/configuration.h"
#include "io/runtime.h"
#include "log.h"

namespace signalbox::daemon {

/// Nothing was changed; the text says why.
struct ReloadRefused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Reloader {
 public:
    struct Wanted {
        bool dry_run = false;
        bool allow_reset = false;
    };

    /// `applied`: told of a configuration that is in force now, on the thread that reloads.
    using Applied = std::function<void(const config::Configuration&)>;
    Reloader(io::Runtime& runtime, admin::ControlQueue& queue, Log& log, std::string path,
             config::Configuration configuration, Applied applied);
    ~Reloader();

    /// What became of each changed key and each peer concerned. Any thread but control's.
    admin::Table reload(const Wanted& wanted);
    /// The same for SIGHUP, on a thread of its own; the log says what came of it. Control thread.
    void begin();
    std::string effective() const;  // the configuration in force, as YAML
    config::Configuration configuration() const;

 private:
    admin::Table attempt(const Wanted& wanted);

    io::Runtime& runtime_;
    admin::ControlQueue& queue_;
    Log& log_;
    std::string path_;
    std::mutex one_at_a_time_;
    mutable std::mutex mutex_;  // of configuration_
    config::Configuration configuration_;
    Applied applied_;
    std::atomic<int> signals_{0};  // that the thread has not seen to; 0: it ended
    std::thread of_signal_;
};

}  // namespace signalbox::daemon
