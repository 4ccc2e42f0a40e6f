// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c_implementations.h"
#include "base/random.h"

using namespace signalbox;
using crc32c_detail::update_bitwise;

namespace {

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint64_t seed) {
    std::vector<std::uint8_t> bytes(size);
    RandomSource{seed}.fill(bytes);
    return bytes;
}

std::uint32_t bitwise(std::span<const std::uint8_t> bytes) {
    return ~update_bitwise(0xffffffff, bytes.data(), bytes.size());
}

}  // namespace

TEST_CASE("PKT-2: CRC32c gives the published values (RFC 3720 B.4)") {
    std::array<std::uint8_t, 32> bytes{};
    CHECK(crc32c(bytes) == 0x8a9136aa);
    bytes.fill(0xff);
    CHECK(crc32c(bytes) == 0x62a8ab43);
    for (unsigned i = 0; i < 32; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    CHECK(crc32c(bytes) == 0x46dd794e);
    const std::string_view digits = "123456789";
    std::vector<std::uint8_t> text(digits.begin(), digits.end());
    CHECK(crc32c(text) == 0xe3069283);
    CHECK(crc32c({}) == 0);
}

TEST_CASE("PKT-2: every implementation agrees with the polynomial at every length") {
    constexpr std::size_t kLengths = 2048;
    const auto bytes = random_bytes(kLengths, 1);
    for (const auto& implementation : crc32c_detail::implementations()) {
        if (!implementation.available()) continue;
        INFO(implementation.name);
        std::uint32_t expected = 0x12345678;
        std::size_t wrong = 0;
        for (std::size_t n = 0; n <= kLengths; ++n) {
            wrong += implementation.update(0x12345678, bytes.data(), n) != expected;
            if (n < kLengths) expected = update_bitwise(expected, bytes.data() + n, 1);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("PKT-2: every implementation agrees with the polynomial at every alignment") {
    const auto bytes = random_bytes(2048 + 128, 2);
    const auto at_64 = reinterpret_cast<std::uintptr_t>(bytes.data()) % 64;
    for (const auto& implementation : crc32c_detail::implementations()) {
        if (!implementation.available()) continue;
        INFO(implementation.name);
        std::size_t wrong = 0;
        for (std::size_t misalignment = 0; misalignment < 64; ++misalignment) {
            const std::uint8_t* const start = bytes.data() + (64 - at_64) + misalignment;
            std::uint32_t expected = 0xffffffff;
            for (std::size_t n = 0; n <= 320; ++n) {
                wrong += implementation.update(0xffffffff, start, n) != expected;
                expected = update_bitwise(expected, start + n, 1);
            }
            wrong += implementation.update(0, start, 2048) != update_bitwise(0, start, 2048);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("PKT-2: long buffers are taken in several rounds") {
    const auto bytes = random_bytes(100'003, 3);
    for (const auto& implementation : crc32c_detail::implementations()) {
        if (!implementation.available()) continue;
        INFO(implementation.name);
        CHECK(implementation.update(7, bytes.data(), bytes.size()) ==
              update_bitwise(7, bytes.data(), bytes.size()));
    }
    CHECK_FALSE(crc32c_implementation().empty());
}

TEST_CASE("PKT-2: the checksum is taken with its field as zero, whatever it holds (RFC 9260 6.8)") {
    for (std::size_t size = 12; size <= 600; ++size) {
        auto packet = random_bytes(size, size);
        auto zeroed = packet;
        std::fill_n(zeroed.begin() + 8, 4, std::uint8_t{0});
        sctp_checksum_store(packet);
        REQUIRE(load_le32(packet.data() + 8) == bitwise(zeroed));
        REQUIRE(sctp_checksum_ok(packet));
        const std::size_t flipped = size * 7919 % 613 % size;
        packet[flipped] ^= 0x10;
        REQUIRE_FALSE(sctp_checksum_ok(packet));
    }
}

TEST_CASE("PKT-2: one flipped bit anywhere is found, and checking does not write") {
    auto packet = random_bytes(100, 9);
    sctp_checksum_store(packet);
    const auto before = packet;
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
        const auto mask = static_cast<std::uint8_t>(1u << (bit % 8));
        packet[bit / 8] ^= mask;
        REQUIRE_FALSE(sctp_checksum_ok(packet));
        packet[bit / 8] ^= mask;
    }
    CHECK(sctp_checksum_ok(packet));
    CHECK(packet == before);
}

TEST_CASE("PKT-2: a packet shorter than the common header has no right checksum") {
    const auto packet = random_bytes(12, 4);
    for (std::size_t size = 0; size < 12; ++size)
        CHECK_FALSE(sctp_checksum_ok(std::span{packet}.first(size)));
}
