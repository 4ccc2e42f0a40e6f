// SPDX-License-Identifier: Apache-2.0
// Which of several routes (sigtran.md section 4): further fields, priorities, weights, combined
// sets by SLS, what is available, and the work of a look-up.
#include <catch2/catch.hpp>
#include <map>

#include "mtp3/route_table.h"

using namespace signalbox;
using namespace signalbox::mtp3;

namespace {

Instance itu() {
    Instance i;
    i.point_code = PointCode{1};
    i.network_indicator = 2;
    return i;
}

Instance ansi() {
    Instance i = itu();
    i.point_code_bits = 24;
    i.sls_bits = 8;
    i.rotates_sls = true;
    i.address_form = wire::AddressForm::ansi;
    return i;
}

Label to(std::uint32_t dpc, std::uint8_t sls = 0, std::uint32_t opc = 500, std::uint8_t si = 3) {
    return {PointCode{opc}, PointCode{dpc}, si, 2, 0, Sls{sls}, {}};
}

Route via(std::uint32_t as, std::uint8_t priority = 1, std::uint16_t weight = 1,
          std::uint32_t dpc = 100) {
    return {0, PointCode{dpc}, 0, AsIndex{as}, priority, weight, {}};
}

Route matching(std::uint32_t as, Match match) {
    return {0, PointCode{100}, 0, AsIndex{as}, 1, 1, std::move(match)};
}

/// Everything is available but these.
auto without(std::initializer_list<std::uint32_t> gone) {
    return [gone = std::vector<std::uint32_t>(gone)](AsIndex as) {
        for (const std::uint32_t g : gone)
            if (as.value == g) return Reach::none;
        return Reach::available;
    };
}

/// UDT with a called party of indicator `indicator` and the octets `address`.
std::vector<std::uint8_t> udt(std::vector<std::uint8_t> address) {
    std::vector<std::uint8_t> m{9, 0, 3, 0, 0};
    m.push_back(static_cast<std::uint8_t>(address.size()));
    for (const std::uint8_t octet : address) m.push_back(octet);
    return m;
}

}  // namespace

TEST_CASE("routing: of routes to one destination those with more fields come first") {
    Match si;
    si.service_indicators = 1u << 5;
    Match si_and_opc = si;
    si_and_opc.opc = PointCode{512};
    si_and_opc.opc_mask_bits = 2;
    const RouteTable t{{itu()}, {matching(1, {}), matching(2, si), matching(3, si_and_opc)}};
    CHECK(t.route(0, to(100, 0, 500, 3)).as.value == 1);
    CHECK(t.route(0, to(100, 0, 500, 5)).as.value == 2);
    CHECK(t.route(0, to(100, 0, 515, 5)).as.value == 3);
    CHECK(t.route(0, to(100, 0, 516, 5)).as.value == 2);
}

TEST_CASE("routing: when no route of the longest mask matches the next one is asked") {
    Match isup;
    isup.service_indicators = 1u << 5;
    Route wide = via(9);
    wide.mask_bits = 4;
    const RouteTable t{{itu()}, {matching(1, isup), wide}};
    CHECK(t.route(0, to(100, 0, 500, 5)).as.value == 1);
    CHECK(t.route(0, to(100, 0, 500, 3)).as.value == 9);
}

TEST_CASE("routing: key on SSN of the called party, ITU and ANSI address forms") {
    Match hlr;
    hlr.ssns = {6, 7};
    const RouteTable t{{itu()}, {matching(1, {}), matching(2, hlr)}};
    Route national = matching(2, hlr);
    const RouteTable a{{ansi()}, {matching(1, {}), national}};
    const auto decide = [](const RouteTable& table, const std::vector<std::uint8_t>& m) {
        Label l = to(100);
        l.user_data = m;
        return table.route(0, l).as.value;
    };
    CHECK(decide(t, udt({0x42, 6})) == 2);
    CHECK(decide(t, udt({0x42, 8})) == 1);
    CHECK(decide(t, udt({0x43, 1, 2, 7})) == 2);  // point code, then SSN
    CHECK(decide(t, udt({0x01, 6, 6})) == 1);     // no SSN in it
    CHECK(decide(a, udt({0x01, 6})) == 2);        // ANSI: bit 0 is the SSN, and it comes first
    CHECK(decide(a, udt({0x03, 7, 1, 2, 3})) == 2);
    CHECK(decide(t, {9, 0, 200, 0, 0, 2, 0x42, 6}) == 1);  // the pointer lies
    CHECK(decide(t, {9}) == 1);
    CHECK(decide(t, {}) == 1);
}

TEST_CASE("routing: key on a range of circuits") {
    Match circuits;
    circuits.has_circuits = true;
    circuits.first_circuit = 1;
    circuits.last_circuit = 31;
    const RouteTable t{{itu()}, {matching(1, {}), matching(2, circuits)}};
    const auto decide = [&](std::vector<std::uint8_t> isup, std::uint8_t si = 5) {
        Label l = to(100, 0, 500, si);
        l.user_data = isup;
        return t.route(0, l).as.value;
    };
    CHECK(decide({31, 0, 1}) == 2);
    CHECK(decide({31, 0xf0, 1}) == 2);  // four spare bits (Q.763 1.2)
    CHECK(decide({31, 1, 1}) == 1);
    CHECK(decide({0, 0, 1}) == 1);
    CHECK(decide({5}) == 1);
    CHECK(decide({5, 0}, 3) == 1);
}

TEST_CASE("routing: a lower priority serves when the higher one is away") {
    const RouteTable t{{itu()}, {via(7, 2), via(3, 1), via(9, 5)}};
    CHECK(t.route(0, to(100), without({})).as.value == 3);
    CHECK(t.route(0, to(100), without({3})).as.value == 7);
    CHECK(t.route(0, to(100), without({3, 7})).as.value == 9);
    CHECK(t.route(0, to(100), without({3, 7, 9})).as.value == 3);
}

TEST_CASE("routing: one that recovers gets the message only when nobody else can have it") {
    const RouteTable t{{itu()}, {via(3, 1), via(7, 2)}};
    const auto recovering = [](bool second) {
        return [second](AsIndex as) {
            if (as.value == 3) return Reach::queueing;
            return second ? Reach::available : Reach::none;
        };
    };
    CHECK(t.route(0, to(100), recovering(true)).as.value == 7);
    CHECK(t.route(0, to(100), recovering(false)).as.value == 3);
}

TEST_CASE("routing: a combined set shares by SLS and weight; one SLS keeps its way") {
    const RouteTable even{{itu()}, {via(1), via(2), via(3, 2)}};
    std::map<std::uint32_t, int> load;
    for (std::uint8_t sls = 0; sls < 16; ++sls) {
        ++load[even.route(0, to(100, sls)).as.value];
        CHECK(even.route(0, to(100, sls)).as == even.route(0, to(100, sls)).as);
    }
    CHECK(load == std::map<std::uint32_t, int>{{1, 8}, {2, 8}});
    const RouteTable weighted{{itu()}, {via(1, 1, 3), via(2, 1, 1)}};
    load.clear();
    for (std::uint8_t sls = 0; sls < 16; ++sls) ++load[weighted.route(0, to(100, sls)).as.value];
    CHECK(load == std::map<std::uint32_t, int>{{1, 12}, {2, 4}});
}

TEST_CASE("routing: the loss of one of a combined set moves only its own SLS values") {
    const RouteTable t{{itu()}, {via(1), via(2), via(3), via(4)}};
    std::map<std::uint32_t, int> load;
    for (std::uint8_t sls = 0; sls < 16; ++sls) {
        const std::uint32_t before = t.route(0, to(100, sls)).as.value;
        const std::uint32_t after = t.route(0, to(100, sls), without({2})).as.value;
        if (before != 2) CHECK(after == before);
        ++load[after];
    }
    CHECK(load.count(2) == 0);
    for (const auto& [as, n] : load) CHECK(n >= 4);
}

TEST_CASE("routing: ANSI rotates the SLS after a combined set, and only then") {
    const RouteTable t{{ansi()}, {via(1), via(2), via(5, 1, 1, 200)}};
    CHECK(t.route(0, to(100)).rotate_sls);
    CHECK_FALSE(t.route(0, to(200)).rotate_sls);
    CHECK(RouteTable::rotated(Sls{0x01}, 8).value == 0x80);
    CHECK(RouteTable::rotated(Sls{0x81}, 8).value == 0xc0);
    CHECK(RouteTable::rotated(Sls{0x03}, 5).value == 0x11);
    std::uint8_t all = 0x5a;
    for (int i = 0; i < 8; ++i) all = RouteTable::rotated(Sls{all}, 8).value;
    CHECK(all == 0x5a);
}

TEST_CASE("C02: service indicators 0 to 2 are never routed") {
    const RouteTable t{{itu()}, {via(1)}};
    for (const std::uint8_t si : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}})
        CHECK(t.route(0, to(100, 0, 500, si)).refused == Drop::mtp3_network_management);
    CHECK_FALSE(t.route(0, to(100, 0, 500, 5)).refused);
}

TEST_CASE("C06: the owner of a point code is known for the loop guard") {
    const RouteTable t{{itu()}, {via(1), via(2, 1, 1, 200), via(3, 2, 1, 200)}};
    CHECK(t.owner(0, PointCode{100}) == AsIndex{1});
    CHECK(t.owner(0, PointCode{200}) == kNoAs);
    CHECK(t.owner(0, PointCode{300}) == kNoAs);
    CHECK(t.owner(7, PointCode{100}) == kNoAs);
}

TEST_CASE("routing: 100,000 routes take no more work to look up than 10") {
    const auto work = [](std::uint32_t routes) {
        std::vector<Route> all;
        for (std::uint32_t i = 0; i < routes; ++i) all.push_back(via(i, 1, 1, 1000 + i * 7));
        Instance wide = ansi();
        const RouteTable t{{wide}, std::move(all)};
        std::uint32_t most = 0;
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < routes; ++i) {
            Trace trace;
            const auto any = [](AsIndex) { return Reach::available; };
            REQUIRE(t.route(0, to(1000 + i * 7), any, &trace).as.value == i);
            most = std::max(most, trace.probes + trace.entries);
            sum += trace.probes + trace.entries;
        }
        return std::pair{most, static_cast<double>(sum) / routes};
    };
    const auto few = work(10);
    const auto many = work(100000);
    INFO("mean work of 10: " << few.second << ", of 100,000: " << many.second << ", most "
                             << many.first);
    CHECK(many.second <= 3.0);
    CHECK(many.first <= 32);
}

TEST_CASE("C06: an AS with several point codes may be sent what one of them sent to another") {
    const RouteTable t{{itu()}, {via(1), via(2, 1, 1, 200), via(2, 1, 1, 201)}};
    CHECK(t.comes_back(0, PointCode{100}, PointCode{999}, AsIndex{1}));
    CHECK(t.comes_back(0, PointCode{200}, PointCode{200}, AsIndex{2}));
    CHECK_FALSE(t.comes_back(0, PointCode{200}, PointCode{201}, AsIndex{2}));
    CHECK_FALSE(t.comes_back(0, PointCode{100}, PointCode{200}, AsIndex{2}));
}
