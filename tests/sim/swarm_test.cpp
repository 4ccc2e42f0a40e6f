// SPDX-License-Identifier: Apache-2.0
// Each seed switches on a random subset of features and faults; the ledger is checked at the end of
// each. SIGNALBOX_SIM_SEEDS sets the number of seeds (default 1,000).
#include <catch2/catch.hpp>

#include <cstdlib>

#include "sim/world.h"

using namespace signalbox;
using namespace signalbox::sim;

namespace {

std::uint64_t seeds() {
    const char* text = std::getenv("SIGNALBOX_SIM_SEEDS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 1000;
}

/// One bit of the seed's draw each.
struct Swarm {
    explicit Swarm(std::uint64_t seed) : dice(seed ^ 0x5a5a5a5a) {
        for (bool* f : {&interleaving, &limited, &resets, &wraps, &refusal, &pauses, &jumps,
                        &restarts, &two_paths, &bad_network, &long_messages, &cuts})
            *f = dice.below(3) == 0;
        scheduler = static_cast<sctp::Scheduler>(dice.below(5));
    }
    sctp::Profile profile() const {
        sctp::Profile p = sctp::kProfileSigtranLan;
        p.path_max_retransmits = 100;
        p.association_max_retransmits = 200;
        p.max_init_retransmits = 100;
        p.streams_out = 40;
        p.streams_in = 60;
        p.message_interleaving = interleaving;
        p.stream_reset = resets;
        p.scheduler = scheduler;
        p.scheduler_values = {3, 1, 2, 5, 1};
        return p;
    }
    std::string text() const {
        std::string all = "scheduler " + std::to_string(static_cast<int>(scheduler));
        const std::pair<bool, const char*> names[] = {
            {interleaving, " I-DATA"}, {limited, " limited"},    {resets, " resets"},
            {wraps, " wraps"},         {refusal, " refusal"},    {pauses, " pauses"},
            {jumps, " jumps"},         {restarts, " restarts"},  {two_paths, " two paths"},
            {bad_network, " loss"},    {long_messages, " long"}, {cuts, " cuts"}};
        for (const auto& [on, name] : names)
            if (on) all += name;
        return all;
    }
    RandomSource dice;
    bool interleaving{}, limited{}, resets{}, wraps{}, refusal{}, pauses{}, jumps{}, restarts{},
        two_paths{}, bad_network{}, long_messages{}, cuts{};
    sctp::Scheduler scheduler{};
};

/// TSNs, numbers of requests, SSNs or MIDs begin just before they wrap.
bool begin_at_wrap(World& world, const sctp::Profile& profile) {
    constexpr Tsn kStart{0xfffffffe};
    if (!world.begin_at(kStart, kStart, sctp::offered_extensions(profile))) return false;
    const Mid start{profile.message_interleaving ? 0xfffffffeu : 65534u};
    for (Endpoint* e : {&world.a, &world.z}) {
        sctp::Environment env = world.environment(*e);
        for (std::uint16_t stream = 0; stream < 40; ++stream)
            if (!e->association->continue_stream(env, StreamId{stream}, start, start)) return false;
    }
    return true;
}

void reconfigure(World& world, Endpoint& e, RandomSource& dice) {
    sctp::Environment env = world.environment(e);
    const StreamId list[] = {{static_cast<std::uint16_t>(dice.below(40))}, {3}, {20}};
    const auto direction = static_cast<sctp::StreamDirection>(dice.below(2));
    switch (dice.below(4)) {
        case 0:
            e.association->reset_streams(env, direction, list);
            break;
        case 1:
            e.association->reset_streams(env, direction, {});
            break;
        case 2:
            e.association->reset_tsns(env);
            break;
        default:
            e.association->add_streams(env, direction, 7);
            break;
    }
    world.settle(e);
}

void disturb(World& world, Swarm& swarm) {
    Endpoint& e = swarm.dice.below(2) == 0 ? world.a : world.z;
    if (swarm.resets) reconfigure(world, e, swarm.dice);
    if (swarm.refusal) e.pages.refuse = !e.pages.refuse;
    if (swarm.pauses && swarm.dice.below(3) == 0) e.paused_until = world.now + 500ms;
    if (swarm.jumps && swarm.dice.below(4) == 0) world.now += 2s;
    if (swarm.cuts && swarm.two_paths)
        world.cut_path =
            swarm.dice.below(2) == 0 ? ~0u : static_cast<unsigned>(swarm.dice.below(2));
}

std::string drops(const Endpoint& e) {
    std::string all;
    for (std::size_t i = 0; i < kDropCount; ++i)
        if (const auto n = e.counters.drops(static_cast<Drop>(i)); n != 0)
            all += " " + std::string(kDropNames[i]) + "=" + std::to_string(n);
    for (const auto& event : e.events)
        all += " event " + std::to_string(static_cast<int>(event.event)) + "/" +
               std::to_string(event.path) + "/" + std::to_string(event.cause);
    return all;
}

void load(World& world, Swarm& swarm) {
    for (int burst = 0; burst < 10 && world.broken().empty(); ++burst) {
        for (int i = 0; i < 12; ++i) {
            sctp::Reliability limits;
            if (swarm.limited && swarm.dice.below(2) == 0)
                limits = {.lifetime = Duration(swarm.dice.below(2) * 50'000'000),
                          .max_retransmits = static_cast<std::uint8_t>(swarm.dice.below(3))};
            const std::size_t most = swarm.long_messages ? 9000 : 300;
            world.send_random(world.a, most, limits);
            world.send_random(world.z, 300, limits);
        }
        disturb(world, swarm);
        world.run(30ms);
    }
    world.a.pages.refuse = world.z.pages.refuse = false;
    world.cut_path = ~0u;
}

}  // namespace

TEST_CASE("REL-01, R04, D10: any mixture of features and faults keeps the ledger balanced") {
    std::uint64_t resets = 0;
    std::uint64_t given_up = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        Swarm swarm(seed);
        INFO("seed " << seed << ": " << swarm.text());
        const sctp::Profile profile = swarm.profile();
        const Impairment network =
            swarm.bad_network
                ? Impairment{.loss_percent = 15, .reorder_percent = 10, .duplicate_percent = 5}
                : Impairment{};
        World world(seed, network, profile, swarm.two_paths ? 2 : 1);
        REQUIRE((swarm.wraps ? begin_at_wrap(world, profile) : world.connect()));
        load(world, swarm);
        if (swarm.restarts && world.broken().empty()) {
            world.a.paused_until = world.z.paused_until = Time{};
            REQUIRE(world.restart_a());
            load(world, swarm);
        }
        const Time end = world.now + 600s;
        while (world.broken().empty() && !world.quiet() && world.step(end)) {
        }
        world.run(10s);
        INFO("a " << world.a.accepted << " sent, z " << world.z.delivered << " delivered");
        INFO("z " << world.z.accepted << " sent, a " << world.a.delivered << " delivered");
        INFO("a dropped" << drops(world.a));
        INFO("z dropped" << drops(world.z));
        REQUIRE(world.broken() == "");
        REQUIRE_FALSE(world.a.ended());
        REQUIRE_FALSE(world.z.ended());
        REQUIRE(world.quiet());
        resets += world.a.counters.get(Count::streams_reset);
        given_up += world.a.counters.drops(Drop::message_abandoned);
    }
    CHECK(resets > seeds() / 10);
    CHECK(given_up > seeds() / 10);
}
