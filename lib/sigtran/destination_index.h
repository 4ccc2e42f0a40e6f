// SPDX-License-Identifier: Apache-2.0
// Which AS answers for a point code: the destination keys of all AS, for audits (RFC 4666 3.4.3).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.h"
#include "sigtran/m3ua_settings.h"

namespace signalbox::sigtran {

/// A point code, or the range of those that share all but the `mask_bits` low bits.
struct Destination {
    std::uint32_t point_code = 0;
    std::uint8_t mask_bits = 0;

    static constexpr unsigned kPointCodeBits = 24;
    /// Affected Point Code (3.4.1): mask in the first octet, point code in the other three.
    static Destination from_wire(std::uint32_t affected);
    std::uint32_t to_wire() const { return std::uint32_t{mask_bits} << 24 | point_code; }
    friend bool operator==(const Destination&, const Destination&) = default;
};

class DestinationIndex {
 public:
    struct Entry {
        std::uint16_t instance = 0;
        Destination destination;
        AsIndex as;
    };
    explicit DestinationIndex(std::span<const AsSettings> servers);

    /// The AS whose key covers all of `d`, most specific first; kNoAs when none does.
    AsIndex covering(std::uint16_t instance, Destination d) const;
    std::span<const Entry> of_instance(std::uint16_t instance) const;
    /// Up to `limit` entries that are more specific than the range `d` and lie inside it.
    std::vector<Entry> inside(std::uint16_t instance, Destination d, std::size_t limit) const;

 private:
    std::size_t first(std::uint16_t instance, Destination at_least) const;
    std::vector<Entry> entries_;  // by instance, mask, point code
};

}  // namespace signalbox::sigtran
