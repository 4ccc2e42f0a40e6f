// SPDX-License-Identifier: Apache-2.0
// What it costs to set up an association with 1 to 65,535 streams each way, through the worker's
// real handshake, in pools of pages of every state; beside it two contiguous arrays for the
// streams, and libusrsctp's handshake (both of its ends). Then 65,535 + 65,535 streams set up, used
// and torn down again and again while other associations carry traffic: the longest turn, and that
// no message is lost.
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "core/shared.h"
#include "population.h"
#include "usrsctp_pair.h"

namespace signalbox::perf {
namespace {

constexpr std::array<std::uint16_t, 5> kStreams{1, 10, 256, 2048, 65'535};
constexpr std::size_t kTen = 1, kAll = 4;  // places in kStreams
constexpr double kRatioMax = 2;            // PF-10, must

/// Takes pages out of a gateway's pool, and gives them back, so that it is in a wanted state.
class Pool {
 public:
    explicit Pool(Population& population) : shared_(population.node().shared()) {}
    ~Pool() { give_back(); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void take_all() {
        std::array<void*, 64> some;
        while (const std::size_t n = shared_.pool->take(some))
            pages_.insert(pages_.end(), some.begin(), some.begin() + static_cast<long>(n));
        while (void* page = shared_.per_worker[0]->pages.take()) pages_.push_back(page);
    }
    /// Every second page is in use: none has a free neighbour.
    void checkerboard() {
        take_all();
        std::sort(pages_.begin(), pages_.end());
        std::vector<void*> kept;
        for (std::size_t i = 0; i < pages_.size(); ++i)
            if (i % 2 == 0)
                kept.push_back(pages_[i]);
            else
                shared_.pool->give(std::span(&pages_[i], 1));
        pages_.swap(kept);
    }
    void leave(std::size_t count) {
        take_all();
        for (; count > 0 && !pages_.empty(); --count) {
            shared_.pool->give(std::span(&pages_.back(), 1));
            pages_.pop_back();
        }
    }
    void give_back() {
        if (!pages_.empty()) shared_.pool->give(pages_);
        pages_.clear();
    }
    std::size_t free() const {
        return shared_.pool->free_pages() + shared_.per_worker[0]->pages.available();
    }

 private:
    core::Node::Shared& shared_;
    std::vector<void*> pages_;
};

/// Somebody else in the machine who asks the kernel for memory, touches it and gives it back.
class MemoryPressure {
 public:
    MemoryPressure() : thread_([this] { run(); }) {}
    ~MemoryPressure() {
        stop_ = true;
        thread_.join();
    }
    MemoryPressure(const MemoryPressure&) = delete;
    MemoryPressure& operator=(const MemoryPressure&) = delete;

 private:
    void run() const {
        constexpr std::size_t kBytes = std::size_t{64} << 20;
        while (!stop_) {
            void* memory =
                mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) return;
            for (std::size_t at = 0; at < kBytes; at += mem::kPageBytes)
                static_cast<volatile char*>(memory)[at] = 1;
            munmap(memory, kBytes);
        }
    }
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Both arrays, each stream's queue made empty: what one array for each direction asks for.
std::uint64_t contiguous(std::size_t streams) {
    struct Stream {
        void* head;
        void* tail;
        std::uint16_t ssn;
    };
    const auto start = cycles();
    std::array<Stream*, 2> arrays;
    for (auto& array : arrays) {
        array = static_cast<Stream*>(std::malloc(streams * sizeof(Stream)));
        if (array == nullptr) std::abort();
        for (std::size_t i = 0; i < streams; ++i) array[i] = {nullptr, &array[i].head, 0};
        keep(array);
    }
    const std::uint64_t counts = cycles() - start;
    for (auto* array : arrays) std::free(array);
    return counts;
}

using Times = std::array<Segments, kStreams.size()>;

/// One of ours, from the handshake's first packet on; 0: it did not come up.
std::uint64_t set_up_and_abort(Population& gateway, std::size_t peer, std::uint16_t streams) {
    const std::uint64_t counts = gateway.connect_one(peer, streams);
    gateway.add_abort(peer);
    gateway.pass();
    gateway.control_turn();
    return counts;
}

bool pool_states(const Report& report, const Options& options) {
    const std::size_t associations = options.quick ? 200 : 4000;
    double clean_p99 = 0;
    for (const char* state : {"clean", "checkerboard", "8 pages left", "4 KiB pages, pressure"}) {
        const bool pressed = state[0] == '4';
        Population gateway({.associations = 512, .hugepages = !pressed});
        gateway.counts_per_ns = report.cycles_per_ns();
        Pool pool(gateway);
        if (state[0] == 'c' && state[1] == 'h') pool.checkerboard();
        if (state[0] == '8') pool.leave(8);
        std::unique_ptr<MemoryPressure> pressure;
        if (pressed) pressure = std::make_unique<MemoryPressure>();
        Times times;
        bool all_up = true;
        // Stream counts take turns, one association at a time.
        for (std::size_t n = 0; n < associations * kStreams.size(); ++n) {
            const std::size_t s = n % kStreams.size();
            const std::uint64_t counts = set_up_and_abort(gateway, n % gateway.size(), kStreams[s]);
            all_up &= counts != 0;
            times[s].add(static_cast<double>(counts));
        }
        if (!all_up) {
            std::fprintf(stderr, "association_setup: refused in a pool: %s\n", state);
            return false;
        }
        const double ten = times[kTen].median();
        for (std::size_t s = 0; s < kStreams.size(); ++s) {
            const double p99 = report.ns(times[s].quantile(0.99));
            if (state[0] == 'c' && state[1] == 'l' && s == kAll) clean_p99 = p99;
            report.add({"association.streams",
                        report.ns(times[s].median()),
                        "ns",
                        {{"streams", kStreams[s]},
                         {"pool", state},
                         {"p99_ns", p99},
                         {"times_of_10", times[s].median() / ten},
                         {"p99_times_of_clean", s == kAll ? p99 / clean_p99 : 0}},
                        "10 streams",
                        ten / times[s].median()});
        }
        if (!options.quick && times[kAll].median() > kRatioMax * ten) return false;
    }
    return true;
}

/// The rivals, in turn with ours. Before each goes one that is not measured: others have just used
/// the caches.
bool rivals(const Report& report, const Options& options) {
    Population gateway({.associations = 512});
    gateway.counts_per_ns = report.cycles_per_ns();
    UsrsctpPair usrsctp;
    std::array<Segments, kStreams.size()> ours, theirs, arrays;
    std::size_t peer = 0;
    bool all_up = true;
    for (int n = 0; n < (options.quick ? 10 : 100); ++n)
        for (std::size_t s = 0; s < kStreams.size(); ++s) {
            set_up_and_abort(gateway, peer++ % gateway.size(), 10);
            const std::uint64_t counts =
                set_up_and_abort(gateway, peer++ % gateway.size(), kStreams[s]);
            ours[s].add(report.ns(static_cast<double>(counts)));
            arrays[s].add(report.ns(static_cast<double>(counts + contiguous(kStreams[s]))));
            all_up &= counts != 0 && usrsctp.connect(1);
            usrsctp.close();
            const auto start = cycles();
            all_up &= usrsctp.connect(kStreams[s]);
            theirs[s].add(report.ns(static_cast<double>(cycles() - start)));
            usrsctp.close();
        }
    for (std::size_t s = 0; s < kStreams.size(); ++s) {
        const double mine = ours[s].median();
        const auto add = [&](const char* name, const char* rival, Segments& times, double ten) {
            const double theirs_ns = times.median();
            report.add({std::string("association.") + name,
                        theirs_ns,
                        "ns",
                        {{"streams", kStreams[s]}, {"times_of_10", theirs_ns / ten}},
                        "",
                        0});
            report.add({"association.beside",
                        mine,
                        "ns",
                        {{"streams", kStreams[s]}},
                        rival,
                        theirs_ns / mine});
        };
        add("one_array", "one array for each direction", arrays[s], arrays[kTen].median());
        add("usrsctp", "usrsctp, both ends", theirs[s], theirs[kTen].median());
    }
    if (!all_up) std::fprintf(stderr, "association_setup: a handshake beside usrsctp failed\n");
    const bool control = theirs[kAll].median() > 10 * theirs[kTen].median();
    if (!control) std::fprintf(stderr, "association_setup: 65,535 streams cost usrsctp nothing?\n");
    return all_up && control;
}

/// Turns of a gateway under load in which one association after another takes pages and goes.
bool churn(const Report& report, const Options& options) {
    constexpr std::size_t kLive = 1000, kChurn = 64, kUsed = 24;
    Population gateway({.associations = kLive + kChurn});
    gateway.counts_per_ns = report.cycles_per_ns();
    if (!gateway.connect(0, kLive)) return false;
    Pool pool(gateway);
    RandomOrder live(kLive, 7);
    Random random(7);
    Segments turns;
    const int rounds = options.quick ? 300 : 10'000;
    double longest = 0;
    std::size_t interrupted = 0, sent = 0, most_pages = 0;
    const auto turn = [&] {
        for (std::size_t i = gateway.burst_size(); i < core::Worker::kBurst; ++i, ++sent)
            gateway.add_data(live.next());
        const std::size_t before = pool.free();
        const long switches = context_switches();
        const double counts = static_cast<double>(gateway.pass());
        const bool disturbed = context_switches() != switches;
        interrupted += disturbed;
        turns.add(counts);
        if (!disturbed) longest = std::max(longest, counts);
        const std::size_t after = pool.free();
        most_pages = std::max(most_pages, after > before ? after - before : before - after);
        gateway.control_turn();
    };
    for (int n = 0; n < rounds; ++n) {
        const std::size_t peer = kLive + static_cast<std::size_t>(n) % kChurn;
        if (gateway.connect_one(peer, 65'535) == 0) return false;
        for (std::size_t i = 0; i < kUsed; ++i, ++sent)
            gateway.add_data(peer, static_cast<std::uint16_t>(1000 * i + random.below(1000)), 0);
        turn();
        gateway.add_abort(peer);
        turn();
        turn();
    }
    for (int n = 0; n < 8; ++n) turn();
    const std::uint64_t delivered = gateway.drops(Drop::ppid_unexpected);
    report.add({"association.churn.longest_turn",
                report.ns(longest) / 1000,
                "us",
                {{"rounds", rounds},
                 {"streams", 65535},
                 {"streams_used", kUsed},
                 {"median_us", report.ns(turns.median()) / 1000},
                 {"p99_us", report.ns(turns.quantile(0.99)) / 1000},
                 {"turns_interrupted", interrupted},
                 {"most_pages_in_a_turn", most_pages},
                 {"messages_lost", sent - delivered}},
                "",
                0});
    if (sent != delivered)
        std::fprintf(stderr, "association_setup: %zu of %zu messages lost\n", sent - delivered,
                     sent);
    return sent == delivered;
}

int run(const Options& options) {
    const Report report("association_setup", options);
    bool good = pool_states(report, options);
    good &= rivals(report, options);
    good &= churn(report, options);
    return good ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
