// SPDX-License-Identifier: Apache-2.0
// ICMP errors from the wire to the association that they are about, whichever worker owns it.
#include <catch2/catch.hpp>

#include "support/core_lab.h"
#include "wire/icmp.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

const IpAddress kGateway = IpAddress::v4(0x0a4d0003);

/// From a router: "type 3, `code`" about a packet of the gateway's to the ASP.
IpBytes unreachable(const Asp& asp, std::uint8_t code, VerificationTag tag) {
    const IpAddress router = IpAddress::v4(0x0a4d0001);
    std::array<std::uint8_t, 64> quoted{};
    const std::size_t header = wire::write_ip_header(
        quoted, {.source = kGateway, .destination = asp.addresses.front()}, 16);
    wire::write_sctp_header(std::span{quoted}.subspan(header),
                            {asp.association->remote_port(), asp.association->local_port(), tag});
    const auto parsed = wire::parse_ip(std::span{quoted}.first(header + 16));
    IpBytes out(20 + 128);
    const std::size_t bytes = wire::write_icmp_error(std::span{out}.subspan(20), router,
                                                     std::get<wire::IpPacket>(parsed), 3, code, 0);
    wire::write_ip_header(out, {.source = router, .destination = kGateway, .protocol = 1}, bytes);
    out.resize(20 + bytes);
    return out;
}

void feed(CoreLab& lab, const IpBytes& packet) {
    PacketSink sink;
    const core::PacketView view{.ip = packet};
    lab.workers[0]->receive({&view, 1}, lab.now, sink);
    lab.run(5ms);
}

std::size_t ended(CoreLab& lab) {
    std::size_t n = 0;
    core::EventRecord event;
    while (lab.node->next_event(event)) n += event.kind == core::EventKind::association_aborted;
    return n;
}

}  // namespace

TEST_CASE("PATH-8: protocol unreachable finds its association on any worker and ends it") {
    CoreLab lab{asps_over_servers(8, 8), {.workers = 2}};
    for (std::uint32_t i = 0; i < 8; ++i) lab.start(PeerIndex{i});
    const auto all_up = [&] { return lab.count(Count::associations_up) == 8; };
    REQUIRE(lab.run_until(all_up, 5s));
    lab.run(20ms);
    ended(lab);
    const std::uint64_t handed = lab.count(Count::handoff_packets);
    for (Asp& asp : lab.asps) {
        feed(lab, unreachable(asp, 2, VerificationTag{asp.association->local_tag().value ^ 1}));
        feed(lab, unreachable(asp, 3, asp.association->local_tag()));  // of a port: UDP's matter
    }
    CHECK(ended(lab) == 0);
    CHECK(lab.drops(Drop::icmp_unmatched) == 8);
    CHECK(lab.drops(Drop::icmp_ignored) == 8);
    for (Asp& asp : lab.asps) asp.silent = true;  // their kernels answer, nobody else does
    lab.run(150ms);                               // more than an RTO
    for (Asp& asp : lab.asps) {
        feed(lab, unreachable(asp, 2, asp.association->local_tag()));
    }
    CHECK(ended(lab) == 8);
    CHECK(lab.count(Count::icmp_errors) == 8);
    CHECK(lab.count(Count::handoff_packets) > handed);
}

TEST_CASE("V06: ICMP errors are budgeted, and broken ones have their names") {
    core::Settings settings = one_asp_per_server(1);
    settings.icmp_per_second = 10;
    CoreLab lab{settings, {}};
    Asp& asp = lab.start(PeerIndex{0});
    bring_up(lab, asp, 100);
    const IpBytes error = unreachable(asp, 1, VerificationTag{1});
    PacketSink sink;
    const core::PacketView view{.ip = error};
    for (int i = 0; i < 50; ++i) lab.workers[0]->receive({&view, 1}, lab.now, sink);
    CHECK(lab.drops(Drop::icmp_limited) == 49);
    CHECK(lab.drops(Drop::icmp_unmatched) == 1);
    lab.run(1s);
    IpBytes broken = error;
    broken.back() ^= 1;
    feed(lab, broken);
    CHECK(lab.drops(Drop::icmp_malformed) == 1);
    CHECK(sink.packets.empty());
}
