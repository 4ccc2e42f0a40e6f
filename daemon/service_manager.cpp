// SPDX-License-Identifier: Apache-2.0
#include "service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace signalbox::daemon {

ServiceManager::ServiceManager() {
    const char* path = std::getenv("NOTIFY_SOCKET");
    if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
    address_ = path;
    if (address_.size() >= sizeof(sockaddr_un::sun_path)) return;
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const char* usec = std::getenv("WATCHDOG_USEC");
    const char* pid = std::getenv("WATCHDOG_PID");
    const bool ours = pid == nullptr || std::atol(pid) == ::getpid();
    // Twice in the interval, as sd_watchdog_enabled(3) advises.
    if (usec != nullptr && ours)
        interval_ = std::chrono::microseconds{std::strtoll(usec, nullptr, 10)} / 2;
}

ServiceManager::~ServiceManager() {
    if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::tell(std::string_view state) const {
    if (socket_ < 0) return;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    if (address_[0] == '@') to.sun_path[0] = '\0';  // abstract
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    // Never waits: a manager that does not read must not hold the control thread.
    static_cast<void>(::sendto(socket_, state.data(), state.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&to), length));
}

void ServiceManager::turn(Time now, bool alive) {
    if (socket_ < 0 || !alive) return;
    if (!ready_) tell("READY=1");
    ready_ = true;
    if (interval_ <= Duration{} || now < next_feed_) return;
    next_feed_ = now + interval_;
    tell("WATCHDOG=1");
}

void ServiceManager::stopping() {
    tell("STOPPING=1");
}

}  // namespace signalbox::daemon
