// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <arpa/inet.h>

#include <cstring>

#include "base/bytes.h"

namespace signalbox {
namespace {

struct Run {
    unsigned first = 0;
    unsigned length = 0;
};

/// The run of zero groups that "::" stands for: the longest, the first of equals, never a single
/// group (RFC 5952 4.2).
Run zero_run(const IpAddress& address) {
    Run best;
    Run current;
    for (unsigned i = 0; i < 8; ++i) {
        if (load_be16(address.bytes.data() + 2 * i) != 0) {
            current = {};
            continue;
        }
        if (current.length++ == 0) current.first = i;
        if (current.length > best.length) best = current;
    }
    return best.length >= 2 ? best : Run{};
}

void append_hex(std::string& out, unsigned group) {
    static constexpr char kDigits[] = "0123456789abcdef";
    bool started = false;
    for (int shift = 12; shift >= 0; shift -= 4) {
        const unsigned digit = (group >> shift) & 0xf;
        started = started || digit != 0 || shift == 0;
        if (started) out += kDigits[digit];
    }
}

std::string text_v4(const IpAddress& address) {
    std::string out;
    for (unsigned i = 12; i < 16; ++i) {
        if (i != 12) out += '.';
        out += std::to_string(address.bytes[i]);
    }
    return out;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    // inet_pton wants a terminated string, and would stop at a zero byte inside ours.
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    if (text.empty() || text.size() >= buffer.size()) return std::nullopt;
    if (text.find('\0') != std::string_view::npos) return std::nullopt;
    std::memcpy(buffer.data(), text.data(), text.size());

    std::array<std::uint8_t, 4> four{};
    if (inet_pton(AF_INET, buffer.data(), four.data()) == 1) return v4(load_be32(four.data()));
    IpAddress address;
    if (inet_pton(AF_INET6, buffer.data(), address.bytes.data()) != 1) return std::nullopt;
    if (address.is_v4()) return std::nullopt;  // "::ffff:a.b.c.d" is a second name of a.b.c.d
    return address;
}

std::string IpAddress::text() const {
    if (is_v4()) return text_v4(*this);
    const Run run = zero_run(*this);
    std::string out;
    for (unsigned i = 0; i < 8; ++i) {
        if (run.length != 0 && i == run.first) {
            out += "::";
            i += run.length - 1;
            continue;
        }
        if (!out.empty() && out.back() != ':') out += ':';
        append_hex(out, load_be16(bytes.data() + 2 * i));
    }
    return out;
}

}  // namespace signalbox
