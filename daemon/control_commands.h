// SPDX-License-Identifier: Apache-2.0
// What the control socket's commands do. Reading ones look at published statistics and counters;
// the others go to the control thread by its queue. Workers are never touched from here.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "admin/command_table.h"
#include "admin/control_queue.h"
#include "admin/control_socket.h"
#include "admin/rates.h"
#include "io/runtime.h"
#include "log.h"
#include "reloader.h"

namespace signalbox::daemon {

class ControlCommands {
 public:
    /// `path`: the configuration's file; `configuration`: as loaded at start.
    ControlCommands(io::Runtime& runtime, Log& log, std::string path,
                    const config::Configuration& configuration, Reloader::Applied applied);

    /// The answer to one request. Threads of the control socket.
    std::string answer(const admin::Client& client, const std::vector<std::string>& words);

    // control thread
    void turn(Time now);
    void hangup() { reloader_.begin(); }
    void end() { queue_.close(); }

 private:
    std::string act(const admin::Client& client, const admin::Given& given);
    std::string show(const admin::Given& given);
    std::string associations(const admin::Given& given, bool paths);
    std::string bindings(const admin::Given& given);
    std::string explain(const admin::Given& given);
    std::string on_peer(const admin::Given& given);
    std::string set_log_level(const admin::Given& given);
    std::string reload(const admin::Given& given);

    io::Runtime& runtime_;
    Log& log_;
    admin::ControlQueue queue_;
    Reloader reloader_;
    admin::Rates rates_;
};

}  // namespace signalbox::daemon
