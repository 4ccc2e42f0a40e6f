// SPDX-License-Identifier: Apache-2.0
// 50,000 messages/s over two ASPs in loadshare and two workers, and one ASP is lost.
#include <catch2/catch.hpp>

#include <set>

#include "base/random.h"
#include "support/flow_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

enum class Loss { abort, shutdown, cut, silence };

const char* name_of(Loss loss) {
    constexpr const char* kNames[] = {"ABORT", "SHUTDOWN", "cut path", "silence"};
    return kNames[static_cast<std::size_t>(loss)];
}

/// Of `sigtran-lan`: its five time-outs of 100 to 400 ms, and what was in flight.
constexpr Duration kDetection = 1700ms;
constexpr unsigned kPerTurn = 25;  // of each of two sources, a turn is 1 ms: 50,000/s

core::Settings two_sources_two_asps(std::uint32_t send_buffer_bytes, sigtran::OnLoss on_loss) {
    core::Settings s = one_asp_per_server(4);
    s.servers.pop_back();
    s.servers.pop_back();
    s.servers[0].members = {{PeerIndex{0}, 1}, {PeerIndex{3}, 1}};
    s.servers[1].members = {{PeerIndex{1}, 1}, {PeerIndex{2}, 1}};
    s.servers[1].on_loss = on_loss;
    s.profiles[1].values.send_buffer_bytes = send_buffer_bytes;
    return s;
}

struct Rig {
    Rig(core::Settings settings, std::uint64_t seed)
        : flows(std::move(settings),
                {.workers = 2, .memory_bytes = 192u << 20, .seed = seed, .asp_profile = big()}) {
        flows.source(PeerIndex{0}, 100);
        flows.source(PeerIndex{3}, 100);
        one = &flows.server(PeerIndex{1}, 101);
        two = &flows.server(PeerIndex{2}, 101);
        flows.lab.run(100ms);
    }
    /// The sender must not be what loses.
    static sctp::Profile big() {
        sctp::Profile p = sctp::kProfileSigtranLan;
        p.send_buffer_bytes = 64u << 20;
        return p;
    }
    void traffic(Duration length) {
        for (Duration t{}; t < length; t += 1ms) flows.turn(kPerTurn);
    }
    void lose(Loss how) {
        switch (how) {
            case Loss::abort:
                return flows.lab.abort(*two, 12);
            case Loss::shutdown:
                return flows.lab.shutdown(*two);
            case Loss::cut:
                flows.lab.cut = [address = two->addresses[0]](const IpBytes& p, bool) {
                    const auto parsed = wire::parse_ip(p);
                    const auto& ip = std::get<wire::IpPacket>(parsed);
                    return ip.source == address || ip.destination == address;
                };
                return;
            case Loss::silence:
                two->silent = true;
                return;
        }
    }
    FlowLab flows;
    Asp* one = nullptr;
    Asp* two = nullptr;
};

/// Since `from`: when `asp` had the first message of an SLS that it did not have before.
std::optional<Duration> taken_over_after(const FlowLab& flows, const Asp& asp,
                                         const std::set<std::uint8_t>& own, Time from) {
    for (const FlowLab::Arrival& a : flows.arrivals)
        if (a.at == &asp && a.when >= from && !own.contains(a.sls)) return a.when - from;
    return std::nullopt;
}

std::set<std::uint8_t> sls_of(const FlowLab& flows, const Asp& asp, Time from, Time to = kNever) {
    std::set<std::uint8_t> found;
    for (const FlowLab::Arrival& a : flows.arrivals)
        if (a.at == &asp && a.when >= from && a.when < to) found.insert(a.sls);
    return found;
}

}  // namespace

TEST_CASE(
    "REL-01, decision 10: at 50,000 messages/s over two workers the loss of one ASP of two by "
    "ABORT, SHUTDOWN, cut path or silence loses no message, and each SLS keeps its order") {
    for (const Loss loss : {Loss::abort, Loss::shutdown, Loss::cut, Loss::silence}) {
        const bool found_by_timer = loss == Loss::cut || loss == Loss::silence;
        for (std::uint64_t seed = 1; seed <= (found_by_timer ? 2u : 8u); ++seed) {
            Rig rig(two_sources_two_asps(16u << 20, sigtran::OnLoss::resend), seed);
            FlowLab& flows = rig.flows;
            rig.traffic(60ms);
            const std::set<std::uint8_t> ones = sls_of(flows, *rig.one, Time{});
            const std::set<std::uint8_t> twos = sls_of(flows, *rig.two, Time{});
            REQUIRE(ones.size() == 8);
            REQUIRE(twos.size() == 8);

            const Time lost_at = flows.lab.now;
            rig.lose(loss);
            rig.traffic(found_by_timer ? kDetection + 100ms : 100ms);
            const auto after = taken_over_after(flows, *rig.one, ones, lost_at);
            flows.finish(3s);
            INFO(name_of(loss) << ", seed " << seed << ": " << flows.lab.counters());
            REQUIRE(after);
            CHECK(*after <= (found_by_timer ? kDetection : Duration{50ms}));
            CHECK(flows.missing() == 0);
            CHECK(flows.out_of_order() == 0);
            CHECK(flows.lab.drops(Drop::peer_congested) == 0);

            // It comes back while traffic runs: its own flows return, in order; no other moves.
            flows.lab.cut = nullptr;
            Asp& again = flows.restart(PeerIndex{2}, 101, kPerTurn);
            rig.traffic(100ms);
            const Time back_at = flows.lab.now;
            rig.traffic(60ms);
            flows.finish(3s);
            CHECK(sls_of(flows, again, back_at) == twos);
            CHECK(sls_of(flows, *rig.one, back_at + 20ms) == ones);
            CHECK(flows.missing() == 0);
            CHECK(flows.out_of_order() == 0);
        }
    }
}

TEST_CASE(
    "decision 10: an ASP that loses its power and restarts (RFC 9260 5.2.4.1) before anybody found "
    "it dead loses no message of what it was sent, and each SLS keeps its order") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Rig rig(two_sources_two_asps(16u << 20, sigtran::OnLoss::resend), seed);
        FlowLab& flows = rig.flows;
        rig.traffic(60ms);
        rig.two->silent = true;
        rig.traffic(40ms);
        CHECK(flows.missing() > 0);
        flows.restart(PeerIndex{2}, 101, kPerTurn, rig.two->association->local_port());
        rig.traffic(100ms);
        flows.finish(3s);
        INFO("seed " << seed << ": " << flows.lab.counters());
        CHECK(flows.lab.count(Count::associations_restarted) == 1);
        CHECK(flows.missing() == 0);
        CHECK(flows.out_of_order() == 0);
        CHECK(flows.lab.drops(Drop::association_lost) == 0);
    }
}

TEST_CASE(
    "decision 13: when an ASP is lost while workers do not get to run for milliseconds, no message "
    "overtakes another of its SLS, on the way there and back") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Rig rig(two_sources_two_asps(16u << 20, sigtran::OnLoss::resend), seed);
        FlowLab& flows = rig.flows;
        RandomSource random(seed);
        std::array<unsigned, 2> rests{};
        flows.lab.worker_paused = [&](unsigned w) {
            if (rests[w] == 0 && random.u32() % 6 == 0) rests[w] = 1 + random.u32() % 5;
            if (rests[w] == 0) return false;
            --rests[w];
            return true;
        };
        rig.traffic(50ms);
        rig.lose(seed % 2 == 0 ? Loss::abort : Loss::shutdown);
        rig.traffic(50ms);
        flows.restart(PeerIndex{2}, 101, kPerTurn);
        rig.traffic(50ms);
        flows.finish(3s);
        INFO("seed " << seed << ": " << flows.lab.counters());
        CHECK(flows.missing() == 0);
        CHECK(flows.out_of_order() == 0);
    }
}

TEST_CASE(
    "decision 5: an ASP that returns gets its flows back only when the alternate has taken what it "
    "was sent of them") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Rig rig(two_sources_two_asps(16u << 20, sigtran::OnLoss::resend), seed);
        FlowLab& flows = rig.flows;
        rig.traffic(30ms);
        rig.lose(Loss::abort);
        rig.traffic(30ms);
        // The alternate is slow: what it should have waits while the other comes back.
        bool slow = true;
        flows.lab.cut = [&, address = rig.one->addresses[0]](const IpBytes& p, bool) {
            const auto parsed = wire::parse_ip(p);
            return slow && std::get<wire::IpPacket>(parsed).destination == address;
        };
        Asp& again = flows.restart(PeerIndex{2}, 101, kPerTurn);
        rig.traffic(60ms);
        slow = false;
        rig.traffic(300ms);
        const Time back_at = flows.lab.now;
        rig.traffic(50ms);
        flows.finish(3s);
        INFO("seed " << seed << ": " << flows.lab.counters());
        CHECK(flows.missing() == 0);
        CHECK(flows.out_of_order() == 0);
        CHECK(sls_of(flows, again, back_at).size() == 8);
    }
}

TEST_CASE(
    "REL-01, decision 14: with the default send buffer and an ASP that is silent for longer than "
    "messages are held, the overflow is discarded by name, the senders are told, and no other "
    "message is missing") {
    core::Settings settings =
        two_sources_two_asps(sctp::Profile{}.send_buffer_bytes, sigtran::OnLoss::resend);
    settings.profiles[1].values.path_max_retransmits = 40;
    settings.profiles[1].values.association_max_retransmits = 40;
    Rig rig(std::move(settings), 1);
    FlowLab& flows = rig.flows;
    rig.lose(Loss::silence);
    rig.traffic(6500ms);
    const std::uint64_t discarded = flows.lab.drops(Drop::peer_congested);
    CHECK(discarded > 0);
    REQUIRE(
        flows.lab.run_until([&] { return flows.lab.count(Count::associations_lost) == 1; }, 20s));
    flows.finish(5s);
    INFO(flows.lab.counters());
    CHECK(flows.missing() == flows.lab.drops(Drop::peer_congested));
    CHECK(flows.out_of_order() == 0);
    CHECK(flows.was_told(2, 4));  // SCON
}

TEST_CASE(
    "decision 10: with on_loss report what was on the wire at the loss is counted, and nothing "
    "else is missing, nothing comes twice") {
    for (const Loss loss : {Loss::abort, Loss::silence}) {
        Rig rig(two_sources_two_asps(16u << 20, sigtran::OnLoss::report), 3);
        FlowLab& flows = rig.flows;
        rig.traffic(30ms);
        rig.lose(loss);
        rig.traffic(loss == Loss::abort ? 50ms : kDetection);
        flows.finish(3s);
        INFO(name_of(loss) << ": " << flows.lab.counters());
        CHECK(flows.missing() <= flows.lab.drops(Drop::unacknowledged_reported));
        if (loss == Loss::silence) CHECK(flows.missing() > 0);
        CHECK(flows.duplicates() == 0);
        CHECK(flows.out_of_order() == 0);
    }
}
