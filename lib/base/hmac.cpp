// SPDX-License-Identifier: Apache-2.0
// EVP_MAC allocates whenever a prepared context is copied. The block functions of SHA-256 are plain
// structures: both padded keys are hashed once, and every MAC starts from copies on the stack.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

namespace signalbox {

struct HmacKey::State {
    ~State() {
        OPENSSL_cleanse(&inner, sizeof inner);
        OPENSSL_cleanse(&outer, sizeof outer);
    }
    SHA256_CTX inner{};  // SHA-256 after K xor ipad
    SHA256_CTX outer{};  // SHA-256 after K xor opad
};

namespace {

using Block = std::array<std::uint8_t, SHA256_CBLOCK>;

void start(SHA256_CTX& hash, const Block& key, std::uint8_t pad) {
    Block padded = key;
    for (std::uint8_t& byte : padded) byte ^= pad;
    SHA256_Init(&hash);
    SHA256_Update(&hash, padded.data(), padded.size());
    OPENSSL_cleanse(padded.data(), padded.size());
}

}  // namespace

HmacKey::HmacKey(std::span<const std::uint8_t> key) : state_(std::make_unique<State>()) {
    Block block{};
    if (key.size() > block.size())
        SHA256(key.data(), key.size(), block.data());  // RFC 2104 2: long keys are hashed first
    else
        std::copy(key.begin(), key.end(), block.begin());
    start(state_->inner, block, 0x36);
    start(state_->outer, block, 0x5c);
    OPENSSL_cleanse(block.data(), block.size());
}
HmacKey::~HmacKey() = default;
HmacKey::HmacKey(HmacKey&&) noexcept = default;
HmacKey& HmacKey::operator=(HmacKey&&) noexcept = default;

HmacKey::Mac HmacKey::mac(std::span<const std::uint8_t> message) {
    Mac result;
    SHA256_CTX hash = state_->inner;
    SHA256_Update(&hash, message.data(), message.size());
    SHA256_Final(result.data(), &hash);
    hash = state_->outer;
    SHA256_Update(&hash, result.data(), result.size());
    SHA256_Final(result.data(), &hash);
    return result;
}

bool equal_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace signalbox
