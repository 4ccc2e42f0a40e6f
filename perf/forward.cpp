// SPDX-License-Identifier: Apache-2.0
// What one forwarded message costs the gateway, from the received IP packet to the packet that
// leaves it: parse, CRC in, lookup, SCTP, M3UA, route, SCTP, CRC out, and the SACKs of both sides.
// ASPs of application servers send to the next server, in random order and with all SLS values; the
// populations take turns, segment by segment. Only the worker's calls are timed.
// Negative control: the same messages with a payload ten times as long must cost more, or the timer
// sees nothing; not asked of a population that no cache holds, where waiting for its lines hides
// the payload. Every message is counted when it leaves: one lost ends the program.
#include <algorithm>

#include "m3ua_population.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kBurst = core::Worker::kBurst;
constexpr std::size_t kWaiting = 2 * kBurst;  // messages in the gateway before more are sent
constexpr int kMostTurns = 1000;
constexpr std::size_t kCached = 10'000;  // associations

/// Payload and messages for each packet: the product's common cases and the control.
struct Shape {
    const char* name;
    std::size_t payload;
    std::size_t for_each_packet;
};
constexpr std::array<Shape, 3> kShapes{
    {{"forward", 100, 1}, {"forward", 100, 8}, {"control.forward.ten_times_the_payload", 1000, 1}}};

class Run {
 public:
    Run(M3uaPopulation& population)
        : population_(population), order_(population.size(), kSeed), random_(kSeed) {}

    /// False: a message did not arrive.
    bool segment(const Shape& shape, std::size_t packets, Segments& counts_per_message) {
        const std::size_t messages = packets / kBurst * kBurst * shape.for_each_packet;
        Segments bursts;
        std::size_t arrived = 0;
        for (std::size_t at = 0; at < packets / kBurst; ++at) {
            std::uint64_t counts = burst(shape);
            arrived += population_.acknowledge();
            // A window that is full makes messages wait; the acknowledgements open it.
            const std::size_t sent = (at + 1) * kBurst * shape.for_each_packet;
            for (int n = 0; sent - arrived > kWaiting && n < kMostTurns; ++n) {
                counts += population_.pass();
                arrived += population_.acknowledge();
            }
            bursts.add(static_cast<double>(counts));
            if (at % 16 == 15) population_.control_turn();
        }
        arrived += population_.drain();
        if (arrived != messages) {
            std::fprintf(stderr, "forward: of %zu messages %zu arrived\n", messages, arrived);
            return false;
        }
        counts_per_message.add(bursts.undisturbed_mean() /
                               static_cast<double>(kBurst * shape.for_each_packet));
        return true;
    }

 private:
    std::uint64_t burst(const Shape& shape) {
        for (std::size_t n = 0; n < kBurst; ++n) {
            const std::size_t peer = order_.next();
            population_.add({.from = peer,
                             .to = (population_.server_of(peer) + 1) % population_.servers(),
                             .sls = static_cast<std::uint8_t>(random_.below(256)),
                             .payload_bytes = shape.payload,
                             .count = shape.for_each_packet});
        }
        return population_.pass();
    }
    M3uaPopulation& population_;
    RandomOrder order_;
    Random random_;
};

struct Measured {
    std::unique_ptr<M3uaPopulation> population;
    std::unique_ptr<Run> run;
    std::array<Segments, kShapes.size()> counts;
};

/// With few ASPs for each server most packets that leave carry several messages; with many, one.
constexpr std::size_t kAspsPerServer = 256;

Measured bring_up(const Report& report, std::size_t associations) {
    Measured m{.population = std::make_unique<M3uaPopulation>(Population::Options{
                   .associations = associations,
                   .page_bytes = (std::size_t{256} << 20) + associations * 4096,
                   .servers = std::max<std::size_t>(2, associations / kAspsPerServer)})};
    m.population->counts_per_ns = report.cycles_per_ns();
    if (!m.population->connect_all() || !m.population->activate()) {
        std::fprintf(stderr, "forward: of %zu ASPs not all became active\n", associations);
        std::exit(1);
    }
    m.run = std::make_unique<Run>(*m.population);
    return m;
}

bool add_rows(const Report& report, std::vector<Measured>& all, bool strict) {
    for (Measured& m : all)
        for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
            const double ns = report.ns(m.counts[shape].median());
            report.add({kShapes[shape].name,
                        ns,
                        "ns/message",
                        {{"associations", m.population->size()},
                         {"servers", m.population->servers()},
                         {"payload", kShapes[shape].payload},
                         {"messages_per_packet", kShapes[shape].for_each_packet},
                         {"million_per_s", 1000 / ns},
                         {"seed", kSeed}},
                        "2 associations",
                        report.ns(all[0].counts[shape].median()) / ns});
            if (!strict || shape != 2 || m.population->size() > kCached ||
                m.counts[2].median() > m.counts[0].median())
                continue;
            std::fprintf(stderr, "forward: ten times the payload costs nothing: not measuring\n");
            return false;
        }
    return true;
}

int run(const Options& options) {
    const Report report("forward", options);
    std::vector<std::size_t> sizes{2, 2500};
    if (!options.quick) sizes.push_back(100'000);
    std::vector<Measured> all;
    for (const std::size_t size : sizes) all.push_back(bring_up(report, size));
    const std::size_t packets = options.quick ? 3'200 : 64'000;
    for (int s = 0; s < (options.quick ? 2 : 15); ++s)
        for (Measured& m : all)
            for (std::size_t shape = 0; shape < kShapes.size(); ++shape)
                if (!m.run->segment(kShapes[shape], packets, m.counts[shape])) return 1;
    // In --quick beside a suite's other work a median of two segments is no measurement.
    return add_rows(report, all, !options.quick) ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
