// SPDX-License-Identifier: Apache-2.0
#include "wire/tlv.h"

#include <catch2/catch.hpp>

#include "hex.h"
#include "wire/chunk_types.h"

using namespace signalbox::wire;

namespace {

template <class Walker>
std::size_t walk(Walker& walker) {
    std::size_t n = 0;
    while (walker.next()) ++n;
    return n;
}

}  // namespace

TEST_CASE("PKT-1: a chunk of 7 bytes is followed by its one byte of padding") {
    // HEARTBEAT flags 0, length 7: aa bb cc, padding; COOKIE ACK, length 4
    static constexpr auto bytes = hex("04000007 aabbcc00 0b000004");
    ChunkWalker walker{bytes};
    const auto first = walker.next();
    REQUIRE(first);
    CHECK(first->type == 4);
    CHECK(first->value.size() == 3);
    CHECK(first->raw.size() == 7);
    const auto second = walker.next();
    REQUIRE(second);
    CHECK(second->type == 11);
    CHECK(second->value.empty());
    CHECK_FALSE(walker.next());
    CHECK_FALSE(walker.malformed());
}

TEST_CASE("PKT-1: the last element may lack all or part of its padding") {
    static constexpr auto all = hex("04000005 aa000000");
    for (std::size_t n = 5; n <= 8; ++n) {
        ChunkWalker walker{all.span().first(n)};
        CHECK(walk(walker) == 1);
        CHECK_FALSE(walker.malformed());
    }
}

TEST_CASE("P02: a chunk length of 0 to 3 ends the walk, for each chunk type") {
    for (unsigned type = 0; type < 256; ++type) {
        for (std::uint8_t length = 0; length < 4; ++length) {
            const std::array<std::uint8_t, 8> bytes{static_cast<std::uint8_t>(type), 0, 0, length};
            ChunkWalker walker{bytes};
            CHECK(walk(walker) == 0);
            CHECK(walker.malformed());
            CHECK_FALSE(walker.next());
        }
    }
}

TEST_CASE("P03: a chunk length beyond the packet ends the walk and keeps what came before") {
    static constexpr auto past = hex("0b000004 04000009 aabbccdd");
    static constexpr auto most = hex("0b000004 0400ffff aabbccdd");
    for (const Bytes bytes : {past.span(), most.span()}) {
        ChunkWalker walker{bytes};
        CHECK(walk(walker) == 1);
        CHECK(walker.malformed());
    }
}

TEST_CASE("P03: more padding than 3 bytes is a chunk header that lies") {
    // COOKIE ACK, then 4 zero bytes: type 0 with length 0; and 1 to 3 bytes: no header
    static constexpr auto bytes = hex("0b000004 00000000");
    for (std::size_t n = 5; n <= 8; ++n) {
        ChunkWalker walker{bytes.span().first(n)};
        CHECK(walk(walker) == 1);
        CHECK(walker.malformed());
    }
}

TEST_CASE("P11: one bad parameter length condemns the whole chunk") {
    struct Case {
        const char* description;
        std::vector<std::uint8_t> bytes;
        bool good;
    };
    const Case cases[] = {
        {"empty", {}, true},
        {"one", {0x00, 0x0c, 0x00, 0x06, 0x00, 0x05, 0x00, 0x00}, true},
        {"last unpadded", {0x00, 0x0c, 0x00, 0x06, 0x00, 0x05}, true},
        {"length 3", {0x80, 0x00, 0x00, 0x03}, false},
        {"length 0", {0x80, 0x00, 0x00, 0x00}, false},
        {"past the chunk", {0x80, 0x00, 0x00, 0x05}, false},
        {"half outside", {0xc0, 0x00, 0x00, 0x04, 0x00, 0x07, 0x00, 0x08, 0x01, 0x02}, false},
        {"half a header", {0xc0, 0x00, 0x00, 0x04, 0x00, 0x07}, false},
    };
    for (const Case& c : cases) {
        INFO(c.description);
        CHECK(parameters_well_formed(exact(c.bytes)) == c.good);
    }
}

TEST_CASE("PKT-1: the walk over any lengths makes progress of at least 4 bytes a step") {
    std::array<std::uint8_t, 64> bytes{};
    for (unsigned length = 0; length <= 64; ++length) {
        for (std::size_t at = 0; at < bytes.size(); at += 4)
            bytes[at + 3] = static_cast<std::uint8_t>(length);
        ChunkWalker walker{bytes};
        CHECK(walk(walker) <= bytes.size() / 4);
    }
}

TEST_CASE("PKT-3: an unknown type acts on its two high bits") {
    static_assert(unknown_action(0x3f) == UnknownAction{.stop = true, .report = false});
    static_assert(unknown_action(0x7f) == UnknownAction{.stop = true, .report = true});
    static_assert(unknown_action(0xbf) == UnknownAction{.stop = false, .report = false});
    static_assert(unknown_action(0xff) == UnknownAction{.stop = false, .report = true});
    static_assert(unknown_parameter_action(0x4001) == UnknownAction{.stop = true, .report = true});
    static_assert(unknown_parameter_action(0x80ff) ==
                  UnknownAction{.stop = false, .report = false});
    SUCCEED();
}
