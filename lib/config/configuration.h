// SPDX-License-Identifier: Apache-2.0
// The configuration file, checked whole: every error at once, each with its place, or a
// Configuration.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/settings.h"
#include "core/settings.h"
#include "io/settings.h"
#include "metrics/settings.h"

namespace signalbox::config {

enum class LogLevel { trace, debug, info, warning, error };
enum class LogFormat { text, json };

struct Configuration {
    core::Settings core;
    io::Settings io;
    admin::Settings admin;
    metrics::Settings metrics;
    LogLevel log_level = LogLevel::info;
    LogFormat log_format = LogFormat::text;
    std::string effective;  // the whole of it as one YAML text, defaults and all
};

struct Error {
    std::string file;
    int line = 0;    // from 1; 0: the file as a whole
    int column = 0;  // from 1
    std::string text;
    std::string source_line;
    /// "file:line:column: error: text", the line, a caret.
    std::string format() const;
};

using Loaded = std::variant<Configuration, std::vector<Error>>;
Loaded load_file(const std::string& path);
Loaded load_text(std::string_view text, const std::string& file_name);

/// The effective configuration as YAML, each value with where it comes from.
using Printed = std::variant<std::string, std::vector<Error>>;
Printed print_file(const std::string& path);

/// What --check-config prints when all is well: for each peer profile in use, worst-case time to
/// move to another path and to declare the association lost.
std::string describe(const Configuration& configuration);

}  // namespace signalbox::config
