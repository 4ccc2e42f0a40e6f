// SPDX-License-Identifier: Apache-2.0
// What it costs to set up an association's streams, 65,535 each way against 10: the paged array
// with the first 16 inline, and one contiguous array for each direction, the way of usrsctp and of
// old kernels. Only streams 0 to 9 are then used, as by a peer that asks for all and needs few.
#include <array>
#include <cstdlib>
#include <memory>

#include "measure.h"
#include "mem/paged_array.h"

namespace signalbox::perf {
namespace {

constexpr std::size_t kFew = 10, kAll = 65'535, kUsed = 10, kInline = 16;
constexpr double kRatioMax = 2;  // PF-10, must

/// The shape of the product's own (sctp/inbound.h, sctp/outbound.h).
struct InStream {
    std::uint16_t next_ssn;
    std::uint16_t waiting;
};
using OutStream = std::uint16_t;

/// Pages from one region, kept in a list as a worker's cache keeps them.
class ListedPages final : public mem::PageSource {
 public:
    explicit ListedPages(std::size_t count)
        : region_(static_cast<std::uint8_t*>(
              std::aligned_alloc(mem::kPageBytes, count * mem::kPageBytes))) {
        if (region_ == nullptr) std::abort();
        for (std::size_t i = 0; i < count; ++i) give(region_ + i * mem::kPageBytes);
        taken_ = 0;
    }
    ~ListedPages() override { std::free(region_); }
    ListedPages(const ListedPages&) = delete;
    ListedPages& operator=(const ListedPages&) = delete;

    void* take() noexcept override {
        void* page = first_;
        if (page == nullptr) return nullptr;
        std::memcpy(&first_, page, sizeof first_);
        ++taken_;
        return page;
    }
    void give(void* page) noexcept override {
        std::memcpy(page, &first_, sizeof first_);
        first_ = page;
        --taken_;
    }
    std::size_t taken() const { return taken_; }

 private:
    std::uint8_t* region_;
    void* first_ = nullptr;
    std::size_t taken_ = 0;
};

template <class T>
struct PagedStreams {
    std::array<T, kInline> first;
    mem::PagedArray<T> rest;

    void set_up(ListedPages& pages, std::size_t count) {
        first = {};
        rest = {};
        if (!rest.resize(pages, count > kInline ? count - kInline : 0)) std::abort();
    }
    T* at(ListedPages& pages, std::size_t i) {
        return i < kInline ? &first[i] : rest.at(pages, i - kInline);
    }
    void release(ListedPages& pages) {
        while (!rest.release(pages, 8)) {
        }
    }
};

struct Paged {
    PagedStreams<InStream> in;
    PagedStreams<OutStream> out;

    void set_up_and_use(ListedPages& pages, std::size_t count, std::size_t from) {
        in.set_up(pages, count);
        out.set_up(pages, count);
        for (std::size_t i = from; i < from + kUsed; ++i) {
            ++in.at(pages, i)->next_ssn;
            ++*out.at(pages, i);
        }
    }
    void release(ListedPages& pages) {
        in.release(pages);
        out.release(pages);
    }
};

/// A queue's head and tail for each stream is what must be written at once in a contiguous array.
struct ContiguousStream {
    void* head;
    void* tail;
    std::uint16_t ssn;
};

enum class Fill : std::uint8_t { zero, each };

void contiguous(std::size_t count, Fill fill) {
    std::array<ContiguousStream*, 2> arrays;
    for (auto& streams : arrays) {
        streams = static_cast<ContiguousStream*>(std::calloc(count, sizeof(ContiguousStream)));
        if (streams == nullptr) std::abort();
        if (fill == Fill::each)
            for (std::size_t i = 0; i < count; ++i) streams[i].tail = &streams[i].head;
        for (std::size_t i = 0; i < kUsed; ++i) ++streams[i].ssn;
        keep(streams);
    }
    for (auto* streams : arrays) std::free(streams);
}

class Bench {
 public:
    explicit Bench(const Report& report) : report_(report) {}

    /// Median of set-up, first use and release, in ns, few and many interleaved.
    template <class Run>
    std::array<double, 2> time(int segments, int runs, Run&& run) {
        std::array<Segments, 2> times;
        for (int segment = 0; segment < segments; ++segment)
            for (std::size_t which = 0; which < 2; ++which) {
                const auto start = cycles();
                for (int i = 0; i < runs; ++i) run(which == 0 ? kFew : kAll);
                times[which].add(report_.ns(static_cast<double>(cycles() - start)) / runs);
            }
        return {times[0].median(), times[1].median()};
    }
    void add(const char* name, const std::array<double, 2>& ns) const {
        report_.add({std::string(name) + ".few", ns[0], "ns", {{"streams", kFew}}, "", 0});
        report_.add({std::string(name) + ".all", ns[1], "ns", {{"streams", kAll}}, "", 0});
        report_.add({std::string(name) + ".all_against_few",
                     ns[1] / ns[0],
                     "x",
                     {{"step", "set up, use 0 to 9, release"}},
                     "",
                     0});
    }

 private:
    const Report& report_;
};

int run(const Options& options) {
    const Report report("stream_setup", options);
    Bench bench(report);
    ListedPages pages(64);
    Paged association;
    std::size_t most_taken = 0;
    const auto paged = bench.time(options.quick ? 200 : 5000, 256, [&](std::size_t count) {
        association.set_up_and_use(pages, count, 0);
        keep(&association);
        most_taken = std::max(most_taken, pages.taken());
        association.release(pages);
    });
    bench.add("paged", paged);
    report.add({"paged.pages_taken",
                static_cast<double>(most_taken),
                "pages",
                {{"streams", kAll}, {"used", "0 to 9"}},
                "",
                0});

    const auto zeroed = bench.time(options.quick ? 20 : 500, 4,
                                   [](std::size_t count) { contiguous(count, Fill::zero); });
    bench.add("contiguous.calloc", zeroed);
    const auto filled = bench.time(options.quick ? 20 : 200, 1,
                                   [](std::size_t count) { contiguous(count, Fill::each); });
    bench.add("contiguous.each_written", filled);
    report.add(
        {"paged", paged[1], "ns", {{"streams", kAll}}, "contiguous.calloc", zeroed[1] / paged[1]});
    report.add({"paged",
                paged[1],
                "ns",
                {{"streams", kAll}},
                "contiguous.each_written",
                filled[1] / paged[1]});

    Segments highest;
    for (int i = 0; i < (options.quick ? 200 : 5000); ++i) {
        const auto start = cycles();
        association.set_up_and_use(pages, kAll, kAll - kUsed);
        keep(&association);
        highest.add(report.ns(static_cast<double>(cycles() - start)));
        most_taken = std::max(most_taken, pages.taken());
        association.release(pages);
    }
    report.add({"paged.highest_used",
                highest.median(),
                "ns",
                {{"streams", kAll}, {"used", "the last 10"}, {"pages", most_taken}},
                "",
                0});

    if (paged[1] > kRatioMax * paged[0] || pages.taken() != 0) {
        std::fprintf(stderr, "65,535 streams cost more than twice what 10 cost, or leak pages\n");
        return 1;
    }
    if (filled[1] < 10 * filled[0]) {
        std::fprintf(stderr, "the contiguous array shows no cost: this benchmark sees nothing\n");
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
