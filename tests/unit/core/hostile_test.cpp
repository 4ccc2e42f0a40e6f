// SPDX-License-Identifier: Apache-2.0
// A worker among enemies: packets that no association sent, floods, and good traffic beside them
// (sections P, H, V, F of the adversarial list).
#include <catch2/catch.hpp>

#include <cstring>

#include "hostile.h"

using namespace signalbox;
using namespace signalbox::test;

TEST_CASE("P01, P04: short packets and wrong checksums are dropped by name and never answered",
          "[PKT-2][imh-i-3-4]") {
    Target t;
    const IpBytes good = t.init(t.peer(1));
    REQUIRE(t.feed(good).size() == 1);
    for (std::size_t bytes = 0; bytes < 20 + 16; ++bytes) {
        IpBytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
        CHECK(t.feed(cut).empty());
        if (bytes >= 20)
            CHECK(t.feed(Target::ip(t.peer(1), kGateway, {cut.data() + 20, bytes - 20})).empty());
    }
    CHECK(t.lab.drops(Drop::sctp_truncated) >= 12);
    const std::uint64_t before = t.lab.drops(Drop::bad_crc);
    for (const std::uint32_t crc : {0u, 0xffffffffu, Target::adler32(good)}) {
        IpBytes wrong = good;
        wire::store_u32(std::span{wrong}.subspan(20), 8, crc);
        CHECK(t.feed(wrong).empty());
    }
    for (std::size_t bit = 0; bit < (good.size() - 20) * 8; bit += 7) {
        IpBytes flipped = good;
        flipped[20 + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        CHECK(t.feed(flipped).empty());
    }
    CHECK(t.lab.drops(Drop::bad_crc) > before + 3);
    CHECK(t.lab.count(Count::inits_answered) == 1);
}

TEST_CASE("P14: a port's word on the checksum is believed only when it gave one") {
    Target t;
    IpBytes wrong = t.init(t.peer(1));
    wrong[20 + 8] ^= 1;
    CHECK(t.feed(wrong, core::Checksum::unknown).empty());
    CHECK(t.lab.drops(Drop::bad_crc) == 1);
    CHECK(t.feed(t.init(t.peer(1)), core::Checksum::bad).empty());
    CHECK(t.lab.drops(Drop::bad_crc) == 2);
    CHECK(t.feed(wrong, core::Checksum::good).size() == 1);
}

TEST_CASE("P05, PKT-6: port 0 as source or destination is dropped") {
    Target t;
    CHECK(t.feed(t.init(t.peer(1), kGateway, 0, 2905)).empty());
    CHECK(t.feed(t.init(t.peer(1), kGateway, 2906, 0)).empty());
    CHECK(t.lab.drops(Drop::port_zero) == 2);
}

TEST_CASE("P06, PKT-6: a source that is no one's, everyone's or our own is dropped",
          "[fh-o-5-3-5]") {
    Target t;
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    const IpAddress bad[]{IpAddress::v4(0xffffffff),
                          IpAddress::v4(0xe0000001),
                          IpAddress::v4(0),
                          IpAddress::v4(0x7f000001),
                          kGateway,
                          kGateway2};
    for (const IpAddress& source : bad) {
        INFO(source.text());
        const std::uint64_t before = t.lab.drops(Drop::ip_bad_source);
        CHECK(t.feed(t.init(source)).empty());
        CHECK(t.feed(t.cookie_echo(answer, source)).empty());
        CHECK(t.feed(t.chunk(source, 7, 0)).empty());
        CHECK(t.lab.drops(Drop::ip_bad_source) == before + 3);
    }
    CHECK(t.lab.count(Count::associations_up) == 0);
    const std::uint64_t before = t.lab.drops(Drop::ip_bad_destination);
    for (const std::uint32_t to : {0xffffffffu, 0xe0000001u})
        CHECK(t.feed(t.init(t.peer(1), IpAddress::v4(to))).empty());
    CHECK(t.lab.drops(Drop::ip_bad_destination) == before + 2);
}

TEST_CASE("P07, PKT-5: IPv4 options and IPv6 extension headers give the same answer as none") {
    Target t;
    const IpBytes plain = t.init(t.peer(1));
    for (std::size_t words = 1; words <= 10; ++words) {
        IpBytes options(plain.begin(), plain.begin() + 20);
        options[0] = static_cast<std::uint8_t>(0x45 + words);
        options.resize(20 + 4 * words, 1);  // NOP
        options.insert(options.end(), plain.begin() + 20, plain.end());
        wire::store_u16(options, 2, static_cast<std::uint16_t>(options.size()));
        wire::store_u16(options, 10, 0);
        wire::store_u16(options, 10,
                        wire::internet_checksum(std::span{options}.first(20 + 4 * words)));
        const auto said = t.feed(options);
        REQUIRE(said.size() == 1);
        CHECK(Target::first_type(said[0]) == 2);
    }
    const IpBytes six = t.init(kPeer6, kGateway6);
    for (const std::size_t extra : {std::size_t{0}, std::size_t{8}, std::size_t{24}}) {
        IpBytes chained(six.begin(), six.begin() + 40);
        if (extra != 0) {
            chained.push_back(chained[6]);
            chained[6] = 60;  // destination options
            chained.push_back(static_cast<std::uint8_t>(extra / 8 - 1));
            chained.push_back(1);  // PadN over the rest
            chained.push_back(static_cast<std::uint8_t>(extra - 4));
            chained.resize(40 + extra, 0);
        }
        chained.insert(chained.end(), six.begin() + 40, six.end());
        wire::store_u16(chained, 4, static_cast<std::uint16_t>(chained.size() - 40));
        const auto said = t.feed(chained);
        REQUIRE(said.size() == 1);
        CHECK(Target::first_type(said[0]) == 2);
    }
}

TEST_CASE("V07, X05, END-2: out-of-the-blue answers are budgeted, strangers get none") {
    core::Settings settings = Target::settings();
    settings.out_of_the_blue_per_second = 100;
    Target t{settings};
    std::size_t answers = 0;
    for (int i = 0; i < 10'000; ++i) {
        const IpBytes packet = t.chunk(t.peer(1), 0, 77, std::vector<std::uint8_t>(20, 1));
        for (const IpBytes& said : t.feed(packet)) {
            ++answers;
            CHECK(said.size() <= packet.size());
            CHECK(Target::first_type(said) == 6);
        }
        if (i % 10 == 0) t.lab.now += 1ms;
    }
    CHECK(answers >= 100);
    CHECK(answers <= 100 + 10 + 1);  // a second's worth and the burst
    CHECK(t.lab.drops(Drop::out_of_the_blue_limited) == 10'000 - answers);
    t.lab.now += 10s;
    CHECK(t.feed(t.chunk(IpAddress::v4(0x01020304), 0, 77)).empty());
    CHECK(t.feed(t.chunk(IpAddress::v4(0x01020304), 8, 77)).empty());
    CHECK(t.feed(t.chunk(t.peer(1), 8, 77)).size() == 1);
}

TEST_CASE(
    "TAB-3, H01: INITs by the thousand put nothing into table, slots or pages; a cookie does") {
    Target t;
    const auto at_rest = t.resources();
    std::vector<IpBytes> answers;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        answers = t.feed(t.init(t.peer(1), kGateway, static_cast<std::uint16_t>(1024 + i)));
        if (i % 32 == 0) t.lab.now += 1ms;
    }
    CHECK(t.resources() == at_rest);
    t.lab.now += 1s;
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    t.feed(t.cookie_echo(answer, t.peer(1)));
    CHECK(t.lab.count(Count::associations_up) == 1);
    CHECK(t.resources() != at_rest);
}

TEST_CASE("H06: cookies of random bytes are budgeted before the MAC and leave nothing") {
    core::Settings settings = Target::settings();
    settings.init_per_second = 1000;
    Target t{settings};
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    const IpBytes good = t.cookie_echo(answer, t.peer(1));
    const auto at_rest = t.resources();
    RandomSource random{9};
    for (int i = 0; i < 50'000; ++i) {
        IpBytes forged = good;
        random.fill(std::span{forged}.subspan(20 + 16));
        CHECK(t.feed(Target::sealed(forged)).empty());
        if (i % 50 == 0) t.lab.now += 1ms;
    }
    CHECK(t.resources() == at_rest);
    CHECK(t.lab.drops(Drop::cookie_bad_mac) <= 1000 + 101);
    CHECK(t.lab.drops(Drop::cookie_bad_mac) > 900);
    CHECK(t.lab.drops(Drop::cookie_limited) > 48'000);
    t.lab.now += 1s;
    t.feed(good);
    CHECK(t.lab.count(Count::associations_up) == 1);
}

TEST_CASE(
    "PATH-7: a peer is its tags and its addresses: the right tag from elsewhere is no one's") {
    Target t;
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    t.feed(t.cookie_echo(answer, t.peer(1)));
    REQUIRE(t.lab.count(Count::associations_up) == 1);
    t.flush();
    const std::uint32_t tag = wire::load_u32(std::span{answer}.subspan(20), 16);
    for (const IpAddress& other : {t.peer(0), IpAddress::v4(0x0a4d4d4d)})
        for (const std::uint8_t type : {std::uint8_t{0}, std::uint8_t{6}, std::uint8_t{7}})
            t.feed(t.chunk(other, type, tag, std::vector<std::uint8_t>(16, 1)));
    t.flush();
    CHECK(t.lab.count(Count::associations_aborted) == 0);
    CHECK(t.lab.count(Count::rx_data_chunks) == 0);
    CHECK(t.lab.drops(Drop::out_of_the_blue) == 6);
    t.feed(t.chunk(t.peer(1), 6, tag));
    CHECK(t.lab.count(Count::associations_aborted) == 1);
}

TEST_CASE("TAB-6, HS-7: an INIT from a new address that lists a known one meets that association") {
    Target t;
    const IpBytes answer = t.feed(t.init(t.peer(1))).at(0);
    t.feed(t.cookie_echo(answer, t.peer(1)));
    REQUIRE(t.lab.count(Count::associations_up) == 1);
    const std::uint32_t known = t.peer(1).as_v4();
    const IpBytes elsewhere = t.init(
        t.peer(0), kGateway, 2905, 2905,
        {0, 5, 0, 8, static_cast<std::uint8_t>(known >> 24), static_cast<std::uint8_t>(known >> 16),
         static_cast<std::uint8_t>(known >> 8), static_cast<std::uint8_t>(known)});
    CHECK(t.feed(elsewhere).empty());
    CHECK(t.lab.drops(Drop::restart_new_addresses) == 1);
    CHECK(t.lab.count(Count::inits_answered) == 1);
    const auto said = t.flush();
    REQUIRE(said.size() >= 1);
    bool refused = false;
    for (const IpBytes& p : said)
        refused |= Target::first_type(p) == 6 && wire::load_u16(std::span{p}.subspan(36), 0) == 11;
    CHECK(refused);
}
