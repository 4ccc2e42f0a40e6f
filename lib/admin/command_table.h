// SPDX-License-Identifier: Apache-2.0
// The commands of signalboxctl: parser, help, completion and manual page come from this one list.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::admin {

enum class Verb : std::uint8_t {
    show_peers,
    show_as,
    show_associations,
    show_paths,
    show_routes,
    show_bindings,
    show_workers,
    show_drops,
    show_memory,
    show_rates,
    show_ports,
    show_config,
    route_explain,
    peer_block,
    peer_unblock,
    peer_drop,
    drain_node,
    reload,
    log_level,
    doctor,
    version,
};

struct Command {
    Verb verb{};
    std::string_view words;      // "show peers"
    std::string_view arguments;  // for people: "[NAME]"; options begin with "--"
    std::size_t least = 0;       // arguments that are no options
    std::size_t most = 0;
    bool changes = false;  // logged with who gave it
    std::string_view help;
};

std::span<const Command> commands();

/// A command with what follows it.
struct Given {
    const Command* command = nullptr;
    std::vector<std::string> arguments;
    std::vector<std::string> options;  // with their dashes
    std::string error;                 // set: it is none, and why
};
Given parse_command(std::span<const std::string> words);

bool has_option(const Given& given, std::string_view name);

std::string command_help();        // one line each
std::string command_completion();  // for bash
std::string command_manual();      // signalboxctl(1), troff
std::string command_reference();   // Markdown

}  // namespace signalbox::admin
