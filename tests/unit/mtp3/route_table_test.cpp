// SPDX-License-Identifier: Apache-2.0
// HMDC and HMRT (ITU-T Q.704 2.2, 2.3): whose message is it, and which AS serves its destination.
#include "mtp3/route_table.h"

#include <catch2/catch.hpp>
#include <random>

using namespace signalbox;
using namespace signalbox::mtp3;

namespace {

Instance national() {
    Instance i;
    i.name = "national";
    i.point_code = PointCode{1};
    i.aliases = {PointCode{2}, PointCode{3}};
    i.network_indicator = 2;
    return i;
}

Label to(std::uint32_t dpc, std::uint32_t opc = 500, std::uint8_t ni = 2) {
    Label l;
    l.opc = PointCode{opc};
    l.dpc = PointCode{dpc};
    l.network_indicator = ni;
    l.service_indicator = 3;
    return l;
}

Route route(std::uint32_t dpc, std::uint8_t mask_bits, std::uint32_t as,
            std::uint16_t instance = 0) {
    return {instance, PointCode{dpc}, mask_bits, AsIndex{as}};
}

/// "as 4", or the name of the drop.
std::string decide(const RouteTable& t, const Label& l, std::uint16_t instance = 0) {
    const Decision d = t.route(instance, l);
    if (d.refused) {
        CHECK(d.as == kNoAs);
        return std::string{kDropNames[static_cast<std::size_t>(*d.refused)]};
    }
    return "as " + std::to_string(d.as.value);
}

}  // namespace

TEST_CASE("a message goes to the AS whose destination it names") {
    const RouteTable t{{national()}, {route(100, 0, 4), route(101, 0, 5)}};
    CHECK(decide(t, to(100)) == "as 4");
    CHECK(decide(t, to(101)) == "as 5");
    CHECK(decide(t, to(102)) == "mtp3_no_route");
}

TEST_CASE("the longest mask wins, whatever the order of configuration") {
    const RouteTable t{
        {national()},
        {route(0, 14, 1), route(64, 6, 2), route(64, 3, 3), route(66, 0, 4), route(0x40, 4, 5)}};
    CHECK(decide(t, to(66)) == "as 4");
    CHECK(decide(t, to(67)) == "as 3");
    CHECK(decide(t, to(72)) == "as 5");
    CHECK(decide(t, to(100)) == "as 2");
    CHECK(decide(t, to(5000)) == "as 1");
}

TEST_CASE("the masked bits of a configured destination do not matter") {
    const RouteTable t{{national()}, {route(67, 3, 3)}};
    CHECK(decide(t, to(64)) == "as 3");
    CHECK(decide(t, to(71)) == "as 3");
    CHECK(decide(t, to(72)) == "mtp3_no_route");
}

TEST_CASE("of two routes to one destination the first configured serves") {
    const RouteTable t{{national()}, {route(100, 0, 7), route(100, 0, 3)}};
    CHECK(decide(t, to(100)) == "as 7");
}

TEST_CASE("HMDC: our own point code and its aliases have no local user") {
    const RouteTable t{{national()}, {route(0, 14, 1)}};
    for (const std::uint32_t own : {1u, 2u, 3u}) CHECK(decide(t, to(own)) == "mtp3_local_user");
}

TEST_CASE("our own point code or alias as origin from outside is refused") {
    const RouteTable t{{national()}, {route(0, 14, 1)}};
    for (const std::uint32_t own : {1u, 2u, 3u})
        CHECK(decide(t, to(100, own)) == "mtp3_own_origin");
}

TEST_CASE("another network indicator than the instance's is refused, before anything else") {
    const RouteTable t{{national()}, {route(100, 0, 4)}};
    for (const unsigned ni : {0u, 1u, 3u})
        CHECK(decide(t, to(100, 500, static_cast<std::uint8_t>(ni))) ==
              "mtp3_bad_network_indicator");
    CHECK(decide(t, to(1u << 14, 1, 0)) == "mtp3_bad_network_indicator");
    CHECK(decide(t, to(100, 500, 4)) == "mtp3_bad_service_information");
}

TEST_CASE("M09: point codes beyond the variant's bits are refused, 14 bit and 24 bit") {
    Instance ansi = national();
    ansi.point_code_bits = 24;
    const RouteTable t{{national(), ansi}, {route(0, 14, 1), route(0, 24, 2, 1)}};
    CHECK(decide(t, to(0x3fff)) == "as 1");
    CHECK(decide(t, to(0x4000)) == "mtp3_bad_point_code");
    CHECK(decide(t, to(100, 0x4000)) == "mtp3_bad_point_code");
    CHECK(decide(t, to(0xffffff), 1) == "as 2");
    CHECK(decide(t, to(0x1000000), 1) == "mtp3_bad_point_code");
    CHECK(decide(t, to(100, 0xffffffff), 1) == "mtp3_bad_point_code");
}

TEST_CASE("instances do not see each other's routes") {
    const RouteTable t{{national(), national(), national()},
                       {route(100, 0, 4), route(100, 0, 5, 2)}};
    CHECK(decide(t, to(100), 0) == "as 4");
    CHECK(decide(t, to(100), 1) == "mtp3_no_route");
    CHECK(decide(t, to(100), 2) == "as 5");
    CHECK(decide(t, to(100), 3) == "mtp3_no_route");
}

TEST_CASE("routes of an instance that does not exist are kept out; an empty table routes nothing") {
    const RouteTable t{{national()}, {route(100, 0, 4, 9)}};
    CHECK(decide(t, to(100), 9) == "mtp3_no_route");
    CHECK(decide(t, to(100)) == "mtp3_no_route");
    CHECK(t.routes().size() == 1);
    CHECK(decide(RouteTable{}, to(100)) == "mtp3_no_route");
}

TEST_CASE("random tables decide as a search through all routes does") {
    std::mt19937 random{7};
    for (int round = 0; round < 50; ++round) {
        std::vector<Route> routes;
        for (std::uint32_t as = 0; as < 60; ++as)
            routes.push_back(route(random() % 1024, static_cast<std::uint8_t>(random() % 8), as,
                                   static_cast<std::uint16_t>(random() % 2)));
        const RouteTable t{{national(), national()}, routes};
        for (std::uint32_t dpc = 4; dpc < 1024; ++dpc) {
            const Route* best = nullptr;
            for (const Route& r : routes) {
                const bool covers =
                    r.instance == 1 && r.dpc.value >> r.mask_bits == dpc >> r.mask_bits;
                if (covers && (best == nullptr || r.mask_bits < best->mask_bits)) best = &r;
            }
            REQUIRE(t.route(1, to(dpc)).as == (best == nullptr ? kNoAs : best->as));
        }
    }
}
