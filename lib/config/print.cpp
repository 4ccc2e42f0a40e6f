// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <algorithm>

#include "config/scalars.h"

namespace signalbox::config {
namespace {

constexpr std::size_t kCommentColumn = 44;

bool is_plain_safe(std::string_view text) {
    const auto is_safe = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.' || c == '/';
    };
    return !text.empty() && text.front() != '-' && text != "null" && text != "Null" &&
           text != "NULL" && std::all_of(text.begin(), text.end(), is_safe);
}

std::string scalar(const Node& node) {
    // Numbers and flags must not stand in quotes; their texts are safe.
    if (is_plain_safe(node.text)) return node.text;
    std::string out = "\"";
    for (const char c : node.text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

class Printer {
 public:
    explicit Printer(const Errors* origins) : origins_(origins) {}
    void map(const Node& node, std::span<const Key> keys, std::size_t indent);
    std::string take() { return std::move(out_); }

 private:
    void value(const Node& node, const Key& key, std::size_t indent);
    void line(std::size_t indent, const std::string& text, const Node* from = nullptr) {
        std::string whole = std::string(indent, ' ') + text;
        if (!dash_.empty()) whole.replace(indent - dash_.size(), dash_.size(), dash_);
        dash_.clear();
        if (from != nullptr && origins_ != nullptr) {
            if (whole.size() < kCommentColumn) whole.resize(kCommentColumn, ' ');
            whole += "  # " + origin(*from);
        }
        out_ += whole + "\n";
    }
    std::string origin(const Node& node) const {
        if (!node.given) return "default";
        return origins_->name_of(node.place.file) + ":" + std::to_string(node.place.line);
    }
    void profile(const Node& node, std::span<const Key> keys, std::size_t indent);

    const Errors* origins_;
    std::string out_;
    std::string dash_;  // "- " before the first line of a list's item
};

void Printer::map(const Node& node, std::span<const Key> keys, std::size_t indent) {
    for (const Key& key : keys)
        if (const Node* child = node.find(key.name); child != nullptr && key.type != Type::later)
            value(*child, key, indent);
}

/// What a profile does not say its preset does.
void Printer::profile(const Node& node, std::span<const Key> keys, std::size_t indent) {
    const std::int64_t which = node.number_of("preset");
    for (const Key& key : keys) {
        if (const Node* child = node.find(key.name)) {
            value(*child, key, indent);
            continue;
        }
        const std::string value = preset_value(which, key.name);
        std::string text(std::string(indent, ' ') + std::string(key.name) + ": " + value);
        if (origins_ != nullptr) {
            text.resize(std::max(text.size(), kCommentColumn), ' ');
            text += "  # preset " + std::string(preset_name(which));
        }
        if (!value.empty()) out_ += text + "\n";
    }
}

void Printer::value(const Node& node, const Key& key, std::size_t indent) {
    const std::string name = std::string(key.name) + ":";
    if (node.kind == Node::Kind::scalar) return line(indent, name + " " + scalar(node), &node);
    if (node.kind == Node::Kind::list && key.type != Type::section) {
        std::string items;
        for (const Node& item : node.children) items += (items.empty() ? "" : ", ") + scalar(item);
        return line(indent, name + " [" + items + "]", &node);
    }
    if (node.children.empty())
        return line(indent, name + (node.kind == Node::Kind::list ? " []" : " {}"), &node);
    line(indent, name);
    if (node.kind == Node::Kind::map && key.type == Type::section)
        return map(node, key.keys, indent + 2);
    for (const Node& item : node.children) {
        if (key.type == Type::named) {
            line(indent + 2, item.key + ":");
            profile(item, key.keys, indent + 4);
        } else {
            dash_ = "- ";
            map(item, key.keys, indent + 4);
            dash_.clear();
        }
    }
}

std::string example_of(const Key& key) {
    if (!key.example.empty()) return std::string(key.example);
    return std::string(key.fallback);
}

void comment(std::string& out, std::size_t indent, const Key& key) {
    out += std::string(indent, ' ') + "# " + std::string(key.help);
    if (const std::string form = form_of(key); !form.empty()) out += " (" + form + ")";
    out += "\n";
}

/// `shown`: in force; else commented out. An entry of a list begins with a dash.
void write_keys(std::string& out, std::span<const Key> keys, std::size_t indent, bool shown,
                bool entry);

void write_key(std::string& out, const Key& key, std::size_t indent, bool shown) {
    const std::string blanks(indent, ' ');
    const std::string off = shown ? "" : "# ";
    comment(out, indent, key);
    if (key.type == Type::named) {
        out += blanks + "# " + std::string(key.name) + ":\n" + blanks + "#   site:\n";
        return write_keys(out, key.keys, indent + 4, false, false);
    }
    if (key.type == Type::section) {
        const bool in_force = shown && (!key.list || key.required);
        out += blanks + (in_force ? "" : "# ") + std::string(key.name) + ":\n";
        return write_keys(out, key.keys, indent + 2, in_force, key.list);
    }
    std::string text = example_of(key);
    if (key.list && key.words.empty() && (text.empty() || text.front() != '['))
        text = "[" + text + "]";
    const bool in_force = shown && (key.required || !key.example.empty() || !key.fallback.empty());
    out += blanks + (in_force ? off : "# ") + std::string(key.name) + ": " + text + "\n";
}

void write_keys(std::string& out, std::span<const Key> keys, std::size_t indent, bool shown,
                bool entry) {
    if (entry) out += std::string(indent, ' ') + (shown ? "-" : "# -") + "\n";
    for (const Key& key : keys)
        if (key.type != Type::later) write_key(out, key, indent + (entry ? 2 : 0), shown);
}

}  // namespace

std::string form_of(const Key& key) {
    if (key.type == Type::section || key.type == Type::named || key.type == Type::later) return "";
    std::string words;
    for (const std::string_view word : split(key.words, '|'))
        if (!word.empty() && word.front() != '!')
            words += (words.empty() ? "" : ", ") + std::string(word);
    std::string form = key.type == Type::word ? words : std::string(type_name(key.type));
    if (key.type == Type::duration)
        form = "duration, " + write_duration(key.min) + " to " + write_duration(key.max);
    if (key.type == Type::size)
        form = "size, " + write_size(key.min) + " to " + write_size(key.max);
    if (key.type == Type::integer)
        form = std::to_string(key.min) + " to " + std::to_string(key.max);
    if (key.list) form = "list: " + form;
    if (key.type != Type::word && !words.empty()) form += ", or " + words;
    return form;
}

std::string print_document(const Node& root, const Errors* origins) {
    Printer printer(origins);
    printer.map(root, root_keys(), 0);
    return printer.take();
}

std::string print_default_configuration() {
    std::string out =
        "# Every key of Signalbox's configuration with its default. What is commented out may be\n"
        "# left out; addresses and names are examples.\n";
    for (const Key& key : root_keys()) {
        if (key.type == Type::later) continue;
        out += "\n";
        write_key(out, key, 0, true);
    }
    return out;
}

}  // namespace signalbox::config
