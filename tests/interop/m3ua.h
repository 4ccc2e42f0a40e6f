// SPDX-License-Identifier: Apache-2.0
// M3UA (RFC 4666) as the test peers speak it. Written from the RFC on its own, without a line of
// lib/wire, so that a misreading in one of the two shows as a refused message.
//
//    0                   1                   2                   3
//   +---------------+---------------+---------------+---------------+
//   |  version = 1  |   reserved    | message class | message type  |
//   +---------------+---------------+---------------+---------------+
//   |                 length, header and padding                    |
//   +-------------------------------+-------------------------------+
//   |         parameter tag         |  length, without its padding  |
//   +-------------------------------+-------------------------------+
//   |               value, padded with zeros to 4 octets            |
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace interop::m3ua {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

inline constexpr std::uint32_t kPayloadProtocol = 3;  // RFC 4666 7.1
inline constexpr std::uint16_t kPort = 2905;

// Message class in the high octet, message type in the low one (RFC 4666 3.1.2).
enum class Kind : std::uint16_t {
    err = 0x0000,
    ntfy = 0x0001,
    data = 0x0101,
    duna = 0x0201,
    dava = 0x0202,
    daud = 0x0203,
    scon = 0x0204,
    dupu = 0x0205,
    drst = 0x0206,
    aspup = 0x0301,
    aspdn = 0x0302,
    beat = 0x0303,
    aspup_ack = 0x0304,
    aspdn_ack = 0x0305,
    beat_ack = 0x0306,
    aspac = 0x0401,
    aspia = 0x0402,
    aspac_ack = 0x0403,
    aspia_ack = 0x0404,
};

enum class Tag : std::uint16_t {
    routing_context = 0x0006,
    heartbeat = 0x0009,
    traffic_mode = 0x000b,
    error_code = 0x000c,
    status = 0x000d,
    asp_identifier = 0x0011,
    affected_point_code = 0x0012,
    network_appearance = 0x0200,
    protocol_data = 0x0210,
};

inline constexpr std::uint32_t kLoadshare = 2;  // traffic mode, RFC 4666 3.7.1
inline constexpr std::uint32_t kAsInactive =
    0x00010002;  // status type 1, information 2 (RFC 4666 3.8.2)
inline constexpr std::uint32_t kAsActive = 0x00010003;

struct Parameter {
    Tag tag;
    Bytes value;
};

struct Message {
    Kind kind;
    std::vector<Parameter> parameters;

    View find(Tag tag) const;  // empty where the message has no such parameter
    std::optional<std::uint32_t> number(Tag tag) const;
};

/// The routing label and the user data of a DATA message (RFC 4666 3.3.1).
struct ProtocolData {
    std::uint32_t opc = 0;
    std::uint32_t dpc = 0;
    std::uint8_t service = 3;            // SCCP
    std::uint8_t network_indicator = 2;  // national
    std::uint8_t priority = 0;
    std::uint8_t sls = 0;
    View user_data;
};

std::uint32_t get32(View at, std::size_t offset);
void put32(Bytes& out, std::uint32_t value);
Parameter parameter(Tag tag, std::uint32_t value);

Bytes encode(const Message& message);
/// Nothing where the bytes are no M3UA message of version 1 with sound lengths.
std::optional<Message> decode(View bytes);

Bytes encode_data(std::optional<std::uint32_t> routing_context, const ProtocolData& data);
std::optional<ProtocolData> protocol_data(const Message& message);

/// "2-2-2" (ITU 3-8-3) or a plain number.
std::optional<std::uint32_t> parse_point_code(const std::string& text);

}  // namespace interop::m3ua
