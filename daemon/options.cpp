// SPDX-License-Identifier: Apache-2.0
#include "options.h"

namespace signalbox::daemon {

const std::string_view kUsage =
    "usage: signalboxd --config FILE [--check-config]\n"
    "  --config FILE   configuration, YAML\n"
    "  --check-config  only check it: exit 0 when it is good, 78 when it is refused\n"
    "  --version       print the version\n"
    "  --help          print this text\n";

namespace {

Options wrong(std::string error) {
    Options options;
    options.error = std::move(error);
    return options;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
    constexpr std::string_view kConfigWithValue = "--config=";
    Options options;
    options.action = Options::Action::run;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            options.action = Options::Action::help;
            return options;
        }
        if (argument == "--version") {
            options.action = Options::Action::version;
            return options;
        }
        if (argument == "--check-config") {
            options.action = Options::Action::check_configuration;
        } else if (argument == "--config" || argument == "-c") {
            if (++i == arguments.size()) return wrong("--config needs a file");
            options.configuration = arguments[i];
        } else if (argument.substr(0, kConfigWithValue.size()) == kConfigWithValue) {
            options.configuration = argument.substr(kConfigWithValue.size());
        } else {
            return wrong("`" + std::string(argument) + "` is not an option");
        }
    }
    if (options.configuration.empty()) return wrong("--config FILE is missing");
    return options;
}

}  // namespace signalbox::daemon
