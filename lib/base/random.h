// SPDX-License-Identifier: Apache-2.0
// The passed random source: AES-256-CTR key stream over a 32-byte seed, so that a seed replays byte
// for byte and, seeded by getrandom() in the daemon, tags and nonces cannot be predicted (RFC
// 9260 5.3.1).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace signalbox {

class RandomSource {
 public:
    using Seed = std::array<std::uint8_t, 32>;
    explicit RandomSource(const Seed& seed);          // allocates (cipher context); never after
    explicit RandomSource(std::uint64_t small_seed);  // tests and simulator
    ~RandomSource();
    RandomSource(RandomSource&&) noexcept;
    RandomSource& operator=(RandomSource&&) noexcept;

    std::uint32_t u32();
    std::uint64_t u64();
    /// Uniform in [0, bound); bound > 0.
    std::uint64_t below(std::uint64_t bound);
    void fill(std::span<std::uint8_t> out);

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox
