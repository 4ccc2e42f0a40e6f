// SPDX-License-Identifier: Apache-2.0
// What a transport is found by, and the line that is found.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/ip_address.h"
#include "base/numbers.h"

namespace signalbox::table {

struct Key {
    std::uint16_t network = 0;
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0;
    IpAddress remote;
    friend bool operator==(const Key&, const Key&) = default;
};
static_assert(sizeof(Key) == 22);

/// 128 secret bits, drawn at each start (TAB-4).
struct HashKey {
    std::array<std::uint64_t, 2> words;
};

/// One cache line, embedded in the association's slot, which lies in the arena given to the table:
/// the table refers to it by its 32-bit line number. Immutable while inserted (TAB-1); its memory
/// is reused only after a grace period.
struct alignas(64) Node {
    Key key;                    // 22 bytes
    std::uint8_t worker = 0;    // owner
    std::uint8_t path = 0;      // index of the path in its association
    std::uint32_t slot = 0;     // association slot number
    VerificationTag local_tag;  // decides among equal keys after local
    IpAddress local;            // decides among equal keys
    std::uint64_t hash = 0;     // written by insert()
};
static_assert(sizeof(Node) == 64);

inline std::uint64_t load_u64(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// The same as ==, in whole words and without a branch for each byte: this is the packet path.
inline bool same(const IpAddress& a, const IpAddress& b) {
    return ((load_u64(&a.bytes[0]) ^ load_u64(&b.bytes[0])) |
            (load_u64(&a.bytes[8]) ^ load_u64(&b.bytes[8]))) == 0;
}

inline std::uint64_t port_word(const Key& key) {
    return std::uint64_t{key.network} << 32 | std::uint64_t{key.local_port} << 16 | key.remote_port;
}

inline bool same(const Key& a, const Key& b) {
    return port_word(a) == port_word(b) && same(a.remote, b.remote);
}

}  // namespace signalbox::table
