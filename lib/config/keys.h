// SPDX-License-Identifier: Apache-2.0
// The one table of the configuration's keys: name, type and unit, range, default, help, reload
// class. Parser, errors, defaults, schema, reference and reload come from it; no other list exists.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace signalbox::config {

enum class Type : std::uint8_t {
    flag,
    integer,
    duration,
    size,
    word,
    name,
    text,
    path,
    address,
    prefix,
    endpoint,
    mac,
    section,  // a map of `keys`
    named,    // a map from names of the user's to maps of `keys`
    later,    // refused by name: a later release has it
};

/// What a reload does with a changed value.
enum class Reload : std::uint8_t {
    live,     // in place, nobody notices
    fresh,    // in place, for associations that begin afterwards
    peer,     // the peers concerned lose their associations
    restart,  // refused: it takes a restart
};

struct Key {
    std::string_view name;
    Type type = Type::text;
    std::string_view fallback{};  // the default, as it would be written; empty: none
    std::string_view help;
    std::int64_t min = 0;  // integer; duration: ns; size: bytes; name, text, path: length
    std::int64_t max = 0;
    std::string_view
        words{};  // word: "a|b|!c", '!' marks what a later release has; other types: taken as well
    std::span<const Key> keys{};
    bool required = false;
    bool list = false;  // of the type
    std::int64_t least = 0;
    std::int64_t most = 0;
    Reload reload = Reload::restart;
    std::string_view example{};  // for the documentation, as it would be written
};

std::string_view reload_name(Reload reload);
/// What is due there, as "a duration such as 500ms or 3s".
std::string_view type_name(Type type);

/// The top level of the file.
std::span<const Key> root_keys();

}  // namespace signalbox::config
