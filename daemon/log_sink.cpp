// SPDX-License-Identifier: Apache-2.0
#include "log_sink.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace signalbox::daemon {

namespace {

constexpr int kLookMilliseconds = 100;

std::string_view journal_prefix(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::trace:
        case spdlog::level::debug:
            return "<7>";
        case spdlog::level::info:
            return "<6>";
        case spdlog::level::warn:
            return "<4>";
        default:
            return "<3>";
    }
}

/// At most PIPE_BUF at a time: a pipe that poll() calls writable takes so much without waiting.
ssize_t write_some(int descriptor, std::string_view text) {
    const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t sent = ::send(descriptor, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != ENOTSOCK) return sent;
    return ::write(descriptor, text.data(), size);
}

}  // namespace

void ErrorSink::sink_it_(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t text;
    if (journal_) {
        const std::string_view prefix = journal_prefix(message.level);
        text.append(prefix.data(), prefix.data() + prefix.size());
    }
    formatter_->format(message, text);
    if (!write_line({text.data(), text.size()})) lost_.fetch_add(1, std::memory_order_relaxed);
}

bool ErrorSink::write_line(std::string_view text) {
    if (cut_ && !write_all("\n")) return false;
    cut_ = false;
    return write_all(text);
}

bool ErrorSink::write_all(std::string_view text) {
    while (!text.empty()) {
        if (!wait_for_room()) return false;
        const ssize_t written = write_some(descriptor_, text);
        if (written > 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
            cut_ = !text.empty();
        } else if (errno != EAGAIN && errno != EINTR) {
            return false;  // full, or nobody reads any more
        }
    }
    return true;
}

/// False: the time to end came first.
bool ErrorSink::wait_for_room() const {
    for (;;) {
        const bool ending = std::chrono::steady_clock::now() >= end_.load();
        pollfd look{descriptor_, POLLOUT, 0};
        const int ready = ::poll(&look, 1, ending ? 0 : kLookMilliseconds);
        if (ready > 0) return true;
        if (ending) return false;
    }
}

}  // namespace signalbox::daemon
