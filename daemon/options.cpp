// SPDX-License-Identifier: Apache-2.0
#include "options.h"

namespace signalbox::daemon {

namespace {

struct Line {
    std::string_view words;
    std::string_view help;
};

constexpr std::string_view kSynopses[] = {
    "signalboxd --config FILE [--check-config|--print-config]",
    "signalboxd doctor --config FILE",
    "signalboxd --print-default-config|--print-schema",
};
constexpr Line kOptions[] = {
    {"doctor", "say whether this host is ready for the configuration"},
    {"--config FILE", "configuration, YAML"},
    {"--check-config", "only check it: exit 0 when it is good, 78 when it is refused"},
    {"--print-config", "print every value in force and where it comes from"},
    {"--print-default-config", "print a file with every key, its default and what it means"},
    {"--print-schema", "print the JSON Schema of the configuration"},
    {"--print-document NAME", "print a generated document (for packagers); no NAME is a list"},
    {"--version", "print the version"},
    {"--help", "print this text"},
};
constexpr Line kSignals[] = {
    {"SIGHUP", "read the configuration again, all or nothing; what would reset peers is refused"},
    {"SIGTERM, SIGINT",
     "drain: tell ASPs and application servers, shut associations down, end within five seconds; "
     "a second signal ends at once"},
};
constexpr Line kExits[] = {
    {"0", "ended in order, or the check found nothing"},
    {"1", "failed at run time"},
    {"64", "wrong usage"},
    {"78", "configuration refused"},
};

std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
    return out;
}

std::string paragraphs(std::span<const Line> lines) {
    std::string out;
    for (const Line& line : lines)
        out += ".TP\n.B " + troff(line.words) + "\n" + troff(line.help) + ".\n";
    return out;
}

}  // namespace

std::string usage() {
    constexpr std::size_t kWidth = 26;
    std::string out;
    for (const std::string_view synopsis : kSynopses)
        out += (out.empty() ? "usage: " : "       ") + std::string(synopsis) + "\n";
    for (const Line& option : kOptions) {
        std::string line = "  " + std::string(option.words);
        line.resize(kWidth, ' ');
        out += line + std::string(option.help) + "\n";
    }
    return out;
}

std::string options_manual() {
    std::string out =
        ".\\\" SPDX-License-Identifier: Apache-2.0\n"
        ".TH SIGNALBOXD 8 \"\" \"Signalbox\" \"Signalbox\"\n.SH NAME\n"
        "signalboxd \\- SCTP and M3UA signaling gateway\n.SH SYNOPSIS\n";
    for (const std::string_view synopsis : kSynopses) out += ".B " + troff(synopsis) + "\n.br\n";
    out +=
        ".SH DESCRIPTION\n"
        "Takes SCTP associations of SIGTRAN peers on ports of its own and routes their signaling "
        "messages to application servers.\nIt stays in the foreground and logs to standard "
        "error.\nAnswers over HTTP: /metrics, /\\-/healthy and /\\-/ready.\n.SH OPTIONS\n" +
        paragraphs(kOptions) + ".SH SIGNALS\n" + paragraphs(kSignals) + ".SH EXIT STATUS\n" +
        paragraphs(kExits) +
        ".SH FILES\n.TP\n.I /etc/signalbox/signalbox.yaml\nConfiguration of the service.\n"
        ".TP\n.I /run/signalbox/control.sock\nControl socket of\n.BR signalboxctl (1).\n"
        ".SH SEE ALSO\n.BR signalboxctl (1),\n.BR signalbox.yaml (5)\n";
    return out;
}

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
