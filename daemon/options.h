// SPDX-License-Identifier: Apache-2.0
// The command line of signalboxd.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace signalbox::daemon {

// Exit codes: sysexits.h's where it has one.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // at run time
inline constexpr int kExitUsage = 64;    // EX_USAGE
inline constexpr int kExitRefused = 78;  // EX_CONFIG: configuration refused

struct Options {
    enum class Action {
        run,
        check_configuration,
        doctor,
        print_configuration,
        print_document,
        version,
        help,
        wrong
    };
    Action action = Action::wrong;
    std::string configuration;  // file
    std::string document;       // of `print_document`: see documents.h
    std::string error;          // of `wrong`
};

/// `arguments` without the program's name.
Options parse_options(std::span<const char* const> arguments);

std::string usage();
std::string options_manual();  // signalboxd(8), troff

}  // namespace signalbox::daemon
