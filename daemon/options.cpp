// SPDX-License-Identifier: Apache-2.0
#include "options.h"

namespace signalbox::daemon {

const std::string_view kUsage =
    "usage: signalboxd --config FILE [--check-config|--print-config]\n"
    "       signalboxd doctor --config FILE\n"
    "       signalboxd --print-default-config|--print-schema\n"
    "  doctor                  say whether this host is ready for the configuration\n"
    "  --config FILE           configuration, YAML\n"
    "  --check-config          only check it: exit 0 when it is good, 78 when it is refused\n"
    "  --print-config          print every value in force and where it comes from\n"
    "  --print-default-config  print a file with every key, its default and what it means\n"
    "  --print-schema          print the JSON Schema of the configuration\n"
    "  --print-document NAME   print a generated document (for packagers); no NAME is a list\n"
    "  --version               print the version\n"
    "  --help                  print this text\n";

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
        if (argument == "--print-schema" || argument == "--print-default-config") {
            options.action = Options::Action::print_document;
            options.document = argument.substr(std::string_view("--print-").size());
            return options;
        }
        if (argument == "--print-document") {
            options.action = Options::Action::print_document;
            if (i + 1 < arguments.size()) options.document = arguments[i + 1];
            return options;
        }
        if (argument == "doctor") {
            options.action = Options::Action::doctor;
        } else if (argument == "--print-config") {
            options.action = Options::Action::print_configuration;
        } else if (argument == "--check-config") {
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
