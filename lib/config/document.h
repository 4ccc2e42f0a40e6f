// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree with places, read from yaml-cpp's events: its own nodes would hide
// duplicate keys, quotes and what was not given. Refused here: duplicate keys, anchors and aliases,
// tags, more than one document, depth and size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"

namespace signalbox::config {

inline constexpr std::size_t kMaxFileBytes = 16u << 20;
inline constexpr std::size_t kMaxDepth = 64;
/// Of one map: more than any has, and a file of nothing but unknown keys is refused early.
inline constexpr std::size_t kMaxKeysOfMap = 4096;
inline constexpr std::size_t kMaxNodes =
    1'000'000;  // bounds memory: a node costs 200 bytes, its text 2

struct Node {
    enum class Kind : std::uint8_t { null, scalar, list, map };

    std::string key;  // in a map
    Place key_place;
    Kind kind = Kind::null;
    Place place;
    bool plain = true;     // scalar without quotes
    bool given = true;     // false: a default of the table of keys
    bool good = true;      // false: an error was reported, do not read it
    bool is_word = false;  // the word that a key takes beside its type, as "auto"
    std::string text;      // scalar
    std::int64_t number =
        0;  // what the check read: integer, nanoseconds, bytes, position of a word, 0 or 1
    std::vector<Node> children;

    /// The good value of `name`, given or default; nullptr: none.
    const Node* find(std::string_view name) const;
    /// For keys that have a default: that of the table is not read again when the value was
    /// refused.
    std::int64_t number_of(std::string_view name, std::int64_t otherwise = 0) const;
    std::string text_of(std::string_view name) const;
    const std::vector<Node>& children_of(std::string_view name) const;
};

/// One of `errors`' files. nullopt: not readable as YAML; the errors say why. A tree may come with
/// errors too.
std::optional<Node> parse_document(std::uint16_t file, Errors& errors);

}  // namespace signalbox::config
