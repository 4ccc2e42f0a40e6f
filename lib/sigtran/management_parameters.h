// SPDX-License-Identifier: Apache-2.0
// The parameters of a management message (RFC 4666 3.2), checked for form. Control plane: it
// allocates.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace signalbox::sigtran {

/// More routing contexts than one peer can sensibly be configured for; bounds the work of one
/// message.
inline constexpr std::size_t kRoutingContextsMax = 256;
/// Point codes of one DAUD that are answered. The rest is dropped: the ASP audits again.
inline constexpr std::size_t kAffectedMax = 256;
/// Octets of Heartbeat Data that are echoed.
inline constexpr std::size_t kHeartbeatDataMax = 4096;

struct ManagementParameters {
    std::optional<std::vector<std::uint32_t>> routing_contexts;  // each once, in order
    std::optional<std::uint32_t> traffic_mode;
    std::optional<std::uint32_t> asp_identifier;
    std::optional<std::uint32_t> network_appearance;
    std::optional<std::uint32_t> error_code;
    std::optional<std::uint32_t> congestion;
    std::optional<std::uint32_t> concerned;  // 3.4.4: as an Affected Point Code
    std::optional<std::span<const std::uint8_t>> heartbeat_data;  // a view into the message
    std::optional<std::vector<std::uint32_t>>
        affected;  // mask in the top octet; at most kAffectedMax
};

/// nullopt: a length that lies or is not its parameter's, a parameter twice, too many of them:
/// error 0x12.
std::optional<ManagementParameters> parse_management_parameters(
    std::span<const std::uint8_t> bytes);

}  // namespace signalbox::sigtran
