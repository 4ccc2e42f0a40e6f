// SPDX-License-Identifier: Apache-2.0
#include "admin/command_table.h"

#include <algorithm>
#include <set>

namespace signalbox::admin {

namespace {

constexpr Command kCommands[] = {
    {Verb::show_peers, "show peers", "[NAME]", 0, 1, false,
     "peers (ASPs) and their state in each application server"},
    {Verb::show_as, "show as", "[NAME]", 0, 1, false, "application servers and their routing keys"},
    {Verb::show_associations, "show associations", "[PEER]", 0, 1, false,
     "established associations with queues and streams"},
    {Verb::show_paths, "show paths", "[PEER]", 0, 1, false, "paths of the associations"},
    {Verb::show_routes, "show routes", "", 0, 0, false, "where each destination goes"},
    {Verb::show_bindings, "show bindings", "AS", 1, 1, false, "which peer serves which SLS"},
    {Verb::show_workers, "show workers", "", 0, 0, false, "work of each worker since start"},
    {Verb::show_drops, "show drops", "[--all]", 0, 0, false,
     "what was discarded, by reason; --all shows zeros too"},
    {Verb::show_memory, "show memory", "", 0, 0, false, "pages and the transport table"},
    {Verb::show_rates, "show rates", "", 0, 0, false,
     "packets and messages a second over 1 s, 1 min, 1 h"},
    {Verb::show_ports, "show ports", "", 0, 0, false, "ports as configured"},
    {Verb::show_config, "show config", "", 0, 0, false, "configuration in force, as YAML"},
    {Verb::route_explain, "route explain", "AS DPC [OPC] [SLS]", 2, 4, false,
     "what becomes of a message that comes from an application server"},
    {Verb::peer_block, "peer block", "NAME", 1, 1, true,
     "take the ASP out of service and refuse its ASPUP; the association stays"},
    {Verb::peer_unblock, "peer unblock", "NAME", 1, 1, true, "let the ASP come back"},
    {Verb::peer_drop, "peer drop", "NAME", 1, 1, true,
     "abort the peer's association; it may connect again"},
    {Verb::drain_node, "drain node", "", 0, 0, true, "end in an orderly way, as SIGTERM does"},
    {Verb::reload, "reload", "[--dry-run] [--allow-reset]", 0, 0, true,
     "read the configuration again; --dry-run only says what would happen"},
    {Verb::log_level, "log level", "LEVEL", 1, 1, true, "trace, debug, info, warning or error"},
    {Verb::doctor, "doctor", "", 0, 0, false, "what the host lacks for the running configuration"},
    {Verb::version, "version", "", 0, 0, false, "version of the daemon"},
};

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

bool begins_with(std::span<const std::string> words, const std::vector<std::string>& with) {
    return words.size() >= with.size() && std::equal(with.begin(), with.end(), words.begin());
}

std::string usage_of(const Command& c) {
    return std::string(c.words) + (c.arguments.empty() ? "" : " " + std::string(c.arguments));
}

std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
    return out;
}

}  // namespace

std::span<const Command> commands() {
    return kCommands;
}

Given parse_command(std::span<const std::string> words) {
    Given given;
    const auto at = std::find_if(std::begin(kCommands), std::end(kCommands), [&](const Command& c) {
        return begins_with(words, words_of(c.words));
    });
    if (at == std::end(kCommands)) {
        given.error = words.empty() ? "a command is missing" : "no such command";
        for (const Command& c : kCommands)
            if (!words.empty() && words_of(c.words)[0] == words[0])
                given.error += (given.error.find(':') == std::string::npos ? ": there is " : ", ") +
                               std::string(c.words);
        return given;
    }
    given.command = &*at;
    for (const std::string& word : words.subspan(words_of(at->words).size())) {
        const bool option = word.size() > 2 && word.substr(0, 2) == "--";
        (option ? given.options : given.arguments).push_back(word);
    }
    const auto known = words_of(at->arguments);
    for (const std::string& option : given.options)
        if (std::find(known.begin(), known.end(), "[" + option + "]") == known.end())
            given.error = "unknown option " + option;
    if (given.arguments.size() < at->least || given.arguments.size() > at->most)
        given.error = "usage: " + usage_of(*at);
    return given;
}

bool has_option(const Given& given, std::string_view name) {
    return std::find(given.options.begin(), given.options.end(), name) != given.options.end();
}

std::string command_help() {
    constexpr std::size_t kWidth = 44;
    std::string out;
    for (const Command& c : kCommands) {
        std::string line = "  " + usage_of(c);
        line.resize(std::max(line.size() + 1, kWidth), ' ');
        out += line + std::string(c.help) + "\n";
    }
    return out;
}

std::string command_completion() {
    std::set<std::string> firsts;
    std::string cases;
    for (const Command& c : kCommands) firsts.insert(words_of(c.words)[0]);
    std::string all;
    for (const std::string& first : firsts) {
        all += (all.empty() ? "" : " ") + first;
        std::string seconds;
        for (const Command& c : kCommands) {
            const auto words = words_of(c.words);
            if (words[0] == first && words.size() > 1)
                seconds += (seconds.empty() ? "" : " ") + words[1];
        }
        for (const Command& c : kCommands)
            if (c.words == first)
                for (const std::string& word : words_of(c.arguments))
                    if (word.substr(0, 3) == "[--")
                        seconds += (seconds.empty() ? "" : " ") + word.substr(1, word.size() - 2);
        if (!seconds.empty()) cases += "        " + first + ") words=\"" + seconds + "\" ;;\n";
    }
    return "# SPDX-License-Identifier: Apache-2.0\n"
           "# bash completion of signalboxctl, generated from its command table\n"
           "_signalboxctl() {\n"
           "    local words=\"\"\n"
           "    case \"${COMP_WORDS[1]}\" in\n" +
           cases +
           "    esac\n"
           "    [ \"$COMP_CWORD\" -eq 1 ] && words=\"" +
           all +
           "\"\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
           "}\n"
           "complete -F _signalboxctl signalboxctl\n";
}

std::string command_manual() {
    std::string out =
        ".\\\" SPDX-License-Identifier: Apache-2.0\n"
        ".TH SIGNALBOXCTL 1 \"\" \"Signalbox\" \"Signalbox\"\n.SH NAME\n"
        "signalboxctl \\- ask and command a running signalboxd\n.SH SYNOPSIS\n"
        ".B signalboxctl\n.RI [ \\-s\\ SOCKET ]\n.RI [ \\-o\\ table|json ]\n.I COMMAND\n"
        ".SH DESCRIPTION\nSpeaks to the daemon over its control socket, which\n"
        "belongs to the group that control.group names.\nCommands that change something are "
        "logged with the user and process that gave them.\n"
        ".SH OPTIONS\n.TP\n.B \\-s SOCKET\nSocket of the daemon; default "
        "/run/signalbox/control.sock.\n"
        ".TP\n.B \\-o table|json\nForm of the answer. JSON carries its schema with a version; "
        "members are only ever added.\n.SH COMMANDS\n";
    for (const Command& c : kCommands)
        out += ".TP\n.B " + troff(usage_of(c)) + "\n" + troff(c.help) + ".\n";
    return out +
           ".SH EXIT STATUS\n0: done. 1: refused or failed. 64: wrong usage. 69: the daemon does "
           "not answer.\n.SH SEE ALSO\n.BR signalbox.yaml (5)\n";
}

std::string command_reference() {
    std::string out =
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Generated from the command table: scripts/check-generated --fix -->\n"
        "# signalboxctl\n\n`signalboxctl [-s SOCKET] [-o table|json] COMMAND`\n\n"
        "| command | what | changes |\n|---|---|---|\n";
    for (const Command& c : kCommands) {
        std::string usage = usage_of(c);
        out += "| `" + usage + "` | " + std::string(c.help) + " | " + (c.changes ? "yes" : "") +
               " |\n";
    }
    return out;
}

}  // namespace signalbox::admin
