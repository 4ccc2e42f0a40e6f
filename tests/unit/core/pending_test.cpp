// SPDX-License-Identifier: Apache-2.0
// AS-PENDING at the rates that an operator is promised (RFC 4666 4.3.2, M12), and what becomes of
// messages on the wire when their association is lost.
#include <catch2/catch.hpp>

#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

std::vector<std::uint8_t> numbered(std::uint32_t n) {
    return {static_cast<std::uint8_t>(n >> 24), static_cast<std::uint8_t>(n >> 16),
            static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)};
}

std::vector<std::uint32_t> numbers_of(const Asp& asp) {
    std::vector<std::uint32_t> numbers;
    for (const auto& m : asp.received)
        if (const auto d = m3ua::parse_data(m))
            numbers.push_back(std::uint32_t{d->user[0]} << 24 | std::uint32_t{d->user[1]} << 16 |
                              std::uint32_t{d->user[2]} << 8 | d->user[3]);
    return numbers;
}

bool has(const Asp& asp, std::uint8_t message_class, std::uint8_t type) {
    for (const auto& m : asp.received)
        if (m3ua::is(m, message_class, type)) return true;
    return false;
}

/// Its only ASP is inactive for `gap` while a message for the AS comes every `interval`.
struct Gap {
    explicit Gap(core::Settings settings, unsigned workers = 1)
        : lab(std::move(settings), {.workers = workers, .memory_bytes = 128u << 20}) {
        source = &lab.start(PeerIndex{0});
        only = &lab.start(PeerIndex{1});
        bring_up(lab, *source, 100);
        bring_up(lab, *only, 101);
        lab.run(50ms);
        lab.send(*only, StreamId{0}, m3ua::aspia(101));
        lab.run(20ms);
        only->received.clear();
        source->received.clear();
    }
    void send_for(Duration gap, unsigned per_ten_ms) {
        for (Duration t{}; t < gap; t += 10ms)
            for (unsigned n = 0; n < per_ten_ms; ++n) {
                lab.send(*source, StreamId{1}, m3ua::data(100, 1000, 1001, 3, numbered(sent++)));
                if (n % 20 == 19 || n + 1 == per_ten_ms) lab.turn(10ms / ((per_ten_ms + 19) / 20));
            }
    }
    void check_whole_and_in_order() {
        INFO(lab.counters());
        const auto got = numbers_of(*only);
        REQUIRE(got.size() == sent);
        for (std::uint32_t n = 0; n < sent; ++n) REQUIRE(got[n] == n);
    }
    CoreLab lab;
    Asp* source = nullptr;
    Asp* only = nullptr;
    std::uint32_t sent = 0;
};

}  // namespace

TEST_CASE(
    "M12, AS-PENDING: 500 messages/s with the default queue arrive whole and in order after a gap "
    "of 1.5 s with T(r) 2 s") {
    for (const unsigned workers : {1u, 2u}) {
        Gap g(one_asp_per_server(2), workers);
        g.send_for(1500ms, 5);
        CHECK(numbers_of(*g.only).empty());
        g.lab.send(*g.only, StreamId{0}, m3ua::aspac(101));
        g.lab.run(20ms);
        g.send_for(200ms, 5);
        g.lab.run(200ms);
        CHECK(g.sent == 850);
        g.check_whole_and_in_order();
    }
}

TEST_CASE(
    "M12, AS-PENDING: 20,000 messages/s with queue_messages 100,000 arrive whole and in order "
    "after a gap of 1.5 s") {
    core::Settings settings = one_asp_per_server(2);
    settings.servers[1].recovery_queue_messages = 100'000;
    Gap g(std::move(settings));
    g.send_for(1500ms, 200);
    CHECK(numbers_of(*g.only).empty());
    g.lab.send(*g.only, StreamId{0}, m3ua::aspac(101));
    g.lab.run(20ms);
    g.send_for(100ms, 200);
    g.lab.run(1s);
    CHECK(g.sent == 32'000);
    g.check_whole_and_in_order();
}

TEST_CASE(
    "M12, AS-PENDING: with T(r) 1 s the messages of a gap of 1.5 s are discarded, counted and "
    "reported") {
    core::Settings settings = one_asp_per_server(2);
    settings.servers[1].recovery_timer = 1s;
    Gap g(std::move(settings));
    g.send_for(1500ms, 5);
    g.lab.run(50ms);
    INFO(g.lab.counters());
    CHECK(numbers_of(*g.only).empty());
    const std::uint64_t expired = g.lab.drops(Drop::as_pending_expired);
    const std::uint64_t refused = g.lab.drops(Drop::as_unavailable);
    CHECK(expired >= 480);
    CHECK(refused >= 240);
    CHECK(expired + refused == g.sent);
    CHECK(has(*g.source, 2, 1));  // DUNA
    CHECK(has(*g.only, 0, 1));    // NTFY AS-INACTIVE
}

TEST_CASE(
    "decision 10: on_loss decides about messages on the wire: resend gives them to the other ASP, "
    "report counts them") {
    for (const auto policy : {sigtran::OnLoss::resend, sigtran::OnLoss::report}) {
        core::Settings settings = one_asp_per_server(3);
        settings.servers.pop_back();
        settings.servers[1].members = {{PeerIndex{1}, 1}, {PeerIndex{2}, 1}};
        settings.servers[1].on_loss = policy;
        CoreLab lab(std::move(settings), {});
        Asp& source = lab.start(PeerIndex{0});
        Asp& one = lab.start(PeerIndex{1});
        Asp& two = lab.start(PeerIndex{2});
        bring_up(lab, source, 100);
        bring_up(lab, one, 101);
        bring_up(lab, two, 101);
        lab.run(100ms);
        two.silent = true;
        for (std::uint8_t sls = 0; sls < 16; ++sls)
            lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1001, sls, numbered(sls)));
        REQUIRE(lab.run_until([&] { return lab.count(Count::associations_lost) == 1; }, 5s));
        lab.run(100ms);
        INFO(lab.counters());
        const bool resends = policy == sigtran::OnLoss::resend;
        CHECK(numbers_of(one).size() == (resends ? 16u : 8u));
        CHECK(lab.drops(Drop::unacknowledged_reported) == (resends ? 0u : 8u));
    }
}
