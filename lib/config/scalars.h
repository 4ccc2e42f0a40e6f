// SPDX-License-Identifier: Apache-2.0
// Numbers as the configuration writes them. YAML's own rules (010 is 8, `yes` is true) are not
// followed: they surprise.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"

namespace signalbox::config {

/// A number, or what is wrong with the text ("is not ...", to stand behind the quoted text).
struct Read {
    std::int64_t number = 0;
    std::string wrong;
};

Read read_integer(std::string_view text);   // decimal
Read read_duration(std::string_view text);  // nanoseconds, from "500ms", "3s", "2m"
Read read_size(std::string_view text);      // bytes, from "64KiB", "1MiB", "4096"
Read read_flag(std::string_view text);      // 0 or 1, from "true" and "false" alone

std::string write_duration(std::int64_t nanoseconds);  // in the largest unit that keeps it whole
std::string write_size(std::int64_t bytes);

struct Prefix {
    IpAddress address;
    std::uint8_t length = 0;                      // of its family
    bool contains(const IpAddress& other) const;  // same family and same first bits
    bool has_host_bits() const;
};
std::optional<Prefix> parse_prefix(std::string_view text);

struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};
std::optional<Endpoint> parse_endpoint(std::string_view text);  // 127.0.0.1:80, [::1]:80

std::optional<std::array<std::uint8_t, 6>> parse_mac(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace signalbox::config
