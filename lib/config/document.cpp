// SPDX-License-Identifier: Apache-2.0
#include "config/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cstdlib>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace signalbox::config {
namespace {

struct Stop {};  // what is left cannot be read in any useful way

/// Comments and quoted texts count too, so it is more than any honest file leaves open in them.
constexpr long kMaxOpenBrackets = 100'000;

std::string too_deep() {
    return "nested deeper than " + std::to_string(kMaxDepth) + " levels";
}

class TreeBuilder : public YAML::EventHandler {
 public:
    TreeBuilder(Errors& errors, std::uint16_t file) : errors_(errors), file_(file) {}
    Node take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ == 0) return;
        errors_.add(place_of(mark), "a configuration is one document: a second one begins here");
        throw Stop{};
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (wants_key()) refuse_key(mark);
        check_anchor(mark, anchor);
        append(mark, Node::Kind::null);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        errors_.add(place_of(mark), "aliases are not allowed");
        if (wants_key()) throw Stop{};
        append(mark, Node::Kind::null).good = false;
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check_anchor(mark, anchor);
        if (wants_key()) return take_key(mark, value);
        Node& node = append(mark, Node::Kind::scalar);
        node.plain = tag != "!";
        check_tag(mark, tag);
        expand(node, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::list);
    }
    void OnSequenceEnd() override { open_.pop_back(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::map);
    }
    void OnMapEnd() override { open_.pop_back(); }

 private:
    struct Open {
        Node* node;  // stays where it is: its parent's list grows only after it is closed
        std::unordered_map<std::string, int> lines_of_keys;
        std::optional<Node> pending;  // a key whose value is awaited
    };

    Place place_of(const YAML::Mark& mark) const { return {mark.line + 1, mark.column + 1, file_}; }
    bool wants_key() const {
        return !open_.empty() && open_.back().node->kind == Node::Kind::map &&
               !open_.back().pending;
    }
    [[noreturn]] void refuse_key(const YAML::Mark& mark) {
        errors_.add(place_of(mark), "a key must be a plain word");
        throw Stop{};
    }
    void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor) errors_.add(place_of(mark), "anchors are not allowed");
    }
    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (tag.empty() || tag == "?" || tag == "!") return;
        errors_.add(place_of(mark), "tags are not allowed");
    }
    void take_key(const YAML::Mark& mark, const std::string& name) {
        Open& map = open_.back();
        map.pending.emplace();
        map.pending->key = name;
        map.pending->key_place = place_of(mark);
        if (map.lines_of_keys.size() >= kMaxKeysOfMap) {
            errors_.add(place_of(mark),
                        "more than " + std::to_string(kMaxKeysOfMap) + " keys in one map");
            throw Stop{};
        }
        const auto [found, fresh] = map.lines_of_keys.emplace(name, mark.line + 1);
        if (fresh) return;
        errors_.add(place_of(mark), "duplicate key '" + name + "': first given in line " +
                                        std::to_string(found->second));
        map.pending->good = false;
    }
    Node& append(const YAML::Mark& mark, Node::Kind kind) {
        if (++nodes_ > kMaxNodes) {
            errors_.add(place_of(mark), "more than " + std::to_string(kMaxNodes) + " values");
            throw Stop{};
        }
        Node node;
        if (!open_.empty() && open_.back().pending) {
            node = std::move(*open_.back().pending);
            open_.back().pending.reset();
        }
        node.kind = kind;
        node.place = place_of(mark);
        if (open_.empty()) return root_ = std::move(node);
        return open_.back().node->children.emplace_back(std::move(node));
    }
    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              Node::Kind kind) {
        if (wants_key()) refuse_key(mark);
        check_anchor(mark, anchor);
        check_tag(mark, tag);
        if (open_.size() == kMaxDepth) {
            errors_.add(place_of(mark), too_deep());
            throw Stop{};
        }
        open_.push_back({&append(mark, kind), {}, std::nullopt});
    }
    void expand(Node& node, const std::string& value);

    Errors& errors_;
    std::uint16_t file_;
    Node root_;
    std::vector<Open> open_;
    std::size_t nodes_ = 0;
    int documents_ = 0;
};

/// ${NAME} and ${NAME:-default} give the environment's value, once: what it holds is not expanded
/// again.
void TreeBuilder::expand(Node& node, const std::string& value) {
    std::size_t at = 0;
    for (;;) {
        const std::size_t begin = value.find("${", at);
        node.text += value.substr(at, begin - at);
        if (begin == std::string::npos) return;
        node.plain = true;  // in a flow map it can only stand in quotes
        const std::size_t end = value.find('}', begin);
        if (end == std::string::npos) {
            errors_.add(node.place, "'${' without '}'");
            node.good = false;
            return;
        }
        const std::string inside = value.substr(begin + 2, end - begin - 2);
        const std::size_t dash = inside.find(":-");
        const std::string name = inside.substr(0, dash);
        const char* found = std::getenv(name.c_str());
        if (found != nullptr && *found != '\0') {
            node.text += found;
        } else if (dash != std::string::npos) {
            node.text += inside.substr(dash + 2);
        } else {
            errors_.add(node.place,
                        "environment variable '" + name + "' is not set and has no default");
            node.good = false;
        }
        at = end + 1;
    }
}

/// What yaml-cpp cannot be given. It takes byte 4 for the end of the file and would drop the rest
/// without a word, and it reads all brackets that are open before it says that there is one:
/// minutes for a file of them.
bool is_readable(std::uint16_t file, Errors& errors) {
    const std::string_view text = errors.text_of(file);
    Place place{1, 1, file};
    int open_in_line = 0;
    long open_in_all = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f) {
            errors.add(place, "control character " + std::to_string(byte));
            return false;
        }
        const int change = c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        open_in_line += change;
        open_in_all += change;
        if (open_in_line > static_cast<int>(kMaxDepth) || open_in_all > kMaxOpenBrackets) {
            errors.add(place, too_deep());
            return false;
        }
        ++place.column;
        if (c != '\n') continue;
        place = {place.line + 1, 1, file};
        open_in_line = 0;
    }
    return true;
}

}  // namespace

const Node* Node::find(std::string_view name) const {
    for (const Node& child : children)
        if (child.key == name && child.good) return &child;
    return nullptr;
}

std::int64_t Node::number_of(std::string_view name, std::int64_t otherwise) const {
    const Node* node = find(name);
    return node != nullptr ? node->number : otherwise;
}

std::string Node::text_of(std::string_view name) const {
    const Node* node = find(name);
    return node != nullptr ? node->text : std::string();
}

const std::vector<Node>& Node::children_of(std::string_view name) const {
    static const std::vector<Node> none;
    const Node* node = find(name);
    return node != nullptr ? node->children : none;
}

std::optional<Node> parse_document(std::uint16_t file, Errors& errors) {
    if (!is_readable(file, errors)) return std::nullopt;
    TreeBuilder builder(errors, file);
    std::istringstream in{std::string(errors.text_of(file))};
    try {
        YAML::Parser parser(in);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Stop&) {
        return std::nullopt;
    } catch (const YAML::Exception& e) {
        errors.add({e.mark.line + 1, e.mark.column + 1, file}, "not valid YAML: " + e.msg);
        return std::nullopt;
    }
    return builder.take();
}

}  // namespace signalbox::config
