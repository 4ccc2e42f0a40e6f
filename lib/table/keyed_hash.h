// SPDX-License-Identifier: Apache-2.0
// The keyed hash of a transport key (TAB-4): what a peer chooses (its address and port) must not
// let it choose its bucket. AES rounds under secret round keys where the processor has them,
// SipHash-1-3 elsewhere; both take the same 128-bit key. perf/table_lookup measures them side by
// side.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "table/key.h"

namespace signalbox::table {

/// SipHash-1-3 over the three 64-bit words of a key (Aumasson and Bernstein, with one round for
/// each word and three at the end; the length is fixed, so that its byte is left to the spare bits
/// of the third word).
std::uint64_t siphash13(const HashKey& key, std::uint64_t a, std::uint64_t b, std::uint64_t c);

class KeyedHash {
 public:
    enum class Kind : std::uint8_t { aes, siphash };
    static Kind best_kind();

    explicit KeyedHash(const HashKey& key, Kind kind = best_kind());
    Kind kind() const { return kind_; }
    std::uint64_t operator()(const Key& key) const;
    /// out.size() >= keys.size()
    void burst(std::span<const Key> keys, std::span<std::uint64_t> out) const;

    static constexpr unsigned kRoundKeys = 9;
    using RoundKeys = std::array<std::array<std::uint64_t, 2>, kRoundKeys>;

 private:
    alignas(16) RoundKeys round_keys_{};
    HashKey key_;
    Kind kind_;
};

}  // namespace signalbox::table
