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

Errors::Errors(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text_.size(); ++i)
        if (text_[i] == '\n') line_starts_.push_back(i + 1);
}

std::string Errors::line(int number) const {
    const auto index = static_cast<std::size_t>(number - 1);
    if (number < 1 || index >= line_starts_.size()) return {};
    const std::size_t start = line_starts_[index];
    std::string_view line = text_.substr(start, text_.find('\n', start) - start);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return std::string(line.substr(0, kMaxSourceLine));
}

void Errors::add(Place place, std::string text) {
    if (is_full()) {
        ++left_out_;
        return;
    }
    // An escape in quotes must not reach the terminal.
    std::replace_if(text.begin(), text.end(), is_control, '?');
    std::string source = place.column <= static_cast<int>(kMaxSourceLine) ? line(place.line) : "";
    list_.push_back({file_, place.line, place.column, std::move(text), std::move(source)});
}

std::vector<Error> Errors::take() {
    const auto before = [](const Error& a, const Error& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    };
    std::stable_sort(list_.begin(), list_.end(), before);
    if (left_out_ > 0)
        list_.push_back(
            {file_, 0, 0, std::to_string(left_out_) + " more errors are not shown", ""});
    return std::move(list_);
}

}  // namespace signalbox::config
