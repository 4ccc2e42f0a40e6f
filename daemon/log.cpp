// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace signalbox::daemon {

namespace {

constexpr std::size_t kQueueLines = 8192;

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

/// sd-daemon(3): a line on standard error may begin with its priority.
std::string_view journal_prefix(Level level) {
    switch (level) {
        case Level::trace:
        case Level::debug:
            return "<7>";
        case Level::info:
            return "<6>";
        case Level::warning:
            return "<4>";
        case Level::error:
            break;
    }
    return "<3>";
}

}  // namespace

Log::Log(config::LogLevel level, config::LogFormat format)
    : format_(format), journal_(std::getenv("JOURNAL_STREAM") != nullptr) {
    spdlog::init_thread_pool(kQueueLines, 1);
    logger_ = std::make_shared<spdlog::async_logger>(
        "signalbox", std::make_shared<spdlog::sinks::stderr_sink_mt>(), spdlog::thread_pool(),
        spdlog::async_overflow_policy::overrun_oldest);
    if (format == config::LogFormat::json)
        logger_->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
    else
        logger_->set_pattern(journal_ ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
    logger_->set_level(spdlog_level(static_cast<Level>(level)));
    logger_->flush_on(spdlog::level::trace);
}

Log::~Log() {
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

std::string Log::body(const Line& line) const {
    if (format_ == config::LogFormat::json) return json_body(line);
    if (!journal_) return text_body(line);
    return std::string(journal_prefix(line.level)) + text_body(line);
}

}  // namespace signalbox::daemon
