// SPDX-License-Identifier: Apache-2.0
// Timers: arm and cancel with many pending, ours beside rte_timer, in turn; taking a timer out of
// its list, which cancelling leaves to the time when it would have expired; moving a deadline away,
// which leaves the timer where it is; what one costs when its time comes, wanted or cancelled; and
// the longest step while a million timers that were armed together come down through the levels.
// Negative control: with few timers, which the caches hold, taking one out must cost less than with
// a million, or the clock does not see a cache miss. (A timer that is armed has just been taken
// out, so that its own line is there; one that is cancelled is cold.)
#include <rte_lcore.h>
#include <rte_timer.h>

#include <memory>

#include "base/timer_wheel.h"
#include "eal.h"
#include "measure.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kSegment = 256;
constexpr std::size_t kFew = 64;

/// As in an association: a line of its own, other state beside it.
struct alignas(64) Timer : TimerNode {
    rte_timer rival{};
};

Duration draw(Random& random) {
    return std::chrono::milliseconds(100 + random.below(30'000));
}

class Bench {
 public:
    Bench(std::size_t pending, bool with_rival)
        : wheel_(Time{}), timers_(pending), with_rival_(with_rival) {
        for (Timer& timer : timers_) {
            wheel_.arm(timer, Time{draw(random_)});
            rte_timer_init(&timer.rival);
            if (with_rival) reset(timer, draw(random_));
        }
    }
    ~Bench() {
        for (Timer& timer : timers_) rte_timer_stop(&timer.rival);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void run(int segments) {
        for (int i = 0; i < segments; ++i) {
            draw_batch();
            time(cancel, [&](Timer& t, Duration) { wheel_.cancel(t); });
            time(remove, [&](Timer& t, Duration) { wheel_.remove(t); });
            time(arm, [&](Timer& t, Duration d) { wheel_.arm(t, Time{d}); });
            draw_batch();
            time(away,
                 [&](Timer& t, Duration) { wheel_.arm_no_later(t, Time{std::chrono::hours(1)}); });
            if (!with_rival_ || i % 8 != 0) continue;
            draw_batch();
            time(rival_cancel, [&](Timer& t, Duration) { rte_timer_stop(&t.rival); });
            time(rival_arm, [&](Timer& t, Duration d) { reset(t, d); });
        }
    }
    Segments arm, cancel, remove, away, rival_arm, rival_cancel;

 private:
    void draw_batch() {
        for (auto& entry : batch_) entry = {&timers_[random_.below(timers_.size())], draw(random_)};
    }
    template <class Act>
    void time(Segments& segments, Act&& act) {
        const auto start = cycles();
        for (const auto& entry : batch_) act(*entry.timer, entry.delay);
        segments.add(static_cast<double>(cycles() - start) / kSegment);
    }
    static void reset(Timer& timer, Duration delay) {
        const auto ticks =
            static_cast<std::uint64_t>(delay.count()) * rte_get_timer_hz() / 1'000'000'000;
        rte_timer_reset(
            &timer.rival, ticks, SINGLE, rte_lcore_id(), [](rte_timer*, void*) {}, nullptr);
    }
    struct Entry {
        Timer* timer = nullptr;
        Duration delay{};
    };
    TimerWheel wheel_;
    std::vector<Timer> timers_;
    std::array<Entry, kSegment> batch_;
    Random random_{kSeed};
    bool with_rival_;
};

/// Returns what taking one out costs, in ns.
double compare(const Report& report, std::size_t pending, bool with_rival, int segments) {
    Bench bench(pending, with_rival);
    bench.run(segments);
    const auto add = [&](const char* name, Segments& ours, Segments& rival) {
        const double ns = report.ns(ours.median());
        const double rival_ns = report.ns(rival.median());
        report.add({name,
                    ns,
                    "ns",
                    {{"pending", pending}, {"seed", kSeed}},
                    with_rival ? "rte_timer" : "",
                    with_rival ? rival_ns / ns : 0});
        if (with_rival)
            report.add(
                {std::string(name) + ".rte_timer", rival_ns, "ns", {{"pending", pending}}, "", 0});
    };
    add("timer.arm", bench.arm, bench.rival_arm);
    add("timer.cancel", bench.cancel, bench.rival_cancel);
    report.add({"timer.moves_away",
                report.ns(bench.away.median()),
                "ns",
                {{"pending", pending}, {"seed", kSeed}},
                "timer.arm",
                bench.arm.median() / bench.away.median()});
    report.add({"timer.remove",
                report.ns(bench.remove.median()),
                "ns",
                {{"pending", pending}, {"seed", kSeed}},
                "timer.cancel",
                bench.cancel.median() / bench.remove.median()});
    return report.ns(bench.remove.median());
}

/// What is paid later: timers whose time comes, spread over a second, every other one cancelled.
void expiring(const Report& report, std::size_t pending, bool cancelled) {
    using namespace std::chrono_literals;
    TimerWheel wheel{Time{}};
    std::vector<Timer> timers(pending);
    Random random(kSeed);
    for (Timer& timer : timers) wheel.arm(timer, Time{100ms + random.below(900) * 1ms});
    if (cancelled)
        for (Timer& timer : timers) wheel.cancel(timer);
    const auto start = cycles();
    for (Time now{100ms}; now <= Time{1000ms}; now += wheel.behind() ? 0ms : 1ms)
        wheel.advance(now, 4096, [](TimerNode&) {});
    const double ns =
        report.ns(static_cast<double>(cycles() - start)) / static_cast<double>(pending);
    report.add({cancelled ? "timer.leaves_cancelled" : "timer.expires",
                ns,
                "ns",
                {{"pending", pending}, {"seed", kSeed}},
                "",
                0});
}

/// All in one slot of the second level, as after a restart of all peers at once. The worker's way:
/// a turn, then another, until nothing is left behind.
bool spreading(const Report& report, std::size_t pending) {
    using namespace std::chrono_literals;
    TimerWheel wheel{Time{}};
    std::vector<Timer> timers(pending);
    Random random(kSeed);
    for (Timer& timer : timers) wheel.arm(timer, Time{8192ms + random.below(1024) * 1ms});
    Segments steps;
    double longest = 0;
    std::size_t expired = 0;
    for (Time now{8192ms}; wheel.armed() > 0; now += wheel.behind() ? 0ms : 1ms) {
        const long switches = context_switches();
        const auto start = cycles();
        expired += wheel.advance(now, 4096, [](TimerNode&) {});
        const auto counts = static_cast<double>(cycles() - start);
        if (context_switches() != switches) continue;
        steps.add(counts);
        longest = std::max(longest, counts);
    }
    report.add({"timer.longest_step",
                report.ns(longest) / 1000,
                "us",
                {{"pending", pending},
                 {"p99_us", report.ns(steps.quantile(0.99)) / 1000},
                 {"p999_us", report.ns(steps.quantile(0.999)) / 1000},
                 {"moved_at_once", TimerWheel::kMovesPerCall}},
                "",
                0});
    return expired == pending;
}

int run(const Options& options) {
    start_eal(256);
    rte_timer_subsystem_init();
    const Report report("timers", options);
    const int segments = options.quick ? 100 : 4000;
    const double few = compare(report, kFew, false, segments);
    compare(report, options.quick ? 10'000 : 100'000, true, segments);
    const double many = compare(report, 1'000'000, false, segments);
    for (const bool cancelled : {false, true})
        expiring(report, options.quick ? 10'000 : 1'000'000, cancelled);
    const bool all_expired = spreading(report, options.quick ? 100'000 : 1'000'000);
    rte_timer_subsystem_finalize();
    if (!all_expired) std::fprintf(stderr, "timers: some did not expire\n");
    if (many < 1.5 * few) std::fprintf(stderr, "timers: a million cost as much as few\n");
    return all_expired && many >= 1.5 * few ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    const auto code = signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
    rte_eal_cleanup();
    return code;
}
