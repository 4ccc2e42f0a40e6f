// SPDX-License-Identifier: Apache-2.0
#include "config/changes.h"

#include <algorithm>
#include <unordered_map>

#include "config/check.h"
#include "config/document.h"
#include "config/errors.h"

namespace signalbox::config {
namespace {

/// The tree of a text that was good before.
Node tree_of(const std::string& text) {
    Errors errors("", text);
    auto root = parse_document(0, errors);
    if (!root) return {};
    check_document(*root, errors);
    return std::move(*root);
}

std::string text_of(const Node* node) {
    if (node == nullptr) return "";
    if (node->kind == Node::Kind::scalar) return node->text;
    std::string out;
    for (const Node& child : node->children) {
        out += out.empty() ? "" : ", ";
        if (!child.key.empty()) out += child.key + ": ";
        out += child.kind == Node::Kind::scalar ? child.text : "{" + text_of(&child) + "}";
    }
    return out;
}

Reload strictest(std::span<const Key> keys) {
    Reload most = Reload::live;
    for (const Key& key : keys) {
        const bool is_map = key.type == Type::section || key.type == Type::named;
        if (key.type != Type::later)
            most = std::max(most, is_map ? strictest(key.keys) : key.reload);
    }
    return most;
}

bool has_name(const Key& key) {
    return std::any_of(key.keys.begin(), key.keys.end(),
                       [](const Key& k) { return k.name == "name" && k.required; });
}

class Comparer {
 public:
    void maps(const Node* a, const Node* b, std::span<const Key> keys, const std::string& path) {
        for (const Key& key : keys) {
            const Node* before = a != nullptr ? a->find(key.name) : nullptr;
            const Node* after = b != nullptr ? b->find(key.name) : nullptr;
            const std::string name = path + std::string(key.name);
            const bool is_map = key.type == Type::section || key.type == Type::named;
            if (is_map && !key.list && key.type == Type::section)
                maps(before, after, key.keys, name + ".");
            else if (is_map && (key.type == Type::named || has_name(key)))
                entries(before, after, key, name);
            else
                note(name, text_of(before), text_of(after),
                     is_map ? strictest(key.keys) : key.reload);
        }
    }
    std::vector<Change> take() { return std::move(changes_); }

 private:
    void note(const std::string& name, const std::string& before, const std::string& after,
              Reload reload) {
        if (before != after) changes_.push_back({name, before, after, reload});
    }
    static std::unordered_map<std::string, const Node*> by_name(const Node* list, const Key& key) {
        std::unordered_map<std::string, const Node*> out;
        if (list == nullptr) return out;
        for (const Node& entry : list->children)
            out.emplace(key.type == Type::named ? entry.key : entry.text_of("name"), &entry);
        return out;
    }
    void entries(const Node* before, const Node* after, const Key& key, const std::string& path) {
        const auto old = by_name(before, key);
        const auto fresh = by_name(after, key);
        const auto named = [&](const std::string& name) { return path + "[" + name + "]"; };
        for (const auto& [name, entry] : old)
            if (!fresh.contains(name)) note(named(name), "there", "", key.reload);
        for (const auto& [name, entry] : fresh) {
            const auto there = old.find(name);
            if (there == old.end())
                note(named(name), "", "there", key.reload);
            else
                maps(there->second, entry, key.keys, named(name) + ".");
        }
    }

    std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> changes_between(const Configuration& before, const Configuration& after) {
    const Node a = tree_of(before.effective);
    const Node b = tree_of(after.effective);
    Comparer comparer;
    comparer.maps(&a, &b, root_keys(), "");
    auto changes = comparer.take();
    std::sort(changes.begin(), changes.end(),
              [](const Change& x, const Change& y) { return x.key < y.key; });
    return changes;
}

}  // namespace signalbox::config
