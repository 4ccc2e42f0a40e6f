// SPDX-License-Identifier: Apache-2.0
// An SCTP packet whose IP layer, length and checksum have been judged.
#pragma once
#include <cstddef>
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

    /// Its first chunk is DATA or I-DATA, or the one behind a SACK is.
    bool brings_data() const {
        constexpr std::uint8_t kData = 0, kSack = 3, kIData = 64;
        std::size_t at = 0;
        if (chunks.size() >= 4 && chunks[0] == kSack)
            at = ((std::size_t{chunks[2]} << 8 | chunks[3]) + 3) & ~std::size_t{3};
        return at < chunks.size() && (chunks[at] == kData || chunks[at] == kIData);
    }
};

}  // namespace signalbox::sctp
