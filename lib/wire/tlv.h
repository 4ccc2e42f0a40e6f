// SPDX-License-Identifier: Apache-2.0
// The one walker over chunks (RFC 9260 3.2), parameters (3.2.1) and error causes (3.3.10): PKT-1.
//
//   chunk      | type (1) | flags (1) | length (2) | value ... | padding to 4 |
//   parameter  | type          (2)    | length (2) | value ... | padding to 4 |
//
// The length counts the four header bytes, not the padding. The last element may lack its padding.
#pragma once
#include <cassert>
#include <optional>

#include "wire/bytes.h"

namespace signalbox::wire {

inline constexpr std::size_t kTlvHeader = 4;

struct Chunk {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    Bytes value;  // behind the header, without padding
    Bytes raw;    // header and value, without padding

    constexpr void read(Bytes bytes) {
        type = bytes[0];
        flags = bytes[1];
        value = bytes.subspan(kTlvHeader);
        raw = bytes;
    }
};

struct Parameter {  // an error cause has the same shape, `type` is its code
    std::uint16_t type = 0;
    Bytes value;
    Bytes raw;

    constexpr void read(Bytes bytes) {
        type = load_u16(bytes, 0);
        value = bytes.subspan(kTlvHeader);
        raw = bytes;
    }
};

/// Yields elements until the bytes end or lie. A lie ends the walk for good: malformed() tells the
/// two apart.
template <class Element>
class TlvWalker {
 public:
    explicit constexpr TlvWalker(Bytes bytes) : left_(bytes) {}

    /// Made in place: what was just written piece by piece and is copied whole waits for its bytes
    /// to come together, and this is done for each packet.
    constexpr std::optional<Element> next() {
        std::optional<Element> element;
        if (left_.empty()) return element;
        const std::size_t length = left_.size() < kTlvHeader ? 0 : load_u16(left_, 2);
        if (length < kTlvHeader || length > left_.size()) {
            malformed_ = true;
            left_ = {};
            return element;
        }
        element.emplace().read(left_.first(length));
        const std::size_t step = padded_to_4(length);
        assert(step >= kTlvHeader);  // forward progress
        left_ = step < left_.size() ? left_.subspan(step) : Bytes{};
        return element;
    }
    constexpr bool malformed() const { return malformed_; }
    /// What next() has not looked at yet.
    constexpr Bytes rest() const { return left_; }

 private:
    Bytes left_;
    bool malformed_ = false;
};

using ChunkWalker = TlvWalker<Chunk>;
using ParameterWalker = TlvWalker<Parameter>;

/// P11: one bad length condemns the whole chunk, so look before acting on any parameter or cause.
constexpr bool parameters_well_formed(Bytes bytes) {
    ParameterWalker walker{bytes};
    while (walker.next()) {
    }
    return !walker.malformed();
}

}  // namespace signalbox::wire
