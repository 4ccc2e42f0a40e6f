// SPDX-License-Identifier: Apache-2.0
// The client's end of the control socket.
#pragma once
#include <string>

namespace signalbox::daemon {

struct ControlAnswer {
    std::string body;   // tables or text
    std::string error;  // what the daemon refused
    bool reached = false;
};

/// Sends one line and reads the answer; waits up to `seconds` for the next byte.
ControlAnswer ask_daemon(const std::string& socket, const std::string& line, int seconds);

}  // namespace signalbox::daemon
