// SPDX-License-Identifier: Apache-2.0
#include "config/errors.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace signalbox::config {
namespace {

constexpr std::size_t kMaxSourceLine = 200;  // longer lines are cut: the place says enough

bool starts_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Blanks up to the caret; tabs are kept so that it stands right, UTF-8 continuation bytes take no
/// room.
std::string indent(const std::string& line, int column) {
    std::string blanks;
    for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(column); ++i) {
        const char c = i < line.size() ? line[i] : ' ';
        if (starts_character(c)) blanks += c == '\t' ? '\t' : ' ';
    }
    return blanks;
}

}  // namespace

std::string Error::format() const {
    if (line == 0) return file + ": error: " + text;
    std::string out =
        file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: " + text;
    if (!source_line.empty()) out += "\n" + source_line + "\n" + indent(source_line, column) + "^";
    return out;
}

Errors::Errors(std::string file, std::string text) {
    add_file(std::move(file), std::move(text));
}

std::uint16_t Errors::add_file(std::string file, std::string text) {
    File& f = files_.emplace_back(File{std::move(file), std::move(text), {0}});
    for (std::size_t i = 0; i < f.text.size(); ++i)
        if (f.text[i] == '\n') f.line_starts.push_back(i + 1);
    return static_cast<std::uint16_t>(files_.size() - 1);
}

std::size_t Errors::bytes() const {
    std::size_t sum = 0;
    for (const File& file : files_) sum += file.text.size();
    return sum;
}

std::string Errors::line(Place place) const {
    const File& file = files_[place.file];
    const auto index = static_cast<std::size_t>(place.line - 1);
    if (place.line < 1 || index >= file.line_starts.size()) return {};
    const std::size_t start = file.line_starts[index];
    std::string_view line =
        std::string_view(file.text).substr(start, file.text.find('\n', start) - start);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return std::string(line.substr(0, kMaxSourceLine));
}

std::string Errors::mention(Place place, Place from) const {
    if (place.file == from.file) return "line " + std::to_string(place.line);
    return name_of(place.file) + ":" + std::to_string(place.line);
}

void Errors::add(Place place, std::string text) {
    if (is_full()) {
        ++left_out_;
        return;
    }
    // An escape in quotes must not reach the terminal.
    std::replace_if(text.begin(), text.end(), is_control, '?');
    std::string source = place.column <= static_cast<int>(kMaxSourceLine) ? line(place) : "";
    list_.push_back(
        {place,
         {name_of(place.file), place.line, place.column, std::move(text), std::move(source)}});
}

std::vector<Error> Errors::take() {
    const auto before = [](const Placed& a, const Placed& b) {
        return std::tie(a.place.file, a.place.line, a.place.column) <
               std::tie(b.place.file, b.place.line, b.place.column);
    };
    std::stable_sort(list_.begin(), list_.end(), before);
    std::vector<Error> out;
    for (Placed& placed : list_) out.push_back(std::move(placed.error));
    if (left_out_ > 0)
        out.push_back(
            {name_of(0), 0, 0, std::to_string(left_out_) + " more errors are not shown", ""});
    return out;
}

}  // namespace signalbox::config
