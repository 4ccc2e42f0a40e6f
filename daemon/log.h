// SPDX-License-Identifier: Apache-2.0
// The daemon's log on standard error: text or JSON, for a terminal or for journald. Written by a
// thread of its own; when that cannot keep up, the oldest lines go. Nobody who logs ever waits.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/configuration.h"
#include "events.h"

namespace spdlog {
class logger;
}

namespace signalbox::daemon {

class ErrorSink;

class Log {
 public:
    Log(config::LogLevel level, config::LogFormat format);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void write(const Line& line);  // any thread
    void write(Level level, std::string_view event, std::string text);
    void set_level(Level level);  // any thread
    /// Lines since start that the disk or the queue did not take.
    std::uint64_t lost() const;  // any thread

 private:
    std::string body(const Line& line) const;

    config::LogFormat format_;
    std::shared_ptr<ErrorSink> sink_;
    std::shared_ptr<spdlog::logger> logger_;
};

/// "debug" -> Level::debug; the names are those of key log.level.
std::optional<Level> level_called(std::string_view name);
/// Syslog's numbers (RFC 5424 6.2.1) as EAL uses them.
Level level_of_syslog(unsigned number);
/// `name=value ... text`, control characters shown as '?'.
std::string text_body(const Line& line);
/// The members of a JSON object, without braces.
std::string json_body(const Line& line);

}  // namespace signalbox::daemon
