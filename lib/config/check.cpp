// SPDX-License-Identifier: Apache-2.0
#include "config/check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "config/keys.h"
#include "config/scalars.h"
#include "config/spelling.h"

namespace signalbox::config {
namespace {

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

std::string_view kind_name(Node::Kind kind) {
    switch (kind) {
        case Node::Kind::null:
            return "nothing";
        case Node::Kind::scalar:
            return "a value";
        case Node::Kind::list:
            return "a list";
        case Node::Kind::map:
            return "a map";
    }
    return "";
}

std::string write_number(Type type, std::int64_t number) {
    if (type == Type::duration) return write_duration(number);
    if (type == Type::size) return write_size(number);
    return std::to_string(number);
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

constexpr const char* kNameForm = "a name: letters, digits, '-', '_' and '.'";

bool is_printable(char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
}

class Checker {
 public:
    explicit Checker(Errors& errors) : errors_(errors) {}
    void map(Node& node, std::span<const Key> keys, std::string_view where);

 private:
    void value(Node& node, const Key& key);
    void one(Node& node, const Key& key);
    void scalar(Node& node, const Key& key);
    bool word(Node& node, const Key& key);
    void words(Node& node, const Key& key);
    void number(Node& node, const Key& key);
    void textual(Node& node, const Key& key);
    void named(Node& node, const Key& key);
    void refuse(Node& node, const Key& key, const std::string& what) {
        // A key without a value has no place of its own in the text.
        const bool nothing = node.kind == Node::Kind::null && node.key_place.line != 0;
        errors_.add(nothing ? node.key_place : node.place, std::string(key.name) + ": " + what);
        node.good = false;
    }

    Errors& errors_;
};

/// A later release's key may stand there empty, as in a file that names every key.
bool is_empty(const Node& node) {
    return node.kind != Node::Kind::scalar && node.children.empty();
}

std::vector<std::string_view> names_of(std::span<const Key> keys) {
    std::vector<std::string_view> names;
    for (const Key& key : keys) names.push_back(key.name);
    return names;
}

/// A default of the table, as if it had been written at the end of `map`.
Node absent(const Key& key, Place place) {
    Node node;
    node.key = key.name;
    node.place = place;
    node.given = false;
    node.kind = key.list ? Node::Kind::list : Node::Kind::scalar;
    if (!key.list && key.fallback == "{}") node.kind = Node::Kind::map;
    if (node.kind == Node::Kind::scalar) node.text = key.fallback;
    if (!key.list || key.fallback.empty() || key.fallback == "{}") return node;
    Node only;
    only.kind = Node::Kind::scalar;
    only.place = place;
    only.given = false;
    only.text = key.fallback;
    if (key.words == key.fallback) return only.key = key.name, only;
    node.children.push_back(only);
    return node;
}

void Checker::map(Node& node, std::span<const Key> keys, std::string_view where) {
    for (Node& child : node.children) {
        const auto key = std::find_if(keys.begin(), keys.end(),
                                      [&](const Key& k) { return k.name == child.key; });
        if (key == keys.end()) {
            const bool is_shown = !errors_.is_full();
            errors_.add(child.key_place,
                        "unknown key " + quoted(child.key) + std::string(where) +
                            (is_shown ? suggestion(child.key, names_of(keys)) : ""));
            child.good = false;
        } else if (child.good) {
            value(child, *key);
        }
    }
    for (const Key& key : keys) {
        const bool there = std::any_of(node.children.begin(), node.children.end(),
                                       [&](const Node& child) { return child.key == key.name; });
        if (there) continue;
        if (key.required) {
            errors_.add(node.place, "missing key " + quoted(key.name) + std::string(where) + ": " +
                                        std::string(key.help));
        } else if (!key.fallback.empty()) {
            value(node.children.emplace_back(absent(key, node.place)), key);
        }
    }
}

void Checker::value(Node& node, const Key& key) {
    if (key.type == Type::later) {
        if (!is_empty(node)) refuse(node, key, "not in this release");
        return;
    }
    if (!key.list) return one(node, key);
    if (node.kind == Node::Kind::scalar && !key.words.empty()) {
        if (!word(node, key))
            refuse(node, key,
                   quoted(node.text) + " is not " + std::string(key.words) + " or a list");
        return;
    }
    if (node.kind != Node::Kind::list)
        return refuse(node, key, "a list is due here, not " + std::string(kind_name(node.kind)));
    const auto count = static_cast<std::int64_t>(node.children.size());
    if (count < key.least && node.given)
        return refuse(node, key, "at least " + std::to_string(key.least) + " must be given");
    if (count > key.most)
        return refuse(node, key,
                      std::to_string(count) + " are too many: at most " + std::to_string(key.most));
    for (Node& child : node.children)
        if (child.good) one(child, key);
}

void Checker::one(Node& node, const Key& key) {
    const bool wants_map = key.type == Type::section || key.type == Type::named;
    if (node.kind != (wants_map ? Node::Kind::map : Node::Kind::scalar))
        return refuse(node, key,
                      std::string(type_name(key.type)) + " is due here, not " +
                          std::string(kind_name(node.kind)));
    if (key.type == Type::section) return map(node, key.keys, " in " + std::string(key.name));
    if (key.type == Type::named) return named(node, key);
    scalar(node, key);
}

void Checker::named(Node& node, const Key& key) {
    if (node.children.size() > static_cast<std::size_t>(key.most))
        return refuse(node, key,
                      std::to_string(node.children.size()) + " are too many: at most " +
                          std::to_string(key.most));
    for (Node& child : node.children) {
        if (child.key.empty() ||
            !std::all_of(child.key.begin(), child.key.end(), is_name_character)) {
            errors_.add(child.key_place, quoted(child.key) + " is not " + kNameForm);
            child.good = false;
        }
        if (child.kind != Node::Kind::map)
            refuse(child, key, "a map is due here, not " + std::string(kind_name(child.kind)));
        if (child.good) map(child, key.keys, " in " + std::string(key.name));
    }
}

void Checker::scalar(Node& node, const Key& key) {
    switch (key.type) {
        case Type::word:
            return words(node, key);
        case Type::flag:
        case Type::integer:
        case Type::duration:
        case Type::size:
            return number(node, key);
        default:
            return textual(node, key);
    }
}

/// True and numbered when the text is one of the key's words; one of a later release is refused by
/// name.
bool Checker::word(Node& node, const Key& key) {
    const auto all = split(key.words, '|');
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_later = all[i].substr(0, 1) == "!";
        if (node.text != all[i].substr(is_later ? 1 : 0)) continue;
        node.number = static_cast<std::int64_t>(i);
        node.is_word = true;
        if (is_later) refuse(node, key, quoted(node.text) + " is not in this release");
        return true;
    }
    return false;
}

void Checker::words(Node& node, const Key& key) {
    if (word(node, key)) return;
    std::vector<std::string_view> known;
    std::string text;
    for (const std::string_view w : split(key.words, '|'))
        if (w[0] != '!') known.push_back(w);
    for (const std::string_view w : known) text += (text.empty() ? "" : ", ") + std::string(w);
    refuse(node, key, quoted(node.text) + " is not one of " + text + suggestion(node.text, known));
}

void Checker::number(Node& node, const Key& key) {
    if (!key.words.empty() && word(node, key)) return;
    Read read;
    if (key.type == Type::flag) read = read_flag(node.text);
    if (key.type == Type::integer) read = read_integer(node.text);
    if (key.type == Type::duration) read = read_duration(node.text);
    if (key.type == Type::size) read = read_size(node.text);
    if (read.wrong.empty() && !node.plain) read.wrong = "is a text: write it without quotes";
    if (!read.wrong.empty()) {
        const std::string other = key.words.empty() ? "" : " (and not " + quoted(key.words) + ")";
        return refuse(node, key, quoted(node.text) + " " + read.wrong + other);
    }
    node.number = read.number;
    if (key.type == Type::flag || (read.number >= key.min && read.number <= key.max)) return;
    refuse(node, key,
           node.text + " is out of range: " + write_number(key.type, key.min) + " to " +
               write_number(key.type, key.max));
}

void Checker::textual(Node& node, const Key& key) {
    if (!key.words.empty() && word(node, key)) return;
    const auto length = static_cast<std::int64_t>(node.text.size());
    if (key.max > 0 && (length < key.min || length > key.max))
        return refuse(node, key,
                      std::to_string(length) + " characters are out of range: " +
                          std::to_string(key.min) + " to " + std::to_string(key.max));
    bool good = true;
    if (!std::all_of(node.text.begin(), node.text.end(), is_printable))
        return refuse(node, key, quoted(node.text) + " has control characters");
    if (key.type == Type::name)
        good = std::all_of(node.text.begin(), node.text.end(), is_name_character);
    if (key.type == Type::path) good = node.text[0] == '/';
    if (key.type == Type::address) good = IpAddress::parse(node.text).has_value();
    if (key.type == Type::prefix) good = parse_prefix(node.text).has_value();
    if (key.type == Type::endpoint) good = parse_endpoint(node.text).has_value();
    if (key.type == Type::mac) good = parse_mac(node.text).has_value();
    if (good) return;
    std::string form(type_name(key.type));
    if (key.type == Type::name) form = kNameForm;
    if (key.type == Type::path) form = "an absolute path";
    refuse(node, key, quoted(node.text) + " is not " + form);
}

}  // namespace

void check_document(Node& root, Errors& errors) {
    if (root.kind != Node::Kind::map) {
        const Place start = root.place.line == 0 ? Place{1, 1, root.place.file} : root.place;
        errors.add(start, "a configuration is a map of keys, this is " +
                              std::string(kind_name(root.kind)));
        root.kind = Node::Kind::map;
        root.children.clear();
        return;
    }
    Checker(errors).map(root, root_keys(), "");
}

}  // namespace signalbox::config
