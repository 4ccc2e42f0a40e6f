// SPDX-License-Identifier: Apache-2.0
// Point codes as text: "3-8-3" (ITU), "8-8-8" (ANSI, China), "5-4-7" (Japan), "14" (one number), or
// any custom split.
#include <array>
#include <charconv>

#include "mtp3/route_table.h"

namespace signalbox::mtp3 {

namespace {

constexpr std::size_t kFieldsMax = 3;
constexpr unsigned kBitsMax = 24;  // ANSI and China; no variant has longer point codes

struct Fields {
    std::array<unsigned, kFieldsMax> values{};
    std::size_t count = 0;
};

/// 1 to 3 decimal numbers joined by '-'; digits only, no sign, no blank, no leading zero.
std::optional<Fields> split(std::string_view text) {
    Fields fields;
    while (fields.count < kFieldsMax) {
        const std::size_t end = text.find('-');
        const std::string_view field = text.substr(0, end);
        if (field.empty() || (field.size() > 1 && field.front() == '0')) return std::nullopt;
        unsigned value = 0;
        const auto [stop, error] =
            std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc{} || stop != field.data() + field.size()) return std::nullopt;
        fields.values[fields.count++] = value;
        if (end == std::string_view::npos) return fields;
        text.remove_prefix(end + 1);
    }
    return std::nullopt;
}

std::optional<Fields> widths_of(std::string_view format) {
    const auto widths = split(format);
    if (!widths) return std::nullopt;
    unsigned sum = 0;
    for (std::size_t i = 0; i < widths->count; ++i) {
        if (widths->values[i] == 0 || widths->values[i] > kBitsMax) return std::nullopt;
        sum += widths->values[i];
    }
    if (sum > kBitsMax) return std::nullopt;
    return widths;
}

}  // namespace

bool is_point_code_format(std::string_view format) {
    return widths_of(format).has_value();
}

std::optional<PointCode> parse_point_code(std::string_view text, std::string_view format) {
    const auto widths = widths_of(format);
    const auto fields = split(text);
    if (!widths || !fields || fields->count != widths->count) return std::nullopt;
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < fields->count; ++i) {
        if (fields->values[i] >> widths->values[i] != 0) return std::nullopt;
        code = code << widths->values[i] | fields->values[i];
    }
    return PointCode{code};
}

std::string format_point_code(PointCode pc, std::string_view format) {
    const auto widths = widths_of(format);
    if (!widths) return std::to_string(pc.value);
    std::string text;
    unsigned below = 0;
    for (std::size_t i = widths->count; i-- > 0;) {
        const std::uint32_t field = pc.value >> below & ((1u << widths->values[i]) - 1);
        text.insert(0, (i == 0 ? "" : "-") + std::to_string(field));
        below += widths->values[i];
    }
    return text;
}

}  // namespace signalbox::mtp3
