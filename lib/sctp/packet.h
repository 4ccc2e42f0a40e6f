// SPDX-License-Identifier: Apache-2.0
// An SCTP packet whose IP layer, length and checksum have been judged.
#pragma once
#include <cstdint>
#include <span>

#include "base/ip_address.h"
#include "base/numbers.h"

namespace signalbox::sctp {

struct Packet {
    IpAddress source;
    IpAddress destination;
    std::uint16_t source_port = 0;       // the peer's
    std::uint16_t destination_port = 0;  // ours
    VerificationTag tag;
    std::span<const std::uint8_t> chunks;  // behind the common header, not yet walked
};

}  // namespace signalbox::sctp
