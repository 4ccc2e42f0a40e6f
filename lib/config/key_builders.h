// SPDX-License-Identifier: Apache-2.0
// How rows of the table of keys are written.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "config/keys.h"

namespace signalbox::config {

inline constexpr std::int64_t kMaxName = 64;
inline constexpr std::int64_t kMaxSocketPath = 107;  // sun_path, with its end

constexpr Key flag(std::string_view name, std::string_view fallback, std::string_view help) {
    return {.name = name, .type = Type::flag, .fallback = fallback, .help = help};
}
constexpr Key ranged(Type type, std::string_view name, std::int64_t min, std::int64_t max,
                     std::string_view fallback, std::string_view help) {
    return {.name = name, .type = type, .fallback = fallback, .help = help, .min = min, .max = max};
}
constexpr Key integer(std::string_view name, std::int64_t min, std::int64_t max,
                      std::string_view fallback, std::string_view help) {
    return ranged(Type::integer, name, min, max, fallback, help);
}
constexpr Key duration(std::string_view name, std::int64_t min, std::int64_t max,
                       std::string_view fallback, std::string_view help) {
    return ranged(Type::duration, name, min, max, fallback, help);
}
constexpr Key size(std::string_view name, std::int64_t min, std::int64_t max,
                   std::string_view fallback, std::string_view help) {
    return ranged(Type::size, name, min, max, fallback, help);
}
constexpr Key word(std::string_view name, std::string_view words, std::string_view fallback,
                   std::string_view help) {
    return {.name = name, .type = Type::word, .fallback = fallback, .help = help, .words = words};
}
constexpr Key name(std::string_view name, std::string_view fallback, std::string_view help) {
    return ranged(Type::name, name, 1, kMaxName, fallback, help);
}
constexpr Key text(std::string_view name, std::string_view fallback, std::string_view help) {
    return ranged(Type::text, name, 1, kMaxSocketPath, fallback, help);
}
constexpr Key plain(Type type, std::string_view name, std::string_view help) {
    return {.name = name, .type = type, .help = help};
}
constexpr Key later(std::string_view name, std::string_view help) {
    return {.name = name, .type = Type::later, .help = help};
}
constexpr Key section(std::string_view name, std::span<const Key> keys, std::string_view help) {
    return {.name = name, .type = Type::section, .fallback = "{}", .help = help, .keys = keys};
}
constexpr Key list(Key key, std::int64_t least, std::int64_t most) {
    key.list = true;
    key.least = least;
    key.most = most;
    return key;
}
constexpr Key required(Key key) {
    key.required = true;
    key.fallback = {};
    return key;
}
constexpr Key or_word(Key key, std::string_view words, std::string_view fallback) {
    key.words = words;
    key.fallback = fallback;
    return key;
}

constexpr Key live(Key key) {
    key.reload = Reload::live;
    return key;
}
constexpr Key fresh(Key key) {
    key.reload = Reload::fresh;
    return key;
}
constexpr Key resets(Key key) {
    key.reload = Reload::peer;
    return key;
}
constexpr Key as_in(std::string_view example, Key key) {
    key.example = example;
    return key;
}

}  // namespace signalbox::config
