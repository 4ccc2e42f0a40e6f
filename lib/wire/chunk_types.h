// SPDX-License-Identifier: Apache-2.0
// Chunk types, RFC 9260 3.2 and the IANA registry, and what to do with one that is not known.
#pragma once
#include <cstdint>

namespace signalbox::wire {

enum class ChunkType : std::uint8_t {
    data = 0,
    init = 1,
    init_ack = 2,
    sack = 3,
    heartbeat = 4,
    heartbeat_ack = 5,
    abort = 6,
    shutdown = 7,
    shutdown_ack = 8,
    error = 9,
    cookie_echo = 10,
    cookie_ack = 11,
    ecne = 12,  // RFC 9260 reserves 12 and 13; RFC 4960 appendix A
    cwr = 13,
    shutdown_complete = 14,
    auth = 15,            // RFC 4895
    i_data = 64,          // RFC 8260
    asconf_ack = 128,     // RFC 5061
    re_config = 130,      // RFC 6525
    pad = 132,            // RFC 4820
    forward_tsn = 192,    // RFC 3758
    asconf = 193,         // RFC 5061
    i_forward_tsn = 194,  // RFC 8260
};

/// The T bit of ABORT and SHUTDOWN COMPLETE: the sender reflected our tag (RFC 9260 8.5.1).
inline constexpr std::uint8_t kFlagT = 0x01;

/// RFC 9260 3.2 for chunks ("stop": discard the packet's rest), 3.2.1 for parameters ("stop": the
/// chunk's rest).
struct UnknownAction {
    bool stop = true;
    bool report = false;
    friend constexpr bool operator==(UnknownAction, UnknownAction) = default;
};

constexpr UnknownAction unknown_action(std::uint8_t chunk_type) {
    return {.stop = (chunk_type & 0x80) == 0, .report = (chunk_type & 0x40) != 0};
}
constexpr UnknownAction unknown_parameter_action(std::uint16_t parameter_type) {
    return unknown_action(static_cast<std::uint8_t>(parameter_type >> 8));
}

}  // namespace signalbox::wire
