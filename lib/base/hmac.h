// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 with a prepared key (RFC 2104), libcrypto behind. mac() does not allocate.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace signalbox {

class HmacKey {
 public:
    using Mac = std::array<std::uint8_t, 32>;
    explicit HmacKey(std::span<const std::uint8_t> key);  // allocates once
    ~HmacKey();
    HmacKey(HmacKey&&) noexcept;
    HmacKey& operator=(HmacKey&&) noexcept;
    Mac mac(std::span<const std::uint8_t> message);

 private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Constant-time comparison of equal-sized spans; different sizes: false.
bool equal_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

}  // namespace signalbox
