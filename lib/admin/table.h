// SPDX-License-Identifier: Apache-2.0
// What the control socket answers: a table with a versioned name. The daemon sends it as lines of
// cells between tabs; signalboxctl shows it as columns or as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::admin {

enum class Cell : std::uint8_t { text, number, flag };

struct Column {
    std::string name;  // as JSON names it: lower case, '_'
    std::string head;  // as people read it
    Cell kind = Cell::text;
};

struct Table {
    std::string schema;  // "signalbox.peers/1"; a version only grows
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;  // one cell a column; empty: nothing to say

    void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
};

std::string encode(const Table& table);
std::optional<Table> decode_table(std::string_view text);

/// Columns under their heads, numbers to the right; a table of one row stands upright.
std::string table_as_text(const Table& table);
/// {"schema": ..., "rows": [{...}]}; empty cells are null.
std::string table_as_json(const Table& table);

std::string json_string(std::string_view text);

}  // namespace signalbox::admin
