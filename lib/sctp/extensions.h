// SPDX-License-Identifier: Apache-2.0
// What goes beyond RFC 9260 and is used only when both ends offer it: by a parameter of its own
// (RFC 3758 3.3.1) or in the list of Supported Extensions (RFC 5061 4.2.7).
#pragma once
#include <cstdint>

#include "sctp/settings.h"
#include "wire/parameters.h"

namespace signalbox::sctp {

enum class Extension : std::uint8_t {  // the bits travel in the state cookie
    none = 0,
    forward_tsn = 1,    // RFC 3758
    re_config = 2,      // RFC 6525
    i_data = 4,         // RFC 8260
    i_forward_tsn = 8,  // RFC 8260 2.3
};

struct Extensions {
    std::uint8_t bits = 0;
    constexpr bool has(Extension e) const { return (bits & static_cast<std::uint8_t>(e)) != 0; }
    constexpr void add(Extension e) {
        bits = static_cast<std::uint8_t>(bits | static_cast<std::uint8_t>(e));
    }
    /// The form of DATA in use decides which form of FORWARD TSN must have been agreed.
    constexpr bool partial_reliability() const {
        return has(has(Extension::i_data) ? Extension::i_forward_tsn : Extension::forward_tsn);
    }
    constexpr void remove(Extension e) {
        bits = static_cast<std::uint8_t>(bits & ~static_cast<unsigned>(e));
    }
    friend constexpr Extensions operator&(Extensions a, Extensions b) {
        return {static_cast<std::uint8_t>(a.bits & b.bits)};
    }
    friend constexpr bool operator==(Extensions, Extensions) = default;
};

Extensions offered_extensions(const Profile& profile);
/// Of an INIT or INIT ACK whose parameters are well formed.
Extensions read_extensions(wire::Bytes parameters);
/// Inside an open INIT or INIT ACK.
void write_extensions(wire::PacketWriter& out, Extensions extensions);

}  // namespace signalbox::sctp
