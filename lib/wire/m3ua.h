// SPDX-License-Identifier: Apache-2.0
// M3UA messages (RFC 4666 section 3): common header, classes and types, parameters, and a builder
// for management.
//
//   | version 1 (1) | reserved (1) | class (1) | type (1) |
//   | message length, header and padding included (4)     |
//   | parameter: tag (2) | length (2) | value, padded to 4 | ...
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/tlv.h"

namespace signalbox::wire::m3ua {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kRoutingLabelBytes = 12;  // Protocol Data before the user data, 3.3.1
/// The largest message defined has 6 different parameters; the rest is room for what a later
/// version may add.
inline constexpr std::size_t kParametersMax = 32;
inline constexpr std::uint32_t kPpid = 3;  // 7.1

enum class Class : std::uint8_t { mgmt = 0, transfer = 1, ssnm = 2, aspsm = 3, asptm = 4, rkm = 9 };

/// Class and type in one number, so that one switch serves all messages.
enum class Message : std::uint16_t {
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
    reg_req = 0x0901,
    reg_rsp = 0x0902,
    dereg_req = 0x0903,
    dereg_rsp = 0x0904,
};
constexpr Message message_of(std::uint8_t message_class, std::uint8_t message_type) {
    return static_cast<Message>(message_class << 8 | message_type);
}
bool is_known_class(std::uint8_t message_class);
bool is_known_type(std::uint8_t message_class, std::uint8_t message_type);

enum class Tag : std::uint16_t {  // 3.2
    info_string = 0x0004,
    routing_context = 0x0006,
    diagnostic = 0x0007,
    heartbeat_data = 0x0009,
    traffic_mode = 0x000b,
    error_code = 0x000c,
    status = 0x000d,
    asp_identifier = 0x0011,
    affected_point_code = 0x0012,
    correlation_id = 0x0013,
    network_appearance = 0x0200,
    user_cause = 0x0204,
    congestion = 0x0205,
    concerned_destination = 0x0206,
    protocol_data = 0x0210,
};

enum class ErrorCode : std::uint32_t {  // 3.8.1
    invalid_version = 0x01,
    unsupported_class = 0x03,
    unsupported_type = 0x04,
    unsupported_traffic_mode = 0x05,
    unexpected_message = 0x06,
    protocol_error = 0x07,
    invalid_stream = 0x09,
    management_blocking = 0x0d,
    asp_identifier_required = 0x0e,
    invalid_asp_identifier = 0x0f,
    invalid_parameter_value = 0x11,
    parameter_field_error = 0x12,
    unexpected_parameter = 0x13,
    destination_status_unknown = 0x14,
    invalid_network_appearance = 0x15,
    missing_parameter = 0x16,
    invalid_routing_context = 0x19,
    no_configured_as = 0x1a,
};
inline constexpr std::size_t kDiagnosticMax = 40;  // "the first 40 octets of the message", 3.8.1

struct Status {  // of NTFY, 3.8.2
    std::uint16_t type = 0;
    std::uint16_t information = 0;
    friend constexpr bool operator==(Status, Status) = default;
};
inline constexpr Status kAsInactive{1, 2};
inline constexpr Status kAsActive{1, 3};
inline constexpr Status kAsPending{1, 4};
inline constexpr Status kInsufficientResources{2, 1};
inline constexpr Status kAlternateAspActive{2, 2};
inline constexpr Status kAspFailure{2, 3};

struct Header {
    std::uint8_t version = 0;
    std::uint8_t message_class = 0;
    std::uint8_t message_type = 0;
    std::uint32_t length = 0;

    Message message() const { return message_of(message_class, message_type); }
};
/// nullopt: shorter than a header. The reserved octet is ignored (3.1).
constexpr std::optional<Header> parse_header(std::span<const std::uint8_t> message) {
    const auto r = FixedReader<kHeaderBytes>::over(message);
    if (!r) return std::nullopt;
    return Header{r->u8<0>(), r->u8<2>(), r->u8<3>(), r->u32<4>()};
}

/// The parameters of a message whose length is right: it ends where the bytes end, the last padding
/// counted or not (3.1.4: the receiver accepts both) or absent. nullopt: the length lies.
constexpr std::optional<std::span<const std::uint8_t>> parameters_of(
    std::span<const std::uint8_t> message, const Header& header) {
    constexpr std::size_t kPaddingMax = 3;
    const std::size_t size = message.size();
    if (header.length < kHeaderBytes || size < kHeaderBytes) return std::nullopt;
    if (header.length > size + kPaddingMax || size > header.length + kPaddingMax)
        return std::nullopt;
    // What the two lengths disagree about may only be the padding up to the next multiple of 4.
    const auto rounded = [](std::size_t n) { return (n + kPaddingMax) / 4 * 4; };
    if (rounded(header.length) != rounded(size)) return std::nullopt;
    return message.subspan(kHeaderBytes);
}

/// Writes one message. For the control plane: it allocates.
class Builder {
 public:
    explicit Builder(Message message);
    Builder& u32(Tag tag, std::uint32_t value);
    /// Nothing at all when there are no values.
    Builder& u32_list(Tag tag, std::span<const std::uint32_t> values);
    Builder& bytes(Tag tag, std::span<const std::uint8_t> value);
    /// The message with its length filled in; the builder is empty afterwards.
    std::vector<std::uint8_t> finish();

 private:
    void begin(Tag tag, std::size_t value_bytes);
    std::vector<std::uint8_t> message_;
};

}  // namespace signalbox::wire::m3ua
