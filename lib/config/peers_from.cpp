// SPDX-License-Identifier: Apache-2.0
// Peers from a spreadsheet: the first line names keys of `peers` (`limits.messages_per_second` for
// one of a map), an empty cell leaves its key at the default, a list's items are parted by blanks
// or ';'. The table of keys judges the cells like any other value.
#include <algorithm>

#include "config/gather.h"
#include "config/keys.h"
#include "config/scalars.h"
#include "config/spelling.h"

namespace signalbox::config {
namespace {

constexpr std::size_t kMaxColumns = 64;

struct Cell {
    Place place;
    std::string text;
    bool quoted = false;
};

/// One record after the other (RFC 4180; a quoted cell may not hold a line end).
class Reader {
 public:
    Reader(std::uint16_t file, Errors& errors) : text_(errors.text_of(file)), errors_(errors) {
        place_ = {1, 1, file};
    }
    bool next(std::vector<Cell>& cells) {
        cells.clear();
        while (at_ < text_.size() && cells.empty()) line(cells);
        return !cells.empty();
    }

 private:
    void line(std::vector<Cell>& cells) {
        std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view rest = text_.substr(at_, end - at_);
        at_ = end + 1;
        if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
        place_.column = 1;
        if (rest.find_first_not_of(" \t") != std::string_view::npos && rest.front() != '#')
            while (cell(rest, cells)) {
            }
        ++place_.line;
    }
    /// False: it was the last one of its line.
    bool cell(std::string_view& rest, std::vector<Cell>& cells) {
        Cell& out = cells.emplace_back();
        const std::string_view whole = rest;
        const std::size_t start = std::min(rest.find_first_not_of(" \t"), rest.size());
        rest.remove_prefix(start);
        out.place = place_;
        out.place.column += static_cast<int>(start);
        out.quoted = !rest.empty() && rest.front() == '"';
        if (out.quoted) quoted(rest, out);
        const std::size_t comma = rest.find(',');
        const std::string_view tail = rest.substr(0, comma);
        const std::size_t last = tail.find_last_not_of(" \t");
        if (last != std::string_view::npos) {
            if (out.quoted) errors_.add(out.place, "a quoted cell ends before its comma");
            out.text += tail.substr(0, last + 1);
        }
        if (comma == std::string_view::npos || cells.size() > kMaxColumns) return false;
        rest.remove_prefix(comma + 1);
        place_.column += static_cast<int>(whole.size() - rest.size());
        return true;
    }
    void quoted(std::string_view& rest, Cell& out) {
        rest.remove_prefix(1);
        for (;;) {
            const std::size_t quote = rest.find('"');
            out.text += rest.substr(0, quote);
            if (quote == std::string_view::npos) {
                errors_.add(out.place, "a quoted cell does not end in its line");
                rest = {};
                return;
            }
            rest.remove_prefix(quote + 1);
            if (rest.empty() || rest.front() != '"') return;
            out.text += '"';
            rest.remove_prefix(1);
        }
    }

    std::string_view text_;
    Errors& errors_;
    std::size_t at_ = 0;
    Place place_;
};

struct Column {
    const Key* outer = nullptr;  // the map that the key is in, below a peer
    const Key* key = nullptr;    // nullptr: refused, its cells are not read
    std::string name;
};

const Key* find_key(std::span<const Key> keys, std::string_view name) {
    const auto at =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
    return at == keys.end() ? nullptr : &*at;
}

Column column_of(const Cell& cell, std::span<const Key> keys, Errors& errors) {
    Column column{nullptr, nullptr, cell.text};
    const std::size_t dot = cell.text.find('.');
    if (dot != std::string::npos) {
        column.outer = find_key(keys, cell.text.substr(0, dot));
        if (column.outer != nullptr) keys = column.outer->keys;
    }
    column.key = find_key(keys, dot == std::string::npos ? cell.text : cell.text.substr(dot + 1));
    if (column.key == nullptr) {
        std::vector<std::string_view> names;
        for (const Key& key : keys) names.push_back(key.name);
        errors.add(cell.place, "unknown column '" + cell.text + "'" + suggestion(cell.text, names));
    } else if (column.key->type == Type::section || column.key->type == Type::named) {
        errors.add(cell.place, "column '" + cell.text + "' is a map: name one of its keys, as " +
                                   cell.text + "." + std::string(column.key->keys[0].name));
        column.key = nullptr;
    }
    return column;
}

Node scalar_of(const Cell& cell, std::string_view text) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.place = cell.place;
    node.text = text;
    return node;
}

Node value_of(const Cell& cell, const Key& key) {
    if (!key.list) return scalar_of(cell, cell.text);
    Node list;
    list.kind = Node::Kind::list;
    list.place = cell.place;
    std::string_view rest = cell.text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of("; \t"), rest.size());
        if (end > 0) list.children.push_back(scalar_of(cell, rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return list;
}

void put(Node& peer, const Column& column, const Cell& cell) {
    Node* into = &peer;
    if (column.outer != nullptr) {
        const auto at = std::find_if(peer.children.begin(), peer.children.end(),
                                     [&](const Node& n) { return n.key == column.outer->name; });
        into = at != peer.children.end() ? &*at : &peer.children.emplace_back();
        into->key = column.outer->name;
        into->kind = Node::Kind::map;
        into->key_place = into->place = cell.place;
    }
    Node value = value_of(cell, *column.key);
    value.key = column.key->name;
    value.key_place = cell.place;
    into->children.push_back(std::move(value));
}

}  // namespace

void append_peers(Node& peers, std::uint16_t file, Errors& errors) {
    const Key* key = find_key(root_keys(), "peers");
    Reader reader(file, errors);
    std::vector<Cell> cells;
    std::vector<Column> columns;
    if (!reader.next(cells))
        return errors.add({1, 1, file}, "a first line with column names is due");
    for (const Cell& cell : cells) {
        const auto same = [&](const Column& c) { return c.name == cell.text; };
        const bool twice = std::any_of(columns.begin(), columns.end(), same);
        columns.push_back(column_of(cell, key->keys, errors));
        if (!twice) continue;
        errors.add(cell.place, "column '" + cell.text + "' stands there twice");
        columns.back().key = nullptr;
    }
    while (reader.next(cells)) {
        if (cells.size() != columns.size()) {
            errors.add(cells.front().place, std::to_string(cells.size()) + " cells in a table of " +
                                                std::to_string(columns.size()) + " columns");
            continue;
        }
        if (peers.children.size() >= kMaxNodes / 8)
            return errors.add(cells.front().place, "too many peers");
        Node& peer = peers.children.emplace_back();
        peer.kind = Node::Kind::map;
        peer.place = cells.front().place;
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (columns[i].key != nullptr && !cells[i].text.empty())
                put(peer, columns[i], cells[i]);
    }
}

}  // namespace signalbox::config
