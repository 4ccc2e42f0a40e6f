// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/bytes.h"

namespace signalbox {

struct RandomSource::State {
    // Large enough that libcrypto's fixed cost for a call disappears, small enough to stay in L1.
    static constexpr std::size_t kBufferBytes = 512;

    explicit State(const Seed& seed) : cipher(EVP_CIPHER_CTX_new()) {
        const std::array<std::uint8_t, 16> counter{};
        if (cipher == nullptr || EVP_EncryptInit_ex(cipher, EVP_aes_256_ctr(), nullptr, seed.data(),
                                                    counter.data()) != 1) {
            EVP_CIPHER_CTX_free(cipher);
            throw std::runtime_error("AES-256-CTR is not available in libcrypto");
        }
    }
    ~State() {
        EVP_CIPHER_CTX_free(cipher);
        OPENSSL_cleanse(buffer.data(), buffer.size());
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void refill() {
        buffer.fill(0);
        int written = 0;
        const int size = static_cast<int>(kBufferBytes);
        // A keyed stream cipher cannot fail; going on with predictable tags would be worse than
        // not going on.
        if (EVP_EncryptUpdate(cipher, buffer.data(), &written, buffer.data(), size) != 1 ||
            written != size)
            std::abort();
        used = 0;
    }

    EVP_CIPHER_CTX* cipher;
    std::size_t used = kBufferBytes;
    std::array<std::uint8_t, kBufferBytes> buffer{};
};

namespace {

RandomSource::Seed widen(std::uint64_t small_seed) {
    RandomSource::Seed seed{};
    store_le64(seed.data(), small_seed);
    return seed;
}

}  // namespace

RandomSource::RandomSource(const Seed& seed) : state_(std::make_unique<State>(seed)) {}
RandomSource::RandomSource(std::uint64_t small_seed) : RandomSource(widen(small_seed)) {}
RandomSource::~RandomSource() = default;
RandomSource::RandomSource(RandomSource&&) noexcept = default;
RandomSource& RandomSource::operator=(RandomSource&&) noexcept = default;

std::uint32_t RandomSource::u32() {
    std::array<std::uint8_t, 4> bytes;
    fill(bytes);
    return load_le32(bytes.data());
}

std::uint64_t RandomSource::u64() {
    std::array<std::uint8_t, 8> bytes;
    fill(bytes);
    return load_le64(bytes.data());
}

std::uint64_t RandomSource::below(std::uint64_t bound) {
    // 2^64 is seldom a multiple of bound: the first 2^64 mod bound values would make some results
    // likelier than others, so they are drawn again.
    const std::uint64_t biased = (0 - bound) % bound;
    std::uint64_t value = u64();
    while (value < biased) value = u64();
    return value % bound;
}

void RandomSource::fill(std::span<std::uint8_t> out) {
    State& s = *state_;
    while (!out.empty()) {
        if (s.used == State::kBufferBytes) s.refill();
        const std::size_t n = std::min(out.size(), State::kBufferBytes - s.used);
        std::memcpy(out.data(), s.buffer.data() + s.used, n);
        s.used += n;
        out = out.subspan(n);
    }
}

}  // namespace signalbox
