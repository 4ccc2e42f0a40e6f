// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

using namespace signalbox;
using namespace signalbox::metrics;

namespace {

Snapshot two_workers() {
    Snapshot s;
    s.workers.resize(2);
    s.as_names = {"hlr", "msc \"east\"\n\\"};
    s.peer_names = {"a", "b", "c"};
    s.statistics.as_states = {sigtran::AsState::active, sigtran::AsState::pending};
    s.statistics.as_active_asps = {2, 0};
    s.statistics.peer_associated = {true, false, true};
    s.statistics.peer_states = {sigtran::AspState::active, sigtran::AspState::down,
                                sigtran::AspState::inactive};
    s.statistics.associations = 2;
    s.statistics.pages_total = 100;
    s.statistics.pages_free = 40;
    s.statistics.control_longest_turn_ns = 1'500'000;
    return s;
}

std::string render(const Snapshot& s, std::uint32_t max_peers = 1000) {
    return Exporter{Settings{.max_peers = max_peers}, "0.1.0"}.render(s);
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("every drop reason and every count stands at zero from the start, for each worker") {
    const std::string text = render(two_workers());
    for (const auto reason : kDropNames)
        for (const char* worker : {"0", "1", "control"})
            CHECK(has_line(text, "signalbox_rx_dropped_packets_total{reason=\"" +
                                     std::string{reason} + "\",worker=\"" + worker + "\"} 0"));
    for (const auto name : kCountNames)
        for (const char* worker : {"0", "1", "control"})
            CHECK(has_line(
                text, "signalbox_" + std::string{name} + "_total{worker=\"" + worker + "\"} 0"));
}

TEST_CASE("counters are copied from their writer and shown under its name") {
    Counters counters;
    counters.add(Count::rx_packets, 1'234'567'890'123);
    counters.drop(Drop::bad_crc, 7);
    Snapshot s = two_workers();
    s.workers[1] = CounterValues::of(counters);
    const std::string text = render(s);
    CHECK(has_line(text, "signalbox_rx_packets_total{worker=\"1\"} 1234567890123"));
    CHECK(has_line(text, "signalbox_rx_packets_total{worker=\"0\"} 0"));
    CHECK(has_line(text, "signalbox_rx_dropped_packets_total{reason=\"bad_crc\",worker=\"1\"} 7"));
}

TEST_CASE("an application server has one state at a time, and names are escaped") {
    const std::string text = render(two_workers());
    CHECK(has_line(text, "signalbox_as_state{as=\"hlr\",state=\"active\"} 1"));
    CHECK(has_line(text, "signalbox_as_state{as=\"hlr\",state=\"down\"} 0"));
    CHECK(has_line(text, "signalbox_as_active_asps{as=\"hlr\"} 2"));
    CHECK(has_line(text, R"(signalbox_as_state{as="msc \"east\"\n\\",state="pending"} 1)"));
    CHECK(has_line(text, "signalbox_associations 2"));
    CHECK(has_line(text, "signalbox_pages_free 40"));
    CHECK(has_line(text, "signalbox_control_longest_turn_seconds 0.0015"));
}

TEST_CASE("series per peer stop at max_peers, and what is left out is said") {
    const std::string text = render(two_workers(), 2);
    CHECK(count(text, "signalbox_peer_associated{") == 2);
    CHECK(count(text, "signalbox_peer_asp_state{") == 2 * 3);
    CHECK(has_line(text, "signalbox_peers 3"));
    CHECK(has_line(text, "signalbox_peers_not_exported 1"));
}

TEST_CASE("a node that has made no statistics yet renders") {
    Snapshot s;
    s.workers.resize(1);
    s.as_names = {"hlr"};
    s.peer_names = {"a"};
    const std::string text = render(s);
    CHECK(count(text, "signalbox_as_state") == 0);
    CHECK(has_line(text, "signalbox_associations 0"));
}

TEST_CASE("every line is a sample, a HELP or a TYPE, and no family comes twice") {
    std::istringstream lines{render(two_workers())};
    std::set<std::string> helped, typed;
    std::string line;
    while (std::getline(lines, line)) {
        const std::string name = line.substr(0, line.find(' ', 7));
        if (line.rfind("# HELP ", 0) == 0)
            CHECK(helped.insert(name.substr(7)).second);
        else if (line.rfind("# TYPE ", 0) == 0)
            CHECK(typed.insert(name.substr(7)).second);
        else
            CHECK(line.rfind("signalbox_", 0) == 0);
    }
    CHECK(helped == typed);
    CHECK(helped.size() > kCountCount);
}

TEST_CASE("promtool check metrics has nothing to say") {
    if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
        WARN("promtool is not installed: its lint is not run");
        return;
    }
    std::FILE* pipe = popen("promtool check metrics 1>&2", "w");
    REQUIRE(pipe != nullptr);
    const std::string text = render(two_workers());
    CHECK(std::fwrite(text.data(), 1, text.size(), pipe) == text.size());
    CHECK(pclose(pipe) == 0);  // 3: lint complaints, printed above
}
