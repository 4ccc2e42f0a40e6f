// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "log.h"

namespace signalbox::daemon {

namespace {

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (is_control(c)) c = '?';
    return out;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (is_control(c)) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c) & 0xffu);
            out += escaped;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace

Level level_of_syslog(unsigned number) {
    if (number <= 3) return Level::error;
    if (number == 4) return Level::warning;
    return number <= 6 ? Level::info : Level::debug;
}

std::optional<Level> level_called(std::string_view name) {
    for (unsigned i = 0; i <= static_cast<unsigned>(Level::error); ++i)
        if (name_of(static_cast<Level>(i)) == name) return static_cast<Level>(i);
    return std::nullopt;
}

std::string text_body(const Line& line) {
    std::string out(line.event);
    for (const Field& field : line.fields)
        out += " " + std::string(field.name) + "=" + printable(field.value);
    if (!line.text.empty()) out += (line.fields.empty() ? ": " : " ") + printable(line.text);
    return out;
}

std::string json_body(const Line& line) {
    std::string out = "\"event\":" + json_string(line.event);
    for (const Field& field : line.fields)
        out += "," + json_string(field.name) + ":" + json_string(field.value);
    if (!line.text.empty()) out += ",\"text\":" + json_string(line.text);
    return out;
}

}  // namespace signalbox::daemon
