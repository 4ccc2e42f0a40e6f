// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <spdlog/async.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>

#include "log_sink.h"

namespace signalbox::daemon {

namespace {

constexpr std::size_t kQueueLines = 8192;
// At the end, for what waits to be written. A reader that reads takes milliseconds.
constexpr auto kLastLines = std::chrono::seconds{2};

spdlog::level::level_enum spdlog_level(Level level) {
    switch (level) {
        case Level::trace:
            return spdlog::level::trace;
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warning:
            return spdlog::level::warn;
        case Level::error:
            break;
    }
    return spdlog::level::err;
}

}  // namespace

Log::Log(config::LogLevel level, config::LogFormat format) : format_(format) {
    const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
    sink_ = std::make_shared<ErrorSink>(journal);
    spdlog::init_thread_pool(kQueueLines, 1);
    logger_ = std::make_shared<spdlog::async_logger>("signalbox", sink_, spdlog::thread_pool(),
                                                     spdlog::async_overflow_policy::overrun_oldest);
    if (format == config::LogFormat::json)
        logger_->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
    else
        logger_->set_pattern(journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
    logger_->set_level(spdlog_level(static_cast<Level>(level)));
}

Log::~Log() {
    sink_->end_by(std::chrono::steady_clock::now() + kLastLines);
    logger_.reset();
    spdlog::shutdown();  // writes what waits
}

void Log::write(const Line& line) {
    const auto level = spdlog_level(line.level);
    if (logger_->should_log(level)) logger_->log(level, spdlog::string_view_t(body(line)));
}

void Log::write(Level level, std::string_view event, std::string text) {
    write(Line{level, event, {}, std::move(text)});
}

void Log::set_level(Level level) {
    logger_->set_level(spdlog_level(level));
}

std::uint64_t Log::lost() const {
    return sink_->lost() + spdlog::thread_pool()->overrun_counter();
}

std::string Log::body(const Line& line) const {
    return format_ == config::LogFormat::json ? json_body(line) : text_body(line);
}

}  // namespace signalbox::daemon
