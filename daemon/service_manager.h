// SPDX-License-Identifier: Apache-2.0
// What systemd is told (sd_notify(3)): that the daemon is ready, that it is alive, that it ends.
// Without NOTIFY_SOCKET it does nothing.
#pragma once
#include <string>
#include <string_view>

#include "base/time.h"

namespace signalbox::daemon {

class ServiceManager {
 public:
    ServiceManager();
    ~ServiceManager();
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    /// Every turn of the control thread. `alive`: every worker has turned; only then the watchdog
    /// is fed.
    void turn(Time now, bool alive);
    void stopping();

 private:
    void tell(std::string_view state) const;

    int socket_ = -1;
    std::string address_;
    Duration interval_{};  // between feeds; 0: no watchdog
    Time next_feed_{};
    bool ready_ = false;
};

}  // namespace signalbox::daemon
