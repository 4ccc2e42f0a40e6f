// SPDX-License-Identifier: Apache-2.0
#include "control_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "admin/control_socket.h"

namespace signalbox::daemon {

namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{256} << 20;

std::string read_all(int fd, std::string& error) {
    std::string text;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno == EAGAIN ? "no answer in time" : std::strerror(errno);
        if (got <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > kMaxAnswerBytes) {
            error = "an answer without end";
            return text;
        }
    }
}

}  // namespace

ControlAnswer ask_daemon(const std::string& path, const std::string& line, int seconds) {
    ControlAnswer answer;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        answer.error = path + ": the path is too long";
        return answer;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{seconds, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        answer.error = path + ": " + std::strerror(errno);
        if (errno == ENOENT || errno == ECONNREFUSED) answer.error += " (does signalboxd run?)";
        if (errno == EACCES) answer.error += " (the socket belongs to the group control.group)";
        if (fd >= 0) ::close(fd);
        return answer;
    }
    const std::string request = line + "\n";
    std::string error;
    // What a busy daemon says before it closes is read even when it took nothing.
    static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
    const std::string text = read_all(fd, error);
    ::close(fd);
    const std::size_t end = text.find('\n');
    const std::string first = text.substr(0, end);
    const std::string refused = admin::kControlError;
    answer.reached = true;
    if (first == admin::kControlOk && error.empty())
        answer.body = text.substr(end + 1);
    else if (first.rfind(refused, 0) == 0)
        answer.error =
            text.substr(refused.size(), text.find_last_not_of('\n') + 1 - refused.size());
    else {
        answer.reached = false;
        answer.error = error.empty() ? "no answer that this signalboxctl understands" : error;
    }
    return answer;
}

}  // namespace signalbox::daemon
