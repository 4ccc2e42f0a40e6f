// SPDX-License-Identifier: Apache-2.0
// What one forwarded message costs the gateway, from a burst of received IP packets to the packets
// that leave it, with 1, 2,500 and 100,000 associations: parse, CRC in, lookup, SCTP, M3UA, route,
// SCTP, CRC out, and the SACKs of both sides. The ASPs are our own client side in the same process;
// only the worker's calls are timed (rdtsc per burst). Interleaved: the populations take turns,
// segment by segment. Negative control: the same messages with a payload ten times as long must
// cost more, or the timer sees nothing.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "measure.h"
#include "support/core_lab.h"

namespace signalbox::perf {
namespace {

using namespace test;

constexpr std::uint64_t kSeed = 7;
/// No call of a worker lasts a millisecond unless the system runs something else meanwhile.
constexpr std::uint64_t kInterrupted = 2'000'000;

/// Payload and messages for each packet: the product's common cases and the control.
struct Shape {
    const char* name;
    std::size_t payload;
    std::size_t for_each_packet;
};
constexpr std::array<Shape, 3> kShapes{
    {{"forward", 100, 1}, {"forward", 100, 8}, {"control.forward.ten_times_the_payload", 1000, 1}}};

struct Population {
    std::size_t associations;
    std::size_t servers;
    std::unique_ptr<CoreLab> lab;
    std::array<Segments, kShapes.size()> ns;
    std::uint64_t ticks = 0;
    std::uint64_t entered = 0;
};

bool set_up(Population& p) {
    core::Settings settings = asps_over_servers(p.associations, p.servers);
    settings.profiles[1].values.heartbeat_interval = std::chrono::hours(1);
    settings.init_per_second = 100'000'000;
    const std::size_t memory = (std::size_t{64} << 20) + p.associations * 10'000;
    sctp::Profile quiet = sctp::kProfileSigtranLan;
    quiet.heartbeat_interval = settings.profiles[1].values.heartbeat_interval;
    p.lab = std::make_unique<CoreLab>(
        settings, CoreLab::Options{.memory_bytes = memory / 4096 * 4096, .asp_profile = quiet});
    p.lab->around_workers = [&p](bool entering) {
        if (entering) {
            p.entered = cycles();
            return;
        }
        const std::uint64_t took = cycles() - p.entered;
        if (took < kInterrupted) p.ticks += took;
    };
    for (std::uint32_t i = 0; i < p.associations; ++i) p.lab->start(PeerIndex{i});
    if (!p.lab->run_until([&] { return p.lab->count(Count::associations_up) == p.associations; },
                          20s))
        return false;
    for (std::uint32_t i = 0; i < p.associations; ++i) {
        p.lab->send(p.lab->asps[i], StreamId{0}, m3ua::aspup(i + 1));
        p.lab->send(p.lab->asps[i], StreamId{0},
                    m3ua::aspac(static_cast<std::uint32_t>(100 + i % p.servers)));
    }
    // What all of them are told meanwhile is more than the pages hold at once: it takes its time.
    const auto active = [](const Asp& asp) {
        return std::any_of(asp.received.begin(), asp.received.end(),
                           [](const auto& m) { return m3ua::is(m, 4, 3); });
    };
    bool all = false;
    for (int i = 0; i < 100 && !all; ++i) {
        p.lab->run(200ms);
        all = std::all_of(p.lab->asps.begin(), p.lab->asps.end(), active);
    }
    for (Asp& asp : p.lab->asps) asp.received.clear();
    return all;
}

/// One segment: `messages` DATA from random ASPs to the next server. Returns ns per routed message.
double segment(Population& p, RandomSource& random, std::size_t messages, const Shape& shape,
               const Report& report) {
    CoreLab& lab = *p.lab;
    const std::vector<std::uint8_t> user(shape.payload, 0x55);
    const std::uint64_t routed = lab.count(Count::routed_messages);
    p.ticks = 0;
    for (std::size_t n = 0; n < messages; n += shape.for_each_packet) {
        const auto i = static_cast<std::uint32_t>(random.below(p.associations));
        const auto server = static_cast<std::uint32_t>(i % p.servers);
        const auto to = static_cast<std::uint32_t>((server + 1) % p.servers);
        for (std::size_t k = n; k < n + shape.for_each_packet; ++k)
            lab.send(lab.asps[i], StreamId{static_cast<std::uint16_t>(1 + k % 15)},
                     m3ua::data(100 + server, 1000 + server, 1000 + to,
                                static_cast<std::uint8_t>(k % 16), user));
        lab.flush(lab.asps[i]);
        if (n / shape.for_each_packet % 32 == 31) lab.turn();
    }
    lab.run_until([&] { return lab.count(Count::routed_messages) - routed == messages; }, 2s);
    lab.run(60ms, 10ms);  // the delayed SACKs are part of the price
    for (Asp& asp : lab.asps) {
        asp.received.clear();
        asp.received_on.clear();
    }
    const std::uint64_t done = lab.count(Count::routed_messages) - routed;
    if (done != messages) {
        std::fprintf(stderr, "forward: %zu sent, %llu routed; %s\n", messages,
                     static_cast<unsigned long long>(done), lab.counters().c_str());
        return -1;
    }
    return report.ns(static_cast<double>(p.ticks)) / static_cast<double>(done);
}

bool add_rows(const Report& report, std::vector<Population>& populations, bool strict) {
    for (Population& p : populations)
        for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
            const double ns = p.ns[shape].median();
            report.add({kShapes[shape].name,
                        ns,
                        "ns/message",
                        {{"associations", p.associations},
                         {"payload", kShapes[shape].payload},
                         {"messages_per_packet", kShapes[shape].for_each_packet},
                         {"million_per_s", 1000 / ns},
                         {"seed", kSeed}},
                        "2 associations",
                        populations[0].ns[shape].median() / ns});
            if (strict && shape == 2 && ns <= p.ns[0].median()) {
                std::fprintf(stderr,
                             "forward: ten times the payload costs nothing: not measuring\n");
                return false;
            }
        }
    return true;
}

int run(const Options& options) {
    const Report report("forward", options);
    std::vector<Population> populations(options.quick ? 2 : 3);
    const std::array<std::size_t, 3> associations{2, 2500, 100'000}, servers{2, 100, 100};
    for (std::size_t i = 0; i < populations.size(); ++i) {
        populations[i].associations = associations[i];
        populations[i].servers = servers[i];
        if (set_up(populations[i])) continue;
        std::fprintf(stderr, "forward: %zu associations did not come up: %s\n", associations[i],
                     populations[i].lab->counters().c_str());
        return 1;
    }
    RandomSource random(kSeed);
    const std::size_t messages = options.quick ? 640 : 2048;
    for (int s = 0; s < (options.quick ? 5 : 31); ++s)
        for (Population& p : populations)
            for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
                const double ns = segment(p, random, messages, kShapes[shape], report);
                if (ns < 0) return 1;
                p.ns[shape].add(ns);
            }
    // In --quick beside a suite's other work a median of five segments is no measurement.
    return add_rows(report, populations, !options.quick) ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
