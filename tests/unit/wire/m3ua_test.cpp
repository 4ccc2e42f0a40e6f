// SPDX-License-Identifier: Apache-2.0
// M3UA's common header and builder (RFC 4666 3.1, 3.2).
#include "wire/m3ua.h"

#include <catch2/catch.hpp>

using namespace signalbox::wire;
using namespace signalbox::wire::m3ua;

using Octets = std::vector<std::uint8_t>;

TEST_CASE("M3UA: the common header is read, its reserved octet ignored") {
    const Octets m{1, 0xff, 4, 2, 0, 0, 0, 8};
    const auto h = parse_header(m);
    REQUIRE(h);
    CHECK(h->version == 1);
    CHECK(h->message() == Message::aspia);
    CHECK(h->length == 8);
    for (std::size_t n = 0; n < 8; ++n) CHECK_FALSE(parse_header(std::span{m}.first(n)));
}

TEST_CASE(
    "M3UA: a message length may leave out the last padding, and the padding may be left out") {
    const Octets m(40, 0);
    const auto accepts = [&m](std::uint32_t length, std::size_t octets) {
        return parameters_of(std::span{m}.first(octets), {1, 1, 1, length}).has_value();
    };
    CHECK(accepts(40, 40));
    CHECK(accepts(37, 40));
    CHECK(accepts(38, 38));
    CHECK(accepts(40, 37));
    CHECK_FALSE(accepts(36, 40));
    CHECK_FALSE(accepts(36, 37));
    CHECK_FALSE(accepts(41, 40));
    CHECK_FALSE(accepts(40, 36));
    CHECK_FALSE(accepts(7, 8));
    CHECK_FALSE(accepts(0, 8));
    CHECK_FALSE(accepts(0xffffffff, 40));
    CHECK(accepts(8, 8));
}

TEST_CASE("M3UA: the classes and types of RFC 4666 3.1.2 are known and no others") {
    unsigned known = 0;
    for (unsigned c = 0; c < 256; ++c)
        for (unsigned t = 0; t < 256; ++t)
            known +=
                is_known_type(static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(t)) ? 1 : 0;
    CHECK(known == 2 + 1 + 6 + 6 + 4 + 4);
    CHECK(is_known_class(9));
    CHECK_FALSE(is_known_class(5));
}

TEST_CASE("M3UA: the builder pads parameters and counts the padding in the message only") {
    const Octets text{'a', 'b', 'c', 'd', 'e'};
    const auto m = Builder{Message::aspup}
                       .u32(Tag::asp_identifier, 0x01020304)
                       .bytes(Tag::info_string, text)
                       .finish();
    CHECK(m == Octets{1, 0, 3, 1, 0, 0, 0,   28,  0,   0x11, 0,   8, 1, 2,
                      3, 4, 0, 4, 0, 9, 'a', 'b', 'c', 'd',  'e', 0, 0, 0});
    CHECK(Builder{Message::beat}.bytes(Tag::heartbeat_data, {}).finish() ==
          Octets{1, 0, 3, 3, 0, 0, 0, 12, 0, 9, 0, 4});
}

TEST_CASE("M3UA: an empty list is no parameter") {
    CHECK(Builder{Message::aspac_ack}.u32_list(Tag::routing_context, {}).finish() ==
          Octets{1, 0, 4, 3, 0, 0, 0, 8});
}
