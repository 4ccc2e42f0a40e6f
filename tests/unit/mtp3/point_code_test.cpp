// SPDX-License-Identifier: Apache-2.0
// Point codes as text, in the instance's format (sigtran.md section 4).
#include <catch2/catch.hpp>

#include "mtp3/route_table.h"

using namespace signalbox;
using namespace signalbox::mtp3;

TEST_CASE("point codes are read and printed in every format of the networks") {
    struct Row {
        const char* format;
        const char* text;
        std::uint32_t number;
    };
    constexpr Row kRows[] = {
        {"3-8-3", "0-0-0", 0},
        {"3-8-3", "1-1-1", 0x809},
        {"3-8-3", "7-255-7", 0x3fff},
        {"8-8-8", "1-2-3", 0x010203},
        {"8-8-8", "255-255-255", 0xffffff},
        {"5-4-7", "1-2-3", 0x903},
        {"5-4-7", "31-15-127", 0xffff},
        {"14", "16383", 16383},
        {"24", "16777215", 0xffffff},
        {"4-10", "3-1023", 0xfff},
        {"1", "1", 1},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.format, row.text);
        CHECK(parse_point_code(row.text, row.format) == PointCode{row.number});
        CHECK(format_point_code(PointCode{row.number}, row.format) == row.text);
    }
}

TEST_CASE("what is not a point code of the format is refused") {
    for (const char* text : {"",
                             "-",
                             "1",
                             "1-1",
                             "1-1-1-1",
                             "8-0-0",
                             "0-256-0",
                             "0-0-8",
                             "1-1-",
                             "-1-1-1",
                             "1--1",
                             "1- 1-1",
                             " 1-1-1",
                             "1-1-1 ",
                             "a-1-1",
                             "1-1-x",
                             "+1-1-1",
                             "01-1-1",
                             "1-00-1",
                             "0x1-1-1",
                             "99999999999-1-1",
                             "4294967297-1-1",
                             "1.1.1"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_point_code(text, "3-8-3"));
    }
}

TEST_CASE("a format is 1 to 3 field widths of at most 24 bits together") {
    for (const char* good : {"3-8-3", "8-8-8", "5-4-7", "14", "24", "12-12", "1-1-1"})
        CHECK(is_point_code_format(good));
    for (const char* bad :
         {"", "0", "25", "8-8-9", "3-8-3-1", "3-8-", "-3", "3-0-3", "a", "3 8 3", "99999999999"})
        CHECK_FALSE(is_point_code_format(bad));
}

TEST_CASE("every ITU point code survives the way to text and back") {
    for (std::uint32_t pc = 0; pc < 1u << 14; ++pc)
        REQUIRE(parse_point_code(format_point_code(PointCode{pc}, "3-8-3"), "3-8-3") ==
                PointCode{pc});
}

TEST_CASE("a point code is printed as a number where the format is none") {
    CHECK(format_point_code(PointCode{77}, "nonsense") == "77");
    CHECK_FALSE(parse_point_code("77", "nonsense"));
}
