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

TEST_CASE("repeated events fold, and the next line says how many") {
    Damper damper;
    Time now{std::chrono::seconds{100}};
    unsigned written = 0;
    for (unsigned i = 0; i < 128; ++i)
        written += damper.judge(about(EventKind::path_down), now).write ? 1u : 0u;
    CHECK(written == Damper::kBurst);
    CHECK(damper.silent() == 128 - Damper::kBurst);
    CHECK(damper.judge(about(EventKind::path_up), now).write);
    now += Damper::kInterval;
    const auto verdict = damper.judge(about(EventKind::path_down), now);
    CHECK(verdict.write);
    CHECK(verdict.folded == 123);
    CHECK(damper.silent() == 0);
}

TEST_CASE("a flood of different events is limited as a whole") {
    Damper damper;
    unsigned written = 0;
    for (std::uint32_t i = 0; i < 5000; ++i) {
        auto record = about(EventKind::association_lost);
        record.peer = PeerIndex{i};
        written += damper.judge(record, Time{std::chrono::seconds{100}}).write ? 1u : 0u;
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
