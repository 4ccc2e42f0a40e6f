// SPDX-License-Identifier: Apache-2.0
// The table of keys as a reference for people: Markdown and a manual page.
#include <string>

#include "config/print.h"

namespace signalbox::config {
namespace {

std::string markdown_cell(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string default_of(const Key& key) {
    if (key.required) return "required";
    if (key.fallback.empty() || key.fallback == "{}") return "";
    return std::string(key.fallback);
}

bool is_map(const Key& key) {
    return key.type == Type::section || key.type == Type::named;
}

void markdown(std::string& out, std::span<const Key> keys, const std::string& path) {
    std::string rows;
    for (const Key& key : keys) {
        if (key.type == Type::later || is_map(key)) continue;
        const std::string fallback = default_of(key);
        rows +=
            "| `" + std::string(key.name) + "` | " + markdown_cell(form_of(key)) + " | " +
            (fallback.empty() || key.required ? fallback : "`" + markdown_cell(fallback) + "`") +
            " | " + std::string(reload_name(key.reload)) + " | " + markdown_cell(key.help) + " |\n";
    }
    if (!rows.empty())
        out += "\n| key | value | default | reload | meaning |\n|---|---|---|---|---|\n" + rows;
    for (const Key& key : keys) {
        if (!is_map(key)) continue;
        std::string name = path + std::string(key.name);
        if (key.type == Type::named) name += ".NAME";
        if (key.list) name += "[]";
        out += "\n## `" + name + "`\n\n" + std::string(key.help) +
               (key.required ? " (required).\n" : ".\n");
        markdown(out, key.keys, name + ".");
    }
}

/// troff takes a line that begins with a dot or quote as a request, and a bare hyphen as a dash.
std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\\\";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    if (!out.empty() && (out.front() == '.' || out.front() == '\'')) out.insert(0, "\\&");
    return out;
}

void manual(std::string& out, std::span<const Key> keys, const std::string& path) {
    for (const Key& key : keys) {
        if (key.type == Type::later || is_map(key)) continue;
        out += ".TP\n.B " + troff(key.name) + "\n" + troff(key.help) + ".\n";
        if (const std::string form = form_of(key); !form.empty())
            out += "Value: " + troff(form) + ".\n";
        const std::string fallback = default_of(key);
        if (!fallback.empty())
            out += key.required ? "Required.\n" : "Default: " + troff(fallback) + ".\n";
        out += "Reload: " + troff(reload_name(key.reload)) + ".\n";
    }
    for (const Key& key : keys) {
        if (!is_map(key)) continue;
        std::string name = path + std::string(key.name);
        if (key.type == Type::named) name += ".NAME";
        if (key.list) name += "[]";
        out += ".SS " + troff(name) + "\n" + troff(key.help) + ".\n";
        manual(out, key.keys, name + ".");
    }
}

}  // namespace

std::string print_reference_markdown() {
    std::string out =
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Generated from the table of keys: scripts/check-generated --fix -->\n"
        "# Configuration reference\n\n"
        "YAML. Durations are `500ms`, `3s`, `2m`; sizes `64KiB`, `1MiB`. `${NAME}` and\n"
        "`${NAME:-default}` take a value from the environment. Unknown and doubled keys, octal\n"
        "numbers, `yes` for `true` and numbers without their unit are errors; all errors are told\n"
        "at once. `[]` marks a list. The column *reload* says what `signalboxctl reload` does "
        "with\n"
        "a changed value: *live* takes it in place, *new associations* leaves those that stand as\n"
        "they are, *resets the peer* needs `--allow-reset`, *restart* is refused.\n\n"
        "`include` joins further files (lists join, maps merge, a value given twice is an error);\n"
        "`peers_from` reads peers from CSV files whose first line names keys of `peers`, as in\n"
        "`name,listener,addresses,asp_id,application_servers`; the items of a list are parted by\n"
        "blanks or `;`.\n\n## Top level\n";
    markdown(out, root_keys(), "");
    return out;
}

std::string print_reference_manual() {
    std::string out =
        ".\\\" SPDX-License-Identifier: Apache-2.0\n"
        ".TH SIGNALBOX.YAML 5 \"\" \"Signalbox\" \"Signalbox\"\n.SH NAME\n"
        "signalbox.yaml \\- configuration of signalboxd\n.SH DESCRIPTION\n"
        "A YAML document. Durations are written 500ms, 3s or 2m, sizes 64KiB or 1MiB.\n"
        "${NAME} and ${NAME:\\-default} take a value from the environment.\n"
        "Reload says what signalboxctl reload does with a changed value.\n"
        "Check a file with\n.BR \"signalboxd \\-\\-check\\-config \\-\\-config\" \" FILE.\"\n"
        ".SH KEYS\n";
    manual(out, root_keys(), "");
    return out + ".SH SEE ALSO\n.BR signalboxctl (1)\n";
}

}  // namespace signalbox::config
