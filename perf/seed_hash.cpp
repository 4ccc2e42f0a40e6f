// SPDX-License-Identifier: Apache-2.0
// The experiment of the kernel's transport hash: one server port, one client port, 50 x 50 client
// addresses, 2,500 associations, heartbeats off, ten million packets with one-byte messages on the
// first of them, through parse, lookup, association and the answering SACKs. Then the same packets
// over all associations in random order, and what a packet costs with 1 to 1,000,000 of them.
// Negative control: the same packets with a walk along one chain of 2,500 peers before each.
#include <cstdlib>

#include "population.h"
#include "table/key.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kKernelPeers = 2500;
constexpr std::size_t kSameWork = 64;  // a burst meets 32 of them: every packet its own association
constexpr std::size_t kBurst = core::Worker::kBurst;
constexpr std::size_t kSegmentPackets = 60'000;
constexpr double kControlMinRatio = 3;

/// What the kernel did: every peer of the port in one chain, newest first, in random memory.
class OneChain {
 public:
    explicit OneChain(const Population& population) : links_(population.size()) {
        RandomOrder places(links_.size(), kSeed);
        for (std::size_t peer = 0; peer < links_.size(); ++peer) {
            Link& link = links_[places.next()];
            link = {.remote = population.address(peer), .next = first_};
            first_ = &link;
        }
    }
    void find(const IpAddress& remote) const {
        const Link* link = first_;
        while (link != nullptr && !table::same(link->remote, remote)) link = link->next;
        keep(link);
    }

 private:
    struct alignas(64) Link {
        IpAddress remote;
        const Link* next = nullptr;
    };
    std::vector<Link> links_;
    const Link* first_ = nullptr;
};

enum class Traffic : std::uint8_t { first_peer, all_peers };

/// Packets of one population, a burst at a time, each with the time that it took.
class Run {
 public:
    Run(Population& population, Traffic traffic, bool one_chain = false)
        : population_(population), order_(population.size(), kSeed), traffic_(traffic) {
        if (one_chain) chain_ = std::make_unique<OneChain>(population);
    }
    void bursts(std::size_t count) {
        for (std::size_t b = 0; b < count; ++b) {
            std::uint64_t counts = 0;
            for (std::size_t i = 0; i < kBurst; ++i) {
                const std::size_t peer = traffic_ == Traffic::first_peer ? 0 : order_.next();
                population_.add_data(peer);
                if (chain_ != nullptr) counts += walk(peer);
            }
            counts += population_.pass();
            sum_ += counts;
            each_.add(static_cast<double>(counts));
            sent_ += population_.sent().size();
            if (++turns_ % 64 == 0) population_.control_turn();
        }
    }
    void settle() { bursts(2 * population_.size() / kBurst + 8); }
    /// One segment: whole rounds over the population, an even number of them, so that each segment
    /// holds as many SACKs. Others have run meanwhile: before it come packets until the caches hold
    /// what they will hold, which takes many rounds where the working set is about as large as a
    /// cache.
    void segment() {
        const std::size_t least = chain_ != nullptr ? 1 : kSegmentPackets;
        const std::size_t rounds = 2 * population_.size();
        const std::size_t count = (least + rounds - 1) / rounds * rounds / kBurst + 1;
        bursts(std::min(count, 2 * kSegmentPackets / kBurst) / 2);
        restart();
        bursts(count);
        packets_ = count * kBurst;
        segments_.add(each_.undisturbed_mean() / kBurst);
    }
    void restart() {
        sum_ = sent_ = 0;
        each_.clear();
    }
    std::uint64_t sum() const { return sum_; }
    std::uint64_t sent() const { return sent_; }
    double sent_for_each() const {
        return static_cast<double>(sent_) / static_cast<double>(packets_);
    }
    double counts_per_packet() { return segments_.median(); }
    Population& population() { return population_; }

 private:
    std::uint64_t walk(std::size_t peer) const {
        const IpAddress remote = population_.address(peer);
        const auto start = cycles();
        chain_->find(remote);
        return cycles() - start;
    }
    Population& population_;
    RandomOrder order_;
    Traffic traffic_;
    std::unique_ptr<OneChain> chain_;
    Segments segments_;
    Segments each_;
    std::uint64_t sum_ = 0, sent_ = 0, turns_ = 0;
    std::size_t packets_ = 1;
};

const char* family(bool ipv6) {
    return ipv6 ? "IPv6" : "IPv4";
}

std::unique_ptr<Population> bring_up(const Report& report, std::size_t associations, bool ipv6) {
    auto population = std::make_unique<Population>(
        Population::Options{.associations = associations,
                            .ipv6 = ipv6,
                            // RFC 9260 6.2's longest: a round over a million takes more than 200
                            // ms, and every second packet is to be answered in all populations.
                            .sack_delay = std::chrono::milliseconds(500)});
    population->counts_per_ns = report.cycles_per_ns();
    if (population->connect_all()) return population;
    std::fprintf(stderr, "seed_hash: %zu of %zu associations came up\n", population->established(),
                 associations);
    std::exit(1);
}

/// PF-5. True: the packets all reached their associations.
bool ten_million(const Report& report, bool ipv6, Traffic traffic, std::size_t packets) {
    const auto population = bring_up(report, kKernelPeers, ipv6);
    Run run(*population, traffic);
    run.settle();
    const std::uint64_t before = population->drops(Drop::ppid_unexpected);
    run.restart();
    const auto start = cycles();
    run.bursts(packets / kBurst);
    const double whole_s = report.ns(static_cast<double>(cycles() - start)) / 1e9;
    const double gateway_s = report.ns(static_cast<double>(run.sum())) / 1e9;
    const std::uint64_t arrived = population->drops(Drop::ppid_unexpected) - before;
    const double to_ten_million = 10e6 / static_cast<double>(arrived);
    report.add({"seed_hash.ten_million",
                gateway_s * to_ten_million,
                "s",
                {{"associations", kKernelPeers},
                 {"family", family(ipv6)},
                 {"traffic", traffic == Traffic::first_peer ? "first peer" : "all, random order"},
                 {"packets", arrived},
                 {"with_peers_s", whole_s * to_ten_million},
                 {"packets_sent", run.sent()}},
                "",
                0});
    return arrived == packets / kBurst * kBurst;
}

struct Measured {
    std::unique_ptr<Population> population;
    std::unique_ptr<Run> run;
    bool control = false;
};

/// PF-6: what a packet costs with more and more associations; they take turns.
bool by_population(const Report& report, bool ipv6, std::vector<std::size_t> sizes, int rounds) {
    std::vector<Measured> all;
    sizes.push_back(0);  // the control
    for (const std::size_t size : sizes) {
        Measured m{.population = bring_up(report, size == 0 ? kKernelPeers : size, ipv6)};
        m.control = size == 0;
        m.run = std::make_unique<Run>(*m.population, Traffic::all_peers, m.control);
        if (!m.control) m.run->settle();
        all.push_back(std::move(m));
    }
    for (int round = 0; round < rounds; ++round)
        for (Measured& m : all) m.run->segment();
    const double one = all[0].run->counts_per_packet();
    double same_work = one, kernel = one, control = one;
    for (Measured& m : all) {
        const double counts = m.run->counts_per_packet();
        const std::size_t size = m.population->size();
        const bool is_control = m.control;
        if (size == kSameWork) same_work = counts;
        if (size == kKernelPeers && !is_control) kernel = counts;
        if (is_control) control = counts;
        report.add({is_control ? "control.seed_hash.one_chain" : "seed_hash.packet",
                    report.ns(counts),
                    "ns/packet",
                    {{"associations", size},
                     {"family", family(ipv6)},
                     {"counts", counts},
                     {"times_of_1", counts / one},
                     {"times_of_64", counts / same_work},
                     {"sent_for_each", m.run->sent_for_each()}},
                    "1 association",
                    one / counts});
    }
    if (control > kControlMinRatio * kernel) return true;
    std::fprintf(stderr, "seed_hash: the one chain costs too little: this sees nothing\n");
    return false;
}

/// PF-8, from the handshakes that were needed anyway.
void set_up_rate(const Report& report, bool ipv6, std::size_t associations) {
    const auto population = bring_up(report, associations, ipv6);
    const double ns = report.ns(static_cast<double>(population->setup_counts())) /
                      static_cast<double>(associations);
    report.add({"association.set_up",
                1e9 / ns,
                "associations/s",
                {{"associations", associations}, {"family", family(ipv6)}, {"ns_each", ns}},
                "",
                0});
}

int run(const Options& options) {
    const Report report("seed_hash", options);
    const std::size_t packets = options.quick ? 64'000 : 10'000'000;
    bool good = true;
    for (const bool ipv6 : {false, true})
        for (const Traffic traffic : {Traffic::first_peer, Traffic::all_peers})
            good &= ten_million(report, ipv6, traffic, packets);
    if (!good) std::fprintf(stderr, "seed_hash: packets were lost\n");
    for (const bool ipv6 : {false, true}) {
        set_up_rate(report, ipv6, options.quick ? 2500 : 100'000);
        std::vector<std::size_t> sizes{1, kSameWork, kKernelPeers, 10'000};
        if (!options.quick) sizes.insert(sizes.end(), {100'000, 1'000'000});
        good &= by_population(report, ipv6, sizes, options.quick ? 1 : 15);
    }
    return good ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
