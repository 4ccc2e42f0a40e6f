// SPDX-License-Identifier: Apache-2.0
// Parameter types of INIT and INIT ACK, RFC 9260 3.3.2.1 and 3.3.3.1 and the IANA registry.
#pragma once
#include "base/ip_address.h"
#include "wire/chunk_writer.h"

namespace signalbox::wire {

enum class ParameterType : std::uint16_t {
    heartbeat_info = 1,
    ipv4_address = 5,
    ipv6_address = 6,
    state_cookie = 7,
    unrecognized_parameter = 8,
    cookie_preservative = 9,
    host_name_address = 11,  // RFC 9260: must not be sent; received: ABORT "unresolvable address"
    supported_address_types = 12,
    outgoing_ssn_reset = 13,  // RFC 6525
    incoming_ssn_reset = 14,
    ssn_tsn_reset = 15,
    re_configuration_response = 16,
    add_outgoing_streams = 17,
    add_incoming_streams = 18,
    ecn_capable = 0x8000,    // RFC 4960 appendix A
    zero_checksum = 0x8001,  // RFC 9653: parsed and ignored
    random = 0x8002,         // RFC 4895
    chunk_list = 0x8003,
    hmac_algorithm = 0x8004,
    padding = 0x8005,                // RFC 4820
    supported_extensions = 0x8008,   // RFC 5061
    forward_tsn_supported = 0xc000,  // RFC 3758
    add_ip_address = 0xc001,         // RFC 5061
    delete_ip_address = 0xc002,
    error_cause_indication = 0xc003,
    set_primary_address = 0xc004,
    success_indication = 0xc005,
    adaptation_layer_indication = 0xc006,
};

constexpr std::uint16_t code(ParameterType type) {
    return static_cast<std::uint16_t>(type);
}

/// IPv4 or IPv6 address parameter. nullopt: another type, a wrong length, or an IPv4-mapped IPv6
/// address (PKT-8).
constexpr std::optional<IpAddress> parse_address(const Parameter& parameter) {
    if (parameter.type == code(ParameterType::ipv4_address)) {
        if (parameter.value.size() != 4) return std::nullopt;
        return IpAddress::v4(load_u32(parameter.value, 0));
    }
    if (parameter.type != code(ParameterType::ipv6_address)) return std::nullopt;
    if (parameter.value.size() != 16) return std::nullopt;
    IpAddress address;
    for (std::size_t i = 0; i < 16; ++i) address.bytes[i] = parameter.value[i];
    if (address.is_v4()) return std::nullopt;
    return address;
}

constexpr void write_address(PacketWriter& out, const IpAddress& address) {
    const Bytes all{address.bytes};
    if (address.is_v4())
        out.parameter(code(ParameterType::ipv4_address), all.subspan(12));
    else
        out.parameter(code(ParameterType::ipv6_address), all);
}

/// The same within an open cause, which a parameter cannot be opened in (3.3.10.11).
constexpr void write_bare_address(PacketWriter& out, const IpAddress& address) {
    const Bytes all{address.bytes};
    const Bytes value = address.is_v4() ? all.subspan(12) : all;
    out.u16(code(address.is_v4() ? ParameterType::ipv4_address : ParameterType::ipv6_address));
    out.u16(static_cast<std::uint16_t>(kTlvHeader + value.size()));
    out.bytes(value);
}

struct AddressTypes {
    bool ipv4 = false;
    bool ipv6 = false;
};
/// RFC 9260 3.3.2.1.5: a list of 16-bit address parameter types. nullopt: odd length.
constexpr std::optional<AddressTypes> parse_supported_address_types(Bytes value) {
    if (value.size() % 2 != 0) return std::nullopt;
    AddressTypes types;
    for (std::size_t at = 0; at < value.size(); at += 2) {
        types.ipv4 |= load_u16(value, at) == code(ParameterType::ipv4_address);
        types.ipv6 |= load_u16(value, at) == code(ParameterType::ipv6_address);
    }
    return types;
}
constexpr void write_supported_address_types(PacketWriter& out, AddressTypes types) {
    out.begin_parameter(code(ParameterType::supported_address_types));
    if (types.ipv4) out.u16(code(ParameterType::ipv4_address));
    if (types.ipv6) out.u16(code(ParameterType::ipv6_address));
    out.end_parameter();
}

/// RFC 9260 3.3.2.1.3: suggested increment of the cookie's life, milliseconds.
constexpr std::optional<std::uint32_t> parse_cookie_preservative_ms(Bytes value) {
    if (value.size() != 4) return std::nullopt;
    return load_u32(value, 0);
}
constexpr void write_cookie_preservative_ms(PacketWriter& out, std::uint32_t increment_ms) {
    out.begin_parameter(code(ParameterType::cookie_preservative));
    out.u32(increment_ms);
    out.end_parameter();
}

/// RFC 9260 3.3.3.1.2: the parameter that was not understood, whole.
constexpr void write_unrecognized(PacketWriter& out, const Parameter& parameter) {
    out.parameter(code(ParameterType::unrecognized_parameter), parameter.raw);
}

}  // namespace signalbox::wire
