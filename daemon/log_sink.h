// SPDX-License-Identifier: Apache-2.0
// Where log lines end: standard error, be it a terminal, a file, a pipe or the journal's socket.
// Runs on spdlog's thread alone. What does not take a line costs that line and nothing else.
#pragma once
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace signalbox::daemon {

class ErrorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
    /// journal: lines begin with their priority, sd-daemon(3).
    explicit ErrorSink(bool journal, int descriptor = 2)
        : journal_(journal), descriptor_(descriptor) {}
    /// From then on nothing waits for a reader that does not read.
    void end_by(std::chrono::steady_clock::time_point when) { end_.store(when); }
    std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
    void sink_it_(const spdlog::details::log_msg& message) override;
    void flush_() override {}
    bool write_all(std::string_view text);
    bool write_line(std::string_view text);
    bool wait_for_room() const;

    bool journal_;
    int descriptor_;
    bool cut_ = false;                    // the last line is not whole
    std::atomic<std::uint64_t> lost_{0};  // log thread: rw, any: ro
    std::atomic<std::chrono::steady_clock::time_point> end_{
        std::chrono::steady_clock::time_point::max()};
};

}  // namespace signalbox::daemon
