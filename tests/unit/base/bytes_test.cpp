// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "base/result.h"

using namespace signalbox;

TEST_CASE("loads and stores agree with the byte order in their name") {
    constexpr std::array<std::uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    STATIC_REQUIRE(load_be16(bytes.data()) == 0x0102);
    STATIC_REQUIRE(load_be32(bytes.data()) == 0x01020304);
    STATIC_REQUIRE(load_be64(bytes.data()) == 0x0102030405060708);
    STATIC_REQUIRE(load_le16(bytes.data()) == 0x0201);
    STATIC_REQUIRE(load_le32(bytes.data()) == 0x04030201);
    STATIC_REQUIRE(load_le64(bytes.data()) == 0x0807060504030201);
    std::array<std::uint8_t, 8> out{};
    store_be64(out.data(), 0x0102030405060708);
    CHECK(out == bytes);
    store_le64(out.data(), 0x0807060504030201);
    CHECK(out == bytes);
    store_be16(out.data(), 0xfffe);
    CHECK((out[0] == 0xff && out[1] == 0xfe));
    store_le16(out.data(), 0xfffe);
    CHECK((out[0] == 0xfe && out[1] == 0xff));
    store_be32(out.data(), 0x80000001);
    CHECK(load_be32(out.data()) == 0x80000001);
    store_le32(out.data(), 0x80000001);
    CHECK(load_le32(out.data()) == 0x80000001);
}

TEST_CASE("a fixed part is read by offset, and refused when it is too short") {
    static constexpr std::array<std::uint8_t, 10> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    constexpr auto reader = FixedReader<8>::over(bytes);
    STATIC_REQUIRE(reader.has_value());
    STATIC_REQUIRE(reader->u8<7>() == 8);
    STATIC_REQUIRE(reader->u16<6>() == 0x0708);
    STATIC_REQUIRE(reader->u32<4>() == 0x05060708);
    STATIC_REQUIRE(reader->u64<0>() == 0x0102030405060708);
    STATIC_REQUIRE(reader->rest().size() == 2);
    STATIC_REQUIRE_FALSE(FixedReader<11>::over(bytes).has_value());
}

TEST_CASE("a result holds a value or an error") {
    const auto half = [](int n) -> Result<int, std::string> {
        if (n % 2 != 0) return Failure{"odd"};
        return n / 2;
    };
    CHECK(half(4).ok());
    CHECK(*half(4) == 2);
    CHECK_FALSE(half(3));
    CHECK(half(3).error() == "odd");
    const auto check = [](bool good) -> Result<void, int> {
        if (!good) return Failure{7};
        return {};
    };
    CHECK(check(true).ok());
    CHECK(check(false).error() == 7);
}
