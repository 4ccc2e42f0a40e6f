// SPDX-License-Identifier: Apache-2.0
// What finding a stream's state costs for each message: one of the first 16, which lie in the
// association; a higher one, which lies in a page; the same in one contiguous array. Hot: one
// association and 64 streams of it; random: a thousand associations with 65,535 streams each, whose
// arrays exceed every cache. Then whole packets with an inline and with a paged stream. Negative
// control: random access to the contiguous arrays must cost more than hot access.
#include <cstdlib>
#include <memory>

#include "core/shared.h"
#include "mem/paged_array.h"
#include "population.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kStreams = 65'535, kInline = 16, kSegment = 512;

struct Stream {
    std::uint16_t next_ssn;
    std::uint16_t waiting;
};

class HeapPages final : public mem::PageSource {
 public:
    void* take() noexcept override { return std::aligned_alloc(mem::kPageBytes, mem::kPageBytes); }
    void give(void* page) noexcept override { std::free(page); }
};

/// The shape of the product's own (sctp/inbound.h).
struct Paged {
    alignas(64) std::array<Stream, kInline> first{};
    mem::PagedArray<Stream> rest;
};

class Bench {
 public:
    explicit Bench(std::size_t associations)
        : paged_(associations), contiguous_(associations, std::vector<Stream>(kStreams)) {
        for (Paged& p : paged_)
            if (!p.rest.resize(pages_, kStreams - kInline) ||
                !p.rest.ensure(pages_, kStreams - kInline))
                std::abort();
    }
    ~Bench() {
        for (Paged& p : paged_)
            while (!p.rest.release(pages_, 1000)) {
            }
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void run(int segments, bool hot) {
        for (int i = 0; i < segments; ++i) {
            draw(hot);
            time(inlined, [&](const Draw& d) {
                ++paged_[d.association].first[d.stream % kInline].next_ssn;
            });
            draw(hot);
            time(paged, [&](const Draw& d) {
                ++paged_[d.association].rest.at(pages_, d.stream - kInline)->next_ssn;
            });
            draw(hot);
            time(contiguous,
                 [&](const Draw& d) { ++contiguous_[d.association][d.stream].next_ssn; });
        }
    }
    Segments inlined, paged, contiguous;

 private:
    struct Draw {
        std::size_t association, stream;
    };
    void draw(bool hot) {
        for (Draw& d : draws_) {
            d.association = hot ? 0 : random_.below(paged_.size());
            d.stream = kInline + (hot ? random_.below(64) : random_.below(kStreams - kInline));
        }
    }
    template <class Act>
    void time(Segments& segments, Act&& act) {
        const auto start = cycles();
        for (const Draw& d : draws_) act(d);
        segments.add(static_cast<double>(cycles() - start) / kSegment);
    }
    HeapPages pages_;
    std::vector<Paged> paged_;
    std::vector<std::vector<Stream>> contiguous_;
    std::array<Draw, kSegment> draws_;
    Random random_{kSeed};
};

bool arrays(const Report& report, const Options& options) {
    double hot_ns = 0, random_ns = 0;
    for (const bool hot : {true, false}) {
        Bench bench(hot ? 1 : options.quick ? 100 : 1000);
        bench.run(options.quick ? 200 : 5000, hot);
        const double one_array = report.ns(bench.contiguous.median());
        (hot ? hot_ns : random_ns) = one_array;
        const auto add = [&](const char* where, Segments& times) {
            const double ns = report.ns(times.median());
            report.add({"stream.access",
                        ns,
                        "ns",
                        {{"stream", where}, {"order", hot ? "hot" : "random"}, {"seed", kSeed}},
                        "one contiguous array",
                        one_array / ns});
        };
        add("inline", bench.inlined);
        add("paged", bench.paged);
        add("contiguous", bench.contiguous);
    }
    if (random_ns > 2 * hot_ns) return true;
    std::fprintf(stderr, "stream_access: random access costs as much as hot access\n");
    return false;
}

/// Whole packets through the worker: a thousand associations, each message on its first streams or
/// on high ones.
bool packets(const Report& report, const Options& options) {
    constexpr std::size_t kAssociations = 1000, kHigh = 8;
    Population gateway(
        {.associations = kAssociations, .streams = 65'535, .page_bytes = std::size_t{512} << 20});
    gateway.counts_per_ns = report.cycles_per_ns();
    if (!gateway.connect_all()) return false;
    RandomOrder order(kAssociations, kSeed);
    Random random(kSeed);
    std::vector<std::array<std::uint16_t, 2 * kHigh>> ssn(kAssociations);
    std::array<Segments, 2> ns;
    std::uint64_t sent = 0;
    for (int burst = 0; burst < (options.quick ? 2000 : 60'000); ++burst) {
        const std::size_t high = burst % 2;
        for (std::size_t i = 0; i < core::Worker::kBurst; ++i, ++sent) {
            const std::size_t peer = order.next(), which = random.below(kHigh);
            const std::size_t stream = high != 0 ? 8000 * (which + 1) : which;
            gateway.add_data(peer, static_cast<std::uint16_t>(stream),
                             ssn[peer][kHigh * high + which]++);
        }
        ns[high].add(report.ns(static_cast<double>(gateway.pass())) / core::Worker::kBurst);
        gateway.control_turn();
    }
    for (int i = 0; i < 4; ++i) gateway.pass();
    for (const std::size_t high : {0u, 1u})
        report.add({"stream.packet",
                    ns[high].median(),
                    "ns/packet",
                    {{"stream", high != 0 ? "paged" : "inline"}, {"associations", kAssociations}},
                    "inline stream",
                    ns[0].median() / ns[high].median()});
    const std::uint64_t arrived = gateway.drops(Drop::ppid_unexpected);
    if (arrived != sent)
        std::fprintf(stderr, "stream_access: %llu of %llu messages arrived\n",
                     static_cast<unsigned long long>(arrived),
                     static_cast<unsigned long long>(sent));
    return arrived == sent;
}

int run(const Options& options) {
    const Report report("stream_access", options);
    bool good = arrays(report, options);
    good &= packets(report, options);
    return good ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
