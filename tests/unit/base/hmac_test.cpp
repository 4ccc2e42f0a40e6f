// SPDX-License-Identifier: Apache-2.0
#include "base/hmac.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox;

namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}

std::string hex(const HmacKey::Mac& mac) {
    std::string out;
    for (const std::uint8_t byte : mac) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

struct Case {
    std::vector<std::uint8_t> key;
    std::vector<std::uint8_t> data;
    std::string mac;
};

// RFC 4231 4.2 to 4.8; case 5 is cut to 128 bits there.
std::vector<Case> rfc4231() {
    std::vector<std::uint8_t> counting(25);
    for (unsigned i = 0; i < 25; ++i) counting[i] = static_cast<std::uint8_t>(i + 1);
    const std::vector<std::uint8_t> long_key(131, 0xaa);
    return {
        {std::vector<std::uint8_t>(20, 0x0b), bytes_of("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {bytes_of("Jefe"), bytes_of("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {std::vector<std::uint8_t>(20, 0xaa), std::vector<std::uint8_t>(50, 0xdd),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {counting, std::vector<std::uint8_t>(50, 0xcd),
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {std::vector<std::uint8_t>(20, 0x0c), bytes_of("Test With Truncation"),
         "a3b6167473100ee06e0c796c2955552b"},
        {long_key, bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {long_key,
         bytes_of("This is a test using a larger than block-size key and a larger than block-size "
                  "data. The key needs to be hashed before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
}

}  // namespace

TEST_CASE("COOKIE-1: HMAC-SHA-256 gives the values of RFC 4231, again and again with one key") {
    for (const auto& c : rfc4231()) {
        HmacKey key{c.key};
        for (int round = 0; round < 3; ++round)
            CHECK(hex(key.mac(c.data)).substr(0, c.mac.size()) == c.mac);
    }
}

TEST_CASE("COOKIE-1: a moved key makes the same MAC") {
    HmacKey a{bytes_of("Jefe")};
    const auto before = a.mac(bytes_of("message"));
    HmacKey b{std::move(a)};
    CHECK(b.mac(bytes_of("message")) == before);
    CHECK(b.mac(bytes_of("massage")) != before);
    CHECK(HmacKey{{}}.mac({}) != before);
}

TEST_CASE("COOKIE-1: MACs are equal only when every byte is") {
    const auto a = bytes_of("0123456789");
    auto b = a;
    CHECK(equal_constant_time(a, b));
    CHECK(equal_constant_time({}, {}));
    CHECK_FALSE(equal_constant_time(a, std::span{b}.first(9)));
    b[9] ^= 1;
    CHECK_FALSE(equal_constant_time(a, b));
}
