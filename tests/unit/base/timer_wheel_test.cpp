// SPDX-License-Identifier: Apache-2.0
#include "base/timer_wheel.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "base/random.h"

using namespace signalbox;
using namespace std::chrono_literals;

namespace {

Time at(Duration d) {
    return Time{d};
}

std::vector<TimerNode*> take(TimerWheel& wheel, Time now, std::size_t limit = 1000) {
    std::vector<TimerNode*> out;
    wheel.advance(now, limit, [&](TimerNode& node) { out.push_back(&node); });
    return out;
}

using Nodes = std::vector<TimerNode*>;

}  // namespace

TEST_CASE("TIMER-1: a timer expires at its deadline, once, and never before") {
    TimerWheel wheel{at(10s)};
    TimerNode node;
    wheel.arm(node, at(10s + 5ms));
    CHECK(node.armed());
    CHECK(wheel.armed() == 1);
    CHECK(take(wheel, at(10s + 5ms - 1ns)).empty());
    CHECK(take(wheel, at(10s + 5ms)) == Nodes{&node});
    CHECK_FALSE(node.armed());
    CHECK(wheel.armed() == 0);
    CHECK(take(wheel, at(20s)).empty());
}

TEST_CASE("TIMER-1: a deadline between two ticks is rounded up") {
    TimerWheel wheel{at(0s)};
    TimerNode node;
    wheel.arm(node, at(3ms + 1ns));
    CHECK(take(wheel, at(3ms + 999us)).empty());
    CHECK(take(wheel, at(4ms)) == Nodes{&node});
}

TEST_CASE("TIMER-1: a deadline that has passed is due at once") {
    TimerWheel wheel{at(5s)};
    TimerNode node;
    wheel.arm(node, at(1s));
    CHECK(wheel.next_deadline() == at(5s));
    CHECK(take(wheel, at(5s)) == Nodes{&node});
}

TEST_CASE("TIMER-1: arming again moves a timer, cancelling stops it, kNever disarms it") {
    TimerWheel wheel{at(0s)};
    TimerNode node;
    wheel.arm(node, at(100ms));
    wheel.arm(node, at(5s));
    CHECK(wheel.armed() == 1);
    CHECK(take(wheel, at(1s)).empty());
    wheel.arm(node, at(1001ms));
    CHECK(take(wheel, at(1001ms)) == Nodes{&node});
    wheel.arm(node, at(2s));
    wheel.cancel(node);
    wheel.cancel(node);
    CHECK(wheel.next_deadline() == kNever);
    wheel.arm(node, at(2s));
    wheel.arm(node, kNever);
    CHECK_FALSE(node.armed());
    CHECK(take(wheel, at(10s)).empty());
}

TEST_CASE("TIMER-1: expired timers come in order of deadline, a limited number at a time") {
    TimerWheel wheel{at(0s)};
    std::vector<TimerNode> nodes(100);
    for (unsigned i = 0; i < 100; ++i) wheel.arm(nodes[i], at((i * 37 % 100 + 1) * 100ms));
    std::int64_t last = 0;
    std::size_t total = 0;
    std::size_t n = 0;
    do {
        n = wheel.advance(at(60s), 7, [&](TimerNode& node) {
            CHECK(node.deadline_tick > last);
            last = node.deadline_tick;
        });
        CHECK(n <= 7);
        total += n;
    } while (n == 7);
    CHECK(total == 100);
}

TEST_CASE("TIMER-1: an expiry may arm and cancel any timer, its own and due ones too") {
    TimerWheel wheel{at(0s)};
    TimerNode a;
    TimerNode b;
    TimerNode c;
    wheel.arm(a, at(10ms));
    wheel.arm(b, at(10ms));
    wheel.arm(c, at(10ms));
    Nodes seen;
    wheel.advance(at(1s), 100, [&](TimerNode& node) {
        seen.push_back(&node);
        if (seen.size() == 1) {
            wheel.cancel(b);
            wheel.arm(a, at(500ms));
        } else if (&node == &a) {
            wheel.arm(b, at(2s));
        }
    });
    CHECK(seen == Nodes{&a, &c, &a});
    CHECK(b.armed());
    CHECK(take(wheel, at(2s)) == Nodes{&b});
}

TEST_CASE("TIMER-1: the next deadline is never later than the first timer, and exact when near") {
    TimerWheel wheel{at(1s)};
    CHECK(wheel.next_deadline() == kNever);
    TimerNode near;
    TimerNode far;
    wheel.arm(far, at(100h));
    CHECK(wheel.next_deadline() <= at(100h));
    CHECK(wheel.next_deadline() > at(1s));
    wheel.arm(near, at(1s + 3ms));
    CHECK(wheel.next_deadline() == at(1s + 3ms));
    wheel.cancel(near);
    // Following the next deadline ends at the timer after a few steps.
    int steps = 0;
    while (far.armed() && ++steps < 20) take(wheel, wheel.next_deadline());
    CHECK(steps <= 8);
    CHECK_FALSE(far.armed());
}

TEST_CASE("TIMER-1: the whole range of time is served, and no time goes back") {
    TimerWheel wheel{at(1s)};
    TimerNode near_end;
    TimerNode year;
    wheel.arm(near_end, kNever - 1ns);
    wheel.arm(year, at(24h * 365 * 30));
    CHECK(take(wheel, at(24h * 365 * 30 - 1ms)).empty());
    CHECK(take(wheel, at(24h * 365 * 30)) == Nodes{&year});
    CHECK(take(wheel, at(1s)).empty());
    wheel.arm(year, at(24h));
    CHECK(take(wheel, at(25h)).empty());
    CHECK(take(wheel, at(24h * 365 * 31)) == Nodes{&year});
    CHECK(near_end.armed());
}

TEST_CASE("TIMER-2: a slot of very many timers is spread a bounded number at a time") {
    constexpr std::size_t kTimers = 10'000;
    TimerWheel wheel{at(0s)};
    std::vector<TimerNode> nodes(kTimers);
    // One slot of level 1 (1,024 ticks), and timers at its first and last tick.
    for (std::size_t i = 0; i < kTimers; ++i) wheel.arm(nodes[i], at(8192ms + i % 1024 * 1ms));
    std::size_t calls = 0, expired = 0;
    do {
        expired += wheel.advance(at(8192ms), kTimers, [](TimerNode&) {});
        ++calls;
        REQUIRE(calls < kTimers);
        if (wheel.behind()) REQUIRE(wheel.next_deadline() <= at(8192ms));
    } while (wheel.behind());
    CHECK(calls >= kTimers / TimerWheel::kMovesPerCall);
    CHECK(expired == 10);  // 0, 1024 and so on
    CHECK(wheel.next_deadline() == at(8193ms));
}

TEST_CASE("TIMER-2: timers armed and cancelled while their slot is spread expire in order, once") {
    constexpr std::size_t kTimers = 5000;
    RandomSource random(11);
    TimerWheel wheel{at(0s)};
    std::vector<TimerNode> nodes(kTimers);
    std::vector<bool> wanted(kTimers, true);
    for (TimerNode& node : nodes) wheel.arm(node, at(4096ms + 1ms * random.below(4096)));
    std::int64_t last = 0;
    std::size_t expired = 0;
    for (Time now = at(4096ms); wheel.armed() > 0; now += wheel.behind() ? 0ms : 7ms) {
        for (int i = 0; i < 3; ++i) {
            const std::size_t which = random.below(kTimers);
            if (!nodes[which].armed()) continue;
            if (random.below(2) == 0)
                wheel.cancel(nodes[which]), wanted[which] = false;
            else
                wheel.arm(nodes[which], now + 1ms * random.below(9000));
        }
        wheel.advance(now, 100, [&](TimerNode& node) {
            const auto which = static_cast<std::size_t>(&node - nodes.data());
            CHECK(wanted[which]);
            CHECK(node.deadline_tick >= last);
            CHECK(node.deadline_tick * TimerWheel::kTick <= now.time_since_epoch());
            last = node.deadline_tick;
            wanted[which] = false;
            ++expired;
        });
    }
    CHECK(expired > kTimers / 2);
    CHECK(std::find(wanted.begin(), wanted.end(), true) == wanted.end());
}

TEST_CASE("TIMER-3: a cancelled timer stays linked until its time, and is taken up again there") {
    TimerWheel wheel{at(0s)};
    TimerNode node;
    wheel.arm(node, at(10ms));
    wheel.cancel(node);
    CHECK(node.linked());
    CHECK_FALSE(node.armed());
    CHECK(wheel.next_deadline() == kNever);
    wheel.arm_no_later(node, at(50ms));  // nearer than wanted: the owner looks when it comes
    CHECK(wheel.armed() == 1);
    CHECK(take(wheel, at(10ms)) == Nodes{&node});

    wheel.arm(node, at(20ms));
    wheel.cancel(node);
    wheel.arm_no_later(node, at(15ms));  // too far away: moved
    CHECK(take(wheel, at(15ms)) == Nodes{&node});

    wheel.arm(node, at(30ms));
    wheel.cancel(node);
    CHECK(take(wheel, at(30ms)).empty());
    CHECK_FALSE(node.linked());

    wheel.arm(node, at(40ms));
    wheel.remove(node);
    CHECK_FALSE(node.linked());
    CHECK(wheel.armed() == 0);
}

TEST_CASE("TIMER-2: many cancelled timers of one tick leave a bounded number at a time") {
    constexpr std::size_t kTimers = 3 * TimerWheel::kMovesPerCall;
    TimerWheel wheel{at(0s)};
    std::vector<TimerNode> nodes(kTimers);
    TimerNode last;
    for (TimerNode& node : nodes) wheel.arm(node, at(5ms));
    wheel.arm(last, at(5ms));
    for (TimerNode& node : nodes) wheel.cancel(node);
    std::size_t calls = 0;
    while (last.armed()) {
        wheel.advance(at(5ms), kTimers, [](TimerNode&) {});
        REQUIRE(++calls <= 4);
        CHECK(wheel.behind() == last.armed());
    }
    CHECK(calls >= 3);
    for (const TimerNode& node : nodes) CHECK_FALSE(node.linked());
}

TEST_CASE("TIMER-2: many timers of one tick become due in one step") {
    constexpr std::size_t kTimers = 3 * TimerWheel::kMovesPerCall;
    TimerWheel wheel{at(0s)};
    std::vector<TimerNode> nodes(kTimers);
    for (TimerNode& node : nodes) wheel.arm(node, at(5ms));
    CHECK(take(wheel, at(5ms), kTimers).size() == kTimers);
    CHECK_FALSE(wheel.behind());
}

TEST_CASE("TIMER-3: a deadline that moves away leaves the timer, one that comes nearer moves it") {
    TimerWheel wheel{at(0s)};
    TimerNode node;
    wheel.arm_no_later(node, at(100ms));
    wheel.arm_no_later(node, at(5s));
    CHECK(wheel.next_deadline() <= at(100ms));
    CHECK(take(wheel, at(100ms)) == Nodes{&node});
    wheel.arm_no_later(node, at(5s));
    wheel.arm_no_later(node, at(200ms));
    CHECK(take(wheel, at(200ms)) == Nodes{&node});
    wheel.arm_no_later(node, at(300ms));
    wheel.arm_no_later(node, kNever);
    CHECK(node.armed());
}

namespace {

/// The wheel beside a plain array that is searched from end to end.
class Model {
 public:
    explicit Model(std::uint64_t seed)
        : random_(seed),
          now_(at(Duration{random_.below(1u << 30)})),
          wheel_(std::make_unique<TimerWheel>(now_)) {}

    void step() {
        const std::size_t i = random_.below(kTimers);
        const std::uint64_t dice = random_.below(10);
        if (dice < 6)
            arm(i, now_ + Duration{random_spread()} - 5ms);
        else if (dice < 8)
            cancel(i);
        else
            advance(now_ + Duration{random_spread() / 50}, 1 + random_.below(20));
        check();
    }

 private:
    static constexpr std::size_t kTimers = 100;
    static constexpr std::int64_t kUnarmed = -1;

    std::int64_t random_spread() {  // from nanoseconds to a year, every magnitude as likely
        return static_cast<std::int64_t>(random_.u64() >> (10 + random_.below(40)));
    }
    std::int64_t now_tick() const { return now_.time_since_epoch() / TimerWheel::kTick; }

    void arm(std::size_t i, Time deadline) {
        const auto tick = std::chrono::ceil<std::chrono::milliseconds>(deadline.time_since_epoch());
        wheel_->arm(nodes_[i], deadline);
        expected_[i] = std::max(std::int64_t{tick.count()}, served_tick_);
    }
    void cancel(std::size_t i) {
        wheel_->cancel(nodes_[i]);
        expected_[i] = kUnarmed;
    }
    void advance(Time now, std::size_t limit) {
        now_ = now;
        std::int64_t last = 0;
        const std::size_t n = wheel_->advance(now_, limit, [&](TimerNode& node) {
            const auto i = static_cast<std::size_t>(&node - nodes_.data());
            REQUIRE(expected_[i] != kUnarmed);
            REQUIRE(expected_[i] == node.deadline_tick);
            REQUIRE(expected_[i] <= now_tick());
            REQUIRE(expected_[i] >= last);
            last = expected_[i];
            REQUIRE(earliest() == last);
            expected_[i] = kUnarmed;
            REQUIRE_FALSE(node.armed());
        });
        // Deadlines in the past are taken as the tick that the wheel has come to.
        served_tick_ = n < limit ? now_tick() : std::max(served_tick_, last);
        if (n < limit) {
            const std::int64_t first = earliest();
            REQUIRE((first == kUnarmed || first > now_tick()));
        }
    }
    std::int64_t earliest() const {
        std::int64_t first = kUnarmed;
        for (const std::int64_t tick : expected_)
            if (tick != kUnarmed && (first == kUnarmed || tick < first)) first = tick;
        return first;
    }
    void check() const {
        const auto armed = std::count_if(expected_.begin(), expected_.end(),
                                         [](std::int64_t tick) { return tick != kUnarmed; });
        REQUIRE(wheel_->armed() == static_cast<std::size_t>(armed));
        if (armed == 0)
            REQUIRE(wheel_->next_deadline() == kNever);
        else
            REQUIRE(wheel_->next_deadline() <= Time{earliest() * TimerWheel::kTick});
    }

    RandomSource random_;
    Time now_;
    std::unique_ptr<TimerWheel> wheel_;
    std::vector<TimerNode> nodes_ = std::vector<TimerNode>(kTimers);
    std::vector<std::int64_t> expected_ = std::vector<std::int64_t>(kTimers, kUnarmed);
    std::int64_t served_tick_ = now_tick();
};

}  // namespace

TEST_CASE("TIMER-1: the wheel does what a searched array does, over random operations") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        INFO("seed " << seed);
        Model model{seed};
        for (int i = 0; i < 3000; ++i) model.step();
    }
}
