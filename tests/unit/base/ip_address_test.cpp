// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace signalbox;

TEST_CASE("an IPv4 address is read from a dotted quad and written back") {
    const auto address = IpAddress::parse("192.0.2.17");
    REQUIRE(address);
    CHECK(address->is_v4());
    CHECK(*address == IpAddress::v4(0xc0000211));
    CHECK(address->as_v4() == 0xc0000211);
    CHECK(address->text() == "192.0.2.17");
    CHECK(IpAddress::parse("0.0.0.0")->is_unspecified());
    CHECK(IpAddress::parse("255.255.255.255")->is_broadcast());
}

TEST_CASE("IPv6 addresses are written as RFC 5952 says") {
    struct Case {
        std::string in;
        std::string out;
    };
    const std::vector<Case> cases{
        {"2001:0DB8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"},  // 4.2.3: the first
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},                  // 4.2.2: not one group
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},                           // 4.2.3: the longest
        {"::", "::"},
        {"::1", "::1"},
        {"fe80::", "fe80::"},
        {"::2:3", "::2:3"},
        {"1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"},
        {"1:0:0:4:5:6:0:0", "1::4:5:6:0:0"},
        {"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
    };
    for (const auto& c : cases) {
        INFO(c.in);
        const auto address = IpAddress::parse(c.in);
        REQUIRE(address);
        CHECK(address->is_v6());
        CHECK(address->text() == c.out);
        CHECK(IpAddress::parse(address->text()) == address);
    }
}

TEST_CASE("what is not exactly an address is refused") {
    for (const std::string text : {"",
                                   " ",
                                   "1.2.3",
                                   "1.2.3.4.5",
                                   "1.2.3.256",
                                   "01.2.3.4",
                                   "1.2.3.010",
                                   "0x1.2.3.4",
                                   "1.2.3.4 ",
                                   " 1.2.3.4",
                                   "1.2.3.4/24",
                                   "1.2.3.-4",
                                   "1..2.3",
                                   "1.2.3.",
                                   ":",
                                   ":::",
                                   "1::2::3",
                                   "1:2:3:4:5:6:7",
                                   "1:2:3:4:5:6:7:8:9",
                                   "12345::",
                                   "g::",
                                   "fe80::1%eth0",
                                   "[::1]",
                                   "::ffff:192.0.2.1",
                                   "::ffff:c000:201",
                                   "localhost",
                                   "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"}) {
        INFO(text);
        CHECK_FALSE(IpAddress::parse(text));
    }
    CHECK_FALSE(IpAddress::parse(std::string_view{"1.2.3.4\0", 8}));
}

TEST_CASE("kinds of addresses are told apart (RFC 9260 8.4 rule 1)") {
    const auto is = [](const char* text) { return *IpAddress::parse(text); };
    CHECK(is("127.0.0.1").is_loopback());
    CHECK(is("::1").is_loopback());
    CHECK_FALSE(is("::2").is_loopback());
    CHECK(is("224.0.0.1").is_multicast());
    CHECK(is("239.255.255.255").is_multicast());
    CHECK_FALSE(is("240.0.0.1").is_multicast());
    CHECK(is("ff02::1").is_multicast());
    CHECK(is("169.254.3.4").is_link_local());
    CHECK(is("fe80::1").is_link_local());
    CHECK(is("febf::1").is_link_local());
    CHECK_FALSE(is("fec0::1").is_link_local());
    CHECK(is("::").is_unspecified());
    CHECK(is("192.0.2.1").is_usable_unicast());
    for (const char* bad : {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255"})
        CHECK_FALSE(is(bad).is_usable_unicast());
}
