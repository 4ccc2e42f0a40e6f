// SPDX-License-Identifier: Apache-2.0
#include "config/scalars.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace signalbox::config {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t factor;
};

constexpr std::array kDurations{Unit{"ns", 1},
                                Unit{"us", 1'000},
                                Unit{"ms", 1'000'000},
                                Unit{"s", 1'000'000'000},
                                Unit{"m", 60'000'000'000},
                                Unit{"h", 3'600'000'000'000}};
constexpr std::array kSizes{Unit{"", 1},          Unit{"B", 1},
                            Unit{"KiB", 1 << 10}, Unit{"MiB", 1 << 20},
                            Unit{"GiB", 1 << 30}, Unit{"TiB", std::int64_t{1} << 40}};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

template <std::size_t N>
Read scaled(std::string_view digits, std::string_view unit, const std::array<Unit, N>& units,
            std::string_view hint) {
    Read read = read_integer(digits);
    if (!read.wrong.empty()) return read;
    const auto at = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& candidate) { return candidate.name == unit; });
    if (at == units.end()) return {0, std::string(hint)};
    if (read.number > std::numeric_limits<std::int64_t>::max() / at->factor)
        return {0, "is too large"};
    return {read.number * at->factor, {}};
}

std::size_t count_digits(std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    return static_cast<std::size_t>(end - text.begin());
}

template <std::size_t N>
std::string in_largest_unit(std::int64_t number, const std::array<Unit, N>& units,
                            std::string_view largest) {
    const Unit* best = &units[0];
    for (const Unit& unit : units) {
        if (number % unit.factor == 0 && number >= unit.factor) best = &unit;
        if (unit.name == largest) break;
    }
    return std::to_string(number / best->factor) + std::string(best->name);
}

std::optional<unsigned> hex_byte(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 2 || error != std::errc{} || end != text.data() + 2) return std::nullopt;
    return value;
}

unsigned first_bit(const IpAddress& address) {
    return address.is_v4() ? 96 : 0;
}

}  // namespace

Read read_integer(std::string_view text) {
    const std::string_view digits = text.substr(text.substr(0, 1) == "-" ? 1 : 0);
    if (digits.empty() || count_digits(digits) != digits.size())
        return {0, "is not a whole decimal number"};
    if (digits.size() > 1 && digits[0] == '0') {
        const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
        return {0, "looks octal: write " + std::string(digits.substr(first))};
    }
    std::int64_t number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc{}) return {0, "is too large"};
    return {number, {}};
}

Read read_duration(std::string_view text) {
    const std::size_t digits = count_digits(text);
    const std::string number(text.substr(0, digits));
    if (digits == 0) return {0, "is not a duration such as 500ms, 3s or 2m"};
    if (digits == text.size()) {
        const Read bare = read_integer(text);
        if (!bare.wrong.empty()) return bare;
        return {0, "has no unit: write " + number + "ms, " + number + "s or " + number + "m"};
    }
    return scaled(number, text.substr(digits), kDurations,
                  "has an unknown unit: durations are in us, ms, s, m or h");
}

Read read_size(std::string_view text) {
    const std::size_t digits = count_digits(text);
    if (digits == 0) return {0, "is not a size such as 64KiB or 1MiB"};
    return scaled(text.substr(0, digits), text.substr(digits), kSizes,
                  "has an unknown unit: sizes are in B, KiB, MiB or GiB");
}

Read read_flag(std::string_view text) {
    if (text == "true") return {1, {}};
    if (text == "false") return {0, {}};
    return {0, "is not true or false"};
}

std::string write_duration(std::int64_t nanoseconds) {
    return in_largest_unit(nanoseconds, kDurations, "s");  // 60s, as RFC 9260 writes it
}

std::string write_size(std::int64_t bytes) {
    return in_largest_unit(bytes, kSizes, "TiB");
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

bool Prefix::contains(const IpAddress& other) const {
    if (address.is_v4() != other.is_v4()) return false;
    for (unsigned bit = 0; bit < first_bit(address) + length; ++bit) {
        const unsigned difference = address.bytes[bit / 8] ^ other.bytes[bit / 8];
        if ((difference & (0x80u >> bit % 8)) != 0) return false;
    }
    return true;
}

bool Prefix::has_host_bits() const {
    for (unsigned bit = first_bit(address) + length; bit < 128; ++bit)
        if ((address.bytes[bit / 8] & (0x80u >> bit % 8)) != 0) return true;
    return false;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto address = IpAddress::parse(text.substr(0, slash));
    const Read length = read_integer(text.substr(slash + 1));
    if (!address || !length.wrong.empty()) return std::nullopt;
    if (length.number < 0 || length.number > (address->is_v4() ? 32 : 128)) return std::nullopt;
    return Prefix{*address, static_cast<std::uint8_t>(length.number)};
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    const auto address = IpAddress::parse(host);
    const Read port = read_integer(text.substr(colon + 1));
    if (!address || address->is_v4() == bracketed || !port.wrong.empty()) return std::nullopt;
    if (port.number < 1 || port.number > 65535) return std::nullopt;
    return Endpoint{std::string(host), static_cast<std::uint16_t>(port.number)};
}

std::optional<std::array<std::uint8_t, 6>> parse_mac(std::string_view text) {
    const auto parts = split(text, ':');
    std::array<std::uint8_t, 6> mac{};
    if (parts.size() != mac.size()) return std::nullopt;
    for (std::size_t i = 0; i < mac.size(); ++i) {
        const auto byte = hex_byte(parts[i]);
        if (!byte) return std::nullopt;
        mac[i] = static_cast<std::uint8_t>(*byte);
    }
    const bool group = (mac[0] & 1) != 0;
    if (group || mac == std::array<std::uint8_t, 6>{}) return std::nullopt;
    return mac;
}

}  // namespace signalbox::config
