// SPDX-License-Identifier: Apache-2.0
// Loadsharing by SLS: even, by weight, and stable (sigtran.md, decisions 4 and 5).
#include "sigtran/sls_binding.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace signalbox;
using namespace signalbox::sigtran;

namespace {

using Active = std::vector<std::uint8_t>;

std::vector<unsigned> loads(const SlsBinding& b, std::size_t members, unsigned values) {
    std::vector<unsigned> n(members, 0);
    for (unsigned sls = 0; sls < values; ++sls)
        ++n.at(b.serving(Sls{static_cast<std::uint8_t>(sls)}));
    return n;
}

std::vector<std::uint16_t> snapshot(const SlsBinding& b, unsigned values) {
    std::vector<std::uint16_t> v;
    for (unsigned sls = 0; sls < values; ++sls)
        v.push_back(b.serving(Sls{static_cast<std::uint8_t>(sls)}));
    return v;
}

}  // namespace

TEST_CASE("decision 5: 16 and 256 SLS over 1 to 16 ASPs are shared within one of even",
          "[m3ua-field-08]") {
    for (const unsigned bits : {4u, 8u})
        for (std::size_t members = 1; members <= 16; ++members) {
            SlsBinding b{std::vector<std::uint16_t>(members, 1), bits};
            b.rebind(Active(members, 1));
            const auto n = loads(b, members, 1u << bits);
            const auto [least, most] = std::minmax_element(n.begin(), n.end());
            CAPTURE(bits, members);
            CHECK(*most - *least <= 1);
        }
}

TEST_CASE(
    "decision 5: also among those that are left after any single loss the shares are within one of "
    "even") {
    for (const unsigned bits : {4u, 8u})
        for (std::size_t members = 2; members <= 16; ++members)
            for (std::size_t lost = 0; lost < members; ++lost) {
                SlsBinding b{std::vector<std::uint16_t>(members, 1), bits};
                Active active(members, 1);
                b.rebind(active);
                active[lost] = 0;
                b.rebind(active);
                auto n = loads(b, members, 1u << bits);
                CAPTURE(bits, members, lost);
                CHECK(n[lost] == 0);
                n.erase(n.begin() + static_cast<std::ptrdiff_t>(lost));
                const auto [least, most] = std::minmax_element(n.begin(), n.end());
                CHECK(*most - *least <= 1);
            }
}

TEST_CASE(
    "decision 5: the loss of one ASP moves only its own flows, and its return brings exactly them "
    "back") {
    for (std::size_t members = 2; members <= 16; ++members)
        for (std::size_t lost = 0; lost < members; ++lost) {
            SlsBinding b{std::vector<std::uint16_t>(members, 1), 8};
            Active active(members, 1);
            b.rebind(active);
            const auto before = snapshot(b, 256);
            active[lost] = 0;
            b.rebind(active);
            const auto during = snapshot(b, 256);
            for (std::size_t sls = 0; sls < 256; ++sls)
                if (before[sls] != lost) REQUIRE(during[sls] == before[sls]);
            active[lost] = 1;
            b.rebind(active);
            REQUIRE(snapshot(b, 256) == before);
        }
}

TEST_CASE(
    "decision 5: a second loss moves only what the second one served, borrowed flows included") {
    SlsBinding b{std::vector<std::uint16_t>(5, 1), 8};
    Active active(5, 1);
    b.rebind(active);
    active[1] = 0;
    b.rebind(active);
    const auto before = snapshot(b, 256);
    active[3] = 0;
    b.rebind(active);
    const auto after = snapshot(b, 256);
    for (std::size_t sls = 0; sls < 256; ++sls)
        if (before[sls] != 3) REQUIRE(after[sls] == before[sls]);
}

TEST_CASE("decision 5: the normal ASP depends on the configuration alone, not on who came first") {
    SlsBinding b{std::vector<std::uint16_t>{1, 1, 1}, 4};
    std::vector<std::uint16_t> normal;
    for (std::uint8_t sls = 0; sls < 16; ++sls) normal.push_back(b.normal(Sls{sls}));
    b.rebind(Active{0, 0, 1});
    for (std::uint8_t sls = 0; sls < 16; ++sls) CHECK(b.serving(Sls{sls}) == 2);
    b.rebind(Active{0, 1, 1});
    CHECK(loads(b, 3, 16) == std::vector<unsigned>{0, 8, 8});
    b.rebind(Active{1, 1, 1});
    CHECK(snapshot(b, 16) == normal);
}

TEST_CASE("decision 5: weights decide the shares") {
    SlsBinding b{std::vector<std::uint16_t>{1, 2, 5}, 8};
    b.rebind(Active{1, 1, 1});
    CHECK(loads(b, 3, 256) == std::vector<unsigned>{32, 64, 160});
    SlsBinding zero{std::vector<std::uint16_t>{0, 1}, 4};
    zero.rebind(Active{1, 1});
    CHECK(loads(zero, 2, 16) == std::vector<unsigned>{8, 8});
}

TEST_CASE("decision 4: only the bits of the variant count, all 8 octet values are served") {
    SlsBinding b{std::vector<std::uint16_t>(3, 1), 4};
    b.rebind(Active{1, 1, 1});
    for (unsigned sls = 0; sls < 256; ++sls)
        REQUIRE(b.serving(Sls{static_cast<std::uint8_t>(sls)}) ==
                b.serving(Sls{static_cast<std::uint8_t>(sls & 15)}));
}

TEST_CASE(
    "decision 5: under any order of losses and returns home flows are at home and nobody dead "
    "serves") {
    std::mt19937 random{20};
    for (std::size_t members = 1; members <= 16; ++members) {
        SlsBinding b{std::vector<std::uint16_t>(members, 1), 8};
        Active active(members, 0);
        for (int step = 0; step < 200; ++step) {
            active[random() % members] ^= 1;
            b.rebind(active);
            const bool anybody = std::find(active.begin(), active.end(), 1) != active.end();
            for (unsigned v = 0; v < 256; ++v) {
                const Sls sls{static_cast<std::uint8_t>(v)};
                if (!anybody) {
                    REQUIRE(b.serving(sls) == SlsBinding::kNobody);
                } else if (active[b.normal(sls)] != 0) {
                    REQUIRE(b.serving(sls) == b.normal(sls));
                } else {
                    REQUIRE(active[b.serving(sls)] != 0);
                }
            }
        }
    }
}

TEST_CASE("an AS without members serves nobody") {
    SlsBinding b{std::vector<std::uint16_t>{}, 4};
    b.rebind(Active{});
    CHECK(b.serving(Sls{3}) == SlsBinding::kNobody);
}
