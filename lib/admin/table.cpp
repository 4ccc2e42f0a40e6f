// SPDX-License-Identifier: Apache-2.0
#include "admin/table.h"

#include <algorithm>
#include <cstdio>

namespace signalbox::admin {

namespace {

constexpr std::string_view kTable = "table";
constexpr std::string_view kColumns = "columns";
constexpr std::string_view kRow = "row";
constexpr std::string_view kEnd = "end";

std::string escaped(std::string_view cell) {
    std::string out;
    for (const char c : cell) {
        if (c == '\\')
            out += "\\\\";
        else if (c == '\t')
            out += "\\t";
        else if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

std::string unescaped(std::string_view cell) {
    std::string out;
    for (std::size_t i = 0; i < cell.size(); ++i) {
        if (cell[i] != '\\' || i + 1 == cell.size()) {
            out += cell[i];
            continue;
        }
        const char next = cell[++i];
        out += next == 't' ? '\t' : next == 'n' ? '\n' : next;
    }
    return out;
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> cells;
    for (;;) {
        const std::size_t tab = line.find('\t');
        cells.push_back(line.substr(0, tab));
        if (tab == std::string_view::npos) return cells;
        line.remove_prefix(tab + 1);
    }
}

std::vector<std::string> rest_of(const std::vector<std::string_view>& cells) {
    std::vector<std::string> out;
    for (std::size_t i = 1; i < cells.size(); ++i) out.push_back(unescaped(cells[i]));
    return out;
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

/// Columns of a terminal: UTF-8 continuation bytes take none.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

void pad(std::string& line, std::string_view cell, std::size_t width, bool right) {
    const std::string blanks(width - std::min(width, width_of(cell)), ' ');
    line += right ? blanks + std::string(cell) : std::string(cell) + blanks;
}

void trim(std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
    line += '\n';
}

std::string upright(const Table& table) {
    std::size_t width = 0;
    for (const Column& c : table.columns) width = std::max(width, width_of(c.head));
    std::string out;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        std::string line;
        pad(line, table.columns[i].head, width, false);
        out += line + "  " + table.rows[0][i] + "\n";
    }
    return out;
}

}  // namespace

std::string encode(const Table& table) {
    std::string out = std::string(kTable) + "\t" + escaped(table.schema) + "\n";
    out += kColumns;
    for (const Column& c : table.columns)
        out += "\t" + escaped(c.name) + "\t" + escaped(c.head) + "\t" +
               std::to_string(static_cast<int>(c.kind));
    out += "\n";
    for (const auto& row : table.rows) {
        out += kRow;
        for (const std::string& cell : row) out += "\t" + escaped(cell);
        out += "\n";
    }
    return out + std::string(kEnd) + "\n";
}

std::optional<Table> decode_table(std::string_view text) {
    Table table;
    const auto first = split(next_line(text));
    if (first.size() != 2 || first[0] != kTable) return std::nullopt;
    table.schema = unescaped(first[1]);
    const auto names = split(next_line(text));
    if (names[0] != kColumns || names.size() % 3 != 1) return std::nullopt;
    for (std::size_t i = 1; i < names.size(); i += 3) {
        const bool known = names[i + 2] == "0" || names[i + 2] == "1" || names[i + 2] == "2";
        if (!known) return std::nullopt;
        table.columns.push_back({unescaped(names[i]), unescaped(names[i + 1]),
                                 static_cast<Cell>(names[i + 2][0] - '0')});
    }
    while (!text.empty()) {
        const auto cells = split(next_line(text));
        if (cells[0] == kEnd) return table;
        if (cells[0] != kRow || cells.size() != table.columns.size() + 1) return std::nullopt;
        table.rows.push_back(rest_of(cells));
    }
    return std::nullopt;  // it broke off
}

std::string table_as_text(const Table& table) {
    if (table.rows.size() == 1 && table.columns.size() > 8) return upright(table);
    std::vector<std::size_t> widths;
    for (const Column& c : table.columns) widths.push_back(width_of(c.head));
    for (const auto& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    std::string head;
    std::string rule;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        pad(head, table.columns[i].head, widths[i], table.columns[i].kind == Cell::number);
        rule += std::string(widths[i], '-');
        if (i + 1 < table.columns.size()) head += "  ", rule += "  ";
    }
    trim(head);
    trim(rule);
    std::string out = head + rule;
    for (const auto& row : table.rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            pad(line, row[i], widths[i], table.columns[i].kind == Cell::number);
            if (i + 1 < row.size()) line += "  ";
        }
        trim(line);
        out += line;
    }
    return out;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c) & 0xffu);
            out += code;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string table_as_json(const Table& table) {
    std::string out = "{\"schema\": " + json_string(table.schema) + ", \"rows\": [";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        out += r == 0 ? "\n  {" : ",\n  {";
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            const std::string& cell = table.rows[r][i];
            const bool bare = table.columns[i].kind != Cell::text;
            out += (i == 0 ? "" : ", ") + json_string(table.columns[i].name) + ": ";
            out += cell.empty() ? "null" : bare ? cell : json_string(cell);
        }
        out += "}";
    }
    return out + (table.rows.empty() ? "]}\n" : "\n]}\n");
}

}  // namespace signalbox::admin
