// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/events.h"
#include "daemon/log.h"
#include "daemon/options.h"

namespace signalbox::daemon {

namespace {

using core::EventKind;

core::Settings two_peers() {
    core::Settings settings;
    settings.peers.resize(2);
    settings.peers[1].m3ua.name = "msc1";
    settings.servers.resize(1);
    settings.servers[0].name = "cells";
    return settings;
}

core::EventRecord about(EventKind kind, std::uint16_t detail = 0) {
    return {.kind = kind, .peer = PeerIndex{1}, .as = kNoAs, .detail = detail, .when = {}};
}

}  // namespace

TEST_CASE("an event names its peer and has a stable name") {
    CHECK(text_body(line_of(about(EventKind::association_up), two_peers())) ==
          "association_up peer=msc1");
    CHECK(text_body(line_of(about(EventKind::path_down, 1), two_peers())) ==
          "path_down peer=msc1 path=1");
}

TEST_CASE("a change of state says from where to where") {
    auto record = about(EventKind::as_state, 2 << 8 | 3);
    record.peer = kNoPeer;
    record.as = AsIndex{0};
    const Line line = line_of(record, two_peers());
    CHECK(text_body(line) == "as_state as=cells from=active to=pending");
    CHECK(line.level == Level::warning);
}

TEST_CASE("JSON lines are escaped, text lines hold no control characters") {
    const Line line{Level::info, "dpdk", {{"a", "x\"y"}}, "one\ntwo"};
    CHECK(json_body(line) == R"("event":"dpdk","a":"x\"y","text":"one\u000atwo")");
    CHECK(text_body(line) == "dpdk a=x\"y one?two");
}

TEST_CASE("repeated events fold, and the last is written with how many it stands for") {
    Damper damper;
    Time now{std::chrono::seconds{100}};
    unsigned written = 0;
    for (std::uint16_t i = 0; i < 129; ++i)
        written += damper.judge(about(EventKind::path_down, i), now) ? 1u : 0u;
    CHECK(written == Damper::kBurst);
    CHECK(damper.silent() == 129 - Damper::kBurst);
    CHECK(damper.judge(about(EventKind::path_up), now));
    now += Damper::kInterval - std::chrono::milliseconds{1};
    CHECK(damper.due(now).empty());
    now += std::chrono::milliseconds{1};
    const auto told = damper.due(now);
    REQUIRE(told.size() == 1);
    CHECK(text_body(line_of(told[0].record, two_peers(), told[0].similar)) ==
          "path_down peer=msc1 path=128 similar=123 (+123 similar)");
    CHECK(damper.silent() == 0);
    CHECK(damper.due(now + Damper::kInterval).empty());
}

TEST_CASE("an event that came once too often is not called similar to anything") {
    Damper damper;
    Time now{std::chrono::seconds{100}};
    for (unsigned i = 0; i <= Damper::kBurst; ++i) damper.judge(about(EventKind::path_down), now);
    const auto told = damper.due(now + Damper::kInterval);
    REQUIRE(told.size() == 1);
    CHECK(told[0].similar == 0);
}

TEST_CASE("a flood leaves a bounded number of late lines, too") {
    Damper damper;
    const Time now{std::chrono::seconds{100}};
    for (std::uint32_t i = 0; i < 3000; ++i) {
        auto record = about(EventKind::association_lost);
        record.peer = PeerIndex{i};
        damper.judge(record, now);
    }
    CHECK(damper.due(now + Damper::kInterval).size() == Damper::kLinesPerInterval);
    CHECK(damper.due(now + Damper::kInterval).empty());
    CHECK(damper.due(now + 2 * Damper::kInterval).size() == 3000 - 2 * Damper::kLinesPerInterval);
}

TEST_CASE("every event of core stands in the catalogue under its own name, and lines keep to it") {
    const auto catalogue = event_catalogue();
    for (std::size_t a = 0; a < catalogue.size(); ++a) {
        CHECK_FALSE(catalogue[a].meaning.empty());
        CHECK_FALSE(catalogue[a].action.empty());
        for (std::size_t b = 0; b < a; ++b) CHECK(catalogue[a].name != catalogue[b].name);
    }
    for (unsigned k = 0; k <= static_cast<unsigned>(EventKind::send_queue_relieved); ++k)
        for (const unsigned detail : {0x0000u, 0x0102u, 0x0203u}) {
            auto record = about(static_cast<EventKind>(k), static_cast<std::uint16_t>(detail));
            record.as = AsIndex{0};
            const Line line = line_of(record, two_peers());
            const CataloguedEvent& entry = catalogued(record.kind);
            CHECK(line.event == entry.name);
            CHECK(line.level >= entry.least);
            CHECK(line.level <= entry.most);
        }
}

TEST_CASE("a flood of different events is limited as a whole") {
    Damper damper;
    unsigned written = 0;
    for (std::uint32_t i = 0; i < 5000; ++i) {
        auto record = about(EventKind::association_lost);
        record.peer = PeerIndex{i};
        written += damper.judge(record, Time{std::chrono::seconds{100}}) ? 1u : 0u;
    }
    CHECK(written == Damper::kLinesPerInterval);
}

TEST_CASE("the command line") {
    const auto parse = [](std::vector<const char*> arguments) { return parse_options(arguments); };
    CHECK(parse({}).action == Options::Action::wrong);
    CHECK(parse({"--config"}).action == Options::Action::wrong);
    CHECK(parse({"--frobnicate"}).error == "`--frobnicate` is not an option");
    CHECK(parse({"--config", "a.yaml"}).action == Options::Action::run);
    CHECK(parse({"--config=a.yaml", "--check-config"}).action ==
          Options::Action::check_configuration);
    CHECK(parse({"--config=a.yaml"}).configuration == "a.yaml");
    CHECK(parse({"--version"}).action == Options::Action::version);
    CHECK(parse({"--help"}).action == Options::Action::help);
}

}  // namespace signalbox::daemon
