// SPDX-License-Identifier: Apache-2.0
#include "table/keyed_hash.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace signalbox::table {
namespace {

struct SipState {
    std::uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    }
    void take(std::uint64_t word) {
        v3 ^= word;
        round();
        v0 ^= word;
    }
};

constexpr std::uint64_t kLengthByte = std::uint64_t{22} << 56;  // of the key that is hashed

std::uint64_t sip_of(const HashKey& secret, const Key& key) {
    return siphash13(secret, load_u64(&key.remote.bytes[0]), load_u64(&key.remote.bytes[8]),
                     port_word(key) | kLengthByte);
}

#if defined(__x86_64__)

// CBC-MAC in shape, with four AES rounds after each block. Four rounds have no differential better
// than 2^-113, and all round keys are secret; a full AES would only add latency. The rounds of
// neighbouring keys overlap in a burst.
__attribute__((target("aes"), always_inline)) inline std::uint64_t aes_of(
    const KeyedHash::RoundKeys& round_keys, const Key& key) {
    const auto* k = reinterpret_cast<const __m128i*>(round_keys.data());
    const __m128i remote = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&key.remote));
    const __m128i ports = _mm_cvtsi64_si128(static_cast<long long>(port_word(key) | kLengthByte));
    __m128i s = _mm_xor_si128(remote, _mm_load_si128(k));
    for (unsigned i = 1; i <= 4; ++i) s = _mm_aesenc_si128(s, _mm_load_si128(k + i));
    s = _mm_xor_si128(s, ports);
    for (unsigned i = 5; i <= 8; ++i) s = _mm_aesenc_si128(s, _mm_load_si128(k + i));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(s));
}

__attribute__((target("aes"))) void aes_burst(const KeyedHash::RoundKeys& round_keys,
                                              const Key* keys, std::size_t count,
                                              std::uint64_t* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = aes_of(round_keys, keys[i]);
}

#endif

}  // namespace

std::uint64_t siphash13(const HashKey& key, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const auto [k0, k1] = key.words;
    SipState s{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
               k1 ^ 0x7465646279746573u};
    s.take(a);
    s.take(b);
    s.take(c);
    s.v2 ^= 0xff;
    for (unsigned i = 0; i < 3; ++i) s.round();
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

KeyedHash::Kind KeyedHash::best_kind() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("aes")) return Kind::aes;
#endif
    return Kind::siphash;
}

KeyedHash::KeyedHash(const HashKey& key, Kind kind) : key_(key), kind_(kind) {
    for (std::uint64_t i = 0; i < kRoundKeys; ++i)
        round_keys_[i] = {siphash13(key, i, 0, 0), siphash13(key, i, 1, 0)};
}

std::uint64_t KeyedHash::operator()(const Key& key) const {
    std::uint64_t out = 0;
    burst({&key, 1}, {&out, 1});
    return out;
}

void KeyedHash::burst(std::span<const Key> keys, std::span<std::uint64_t> out) const {
#if defined(__x86_64__)
    if (kind_ == Kind::aes) return aes_burst(round_keys_, keys.data(), keys.size(), out.data());
#endif
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = sip_of(key_, keys[i]);
}

}  // namespace signalbox::table
