// SPDX-License-Identifier: Apache-2.0
// What routing may look at inside the user part of an MTP3 message: the called party's subsystem
// number (SCCP, ITU-T Q.713 section 3; ANSI T1.112.3) and the circuit (ISUP, Q.763 1.2).
//
//   UDT  | type 9 | class | pointer called | pointer calling | pointer data | ...
//   XUDT | type 17 | class | hops | pointer called | ...      LUDT: pointers of two octets
//   CR   | type 1 | source reference (3) | class | pointer called | ...
//   called party: | length | indicator | point code, SSN (ITU) or SSN, point code (ANSI) | title |
#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace signalbox::wire {

inline constexpr std::uint8_t kSiSccp = 3;  // Q.704 14.2.1
inline constexpr std::uint8_t kSiIsup = 5;

enum class AddressForm : std::uint8_t { itu, ansi };

namespace user_part {

/// Where the pointer to the called party address stands, and how long it is.
struct CalledPointer {
    std::uint8_t type;
    std::uint8_t at;
    std::uint8_t octets;
};
inline constexpr CalledPointer kCalledPointers[] = {
    {0x01, 5, 1},                // CR
    {0x09, 2, 1}, {0x0a, 2, 1},  // UDT, UDTS
    {0x11, 3, 1}, {0x12, 3, 1},  // XUDT, XUDTS
    {0x13, 3, 2}, {0x14, 3, 2},  // LUDT, LUDTS
};

/// The called party address, its length octet taken off; nullopt: none, or its pointer lies.
constexpr std::optional<std::span<const std::uint8_t>> called_address(
    std::span<const std::uint8_t> sccp) {
    if (sccp.empty()) return std::nullopt;
    for (const CalledPointer& p : kCalledPointers) {
        if (p.type != sccp[0]) continue;
        if (sccp.size() < std::size_t{p.at} + p.octets) return std::nullopt;
        // A pointer counts from its own first octet; the long one from its last (Q.713 2.3, 4.19).
        std::size_t begin = p.at;
        begin += p.octets == 1 ? sccp[p.at]
                               : std::size_t{sccp[p.at]} + (std::size_t{sccp[p.at + 1u]} << 8) + 1;
        if (begin < std::size_t{p.at} + p.octets || begin >= sccp.size()) return std::nullopt;
        const std::size_t length = sccp[begin];
        if (length == 0 || begin + 1 + length > sccp.size()) return std::nullopt;
        return sccp.subspan(begin + 1, length);
    }
    return std::nullopt;
}

}  // namespace user_part

/// nullopt: no such address, none in it, or malformed.
constexpr std::optional<std::uint8_t> called_ssn(std::span<const std::uint8_t> sccp,
                                                 AddressForm form) {
    const auto address = user_part::called_address(sccp);
    if (!address) return std::nullopt;
    const std::uint8_t indicator = (*address)[0];
    const bool itu = form == AddressForm::itu;
    const bool has_ssn = (indicator & (itu ? 2 : 1)) != 0;
    const bool has_point_code = (indicator & (itu ? 1 : 2)) != 0;
    if (!has_ssn) return std::nullopt;
    // ITU: the point code (2 octets) comes first; ANSI: the SSN.
    const std::size_t at = itu && has_point_code ? 3 : 1;
    if (address->size() <= at) return std::nullopt;
    return (*address)[at];
}

/// Circuit identification code: 12 bits (ITU), 14 bits (ANSI), low octet first.
constexpr std::optional<std::uint16_t> circuit(std::span<const std::uint8_t> isup,
                                               AddressForm form) {
    if (isup.size() < 2) return std::nullopt;
    const unsigned high = isup[1] & (form == AddressForm::itu ? 0x0f : 0x3f);
    return static_cast<std::uint16_t>(isup[0] | high << 8);
}

}  // namespace signalbox::wire
