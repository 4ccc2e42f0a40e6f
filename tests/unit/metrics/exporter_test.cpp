// SPDX-License-Identifier: Apache-2.0
#include "metrics/exporter.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "metrics/reference.h"

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
    s.statistics.pages_in_pool = 20;
    s.statistics.worker_pages = {{.at_hand = 15, .returning = 1, .refusals = 0},
                                 {.at_hand = 3, .returning = 1, .refusals = 9}};
    auto& table = s.statistics.table;
    table.shards_in_group = 32;
    table.groups.resize(2);
    table.groups[1] = {.entries = 90, .homes = 40, .max_depth = 7, .chains = {30, 6, 2, 1, 1}};
    table.groups[1].growths = 3;
    table.max_depth = 7;
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

TEST_CASE("MEM-4: pages are shown by state, and the alarm beside its mark") {
    Snapshot s = two_workers();
    s.statistics.memory_low = true;
    s.statistics.memory_alarms = 4;
    s.statistics.pages_low_water = 50;
    const std::string text = render(s);
    CHECK(has_line(text, "signalbox_pages_by_state{state=\"pool\"} 20"));
    CHECK(has_line(text, "signalbox_pages_by_state{state=\"at_hand\"} 18"));
    CHECK(has_line(text, "signalbox_pages_by_state{state=\"returning\"} 2"));
    CHECK(has_line(text, "signalbox_pages_by_state{state=\"in_use\"} 60"));
    CHECK(has_line(text, "signalbox_worker_pages_at_hand{worker=\"1\"} 3"));
    CHECK(has_line(text, "signalbox_page_refusals_total{worker=\"1\"} 9"));
    CHECK(has_line(text, "signalbox_memory_low 1"));
    CHECK(has_line(text, "signalbox_memory_low_alarms_total 4"));
    CHECK(has_line(text, "signalbox_pages_low_water 50"));
}

TEST_CASE("TAB-4: depth, load and growth of the table are shown by groups of shards") {
    const std::string text = render(two_workers());
    CHECK(has_line(text, "signalbox_transport_table_shard_entries{shards=\"32-63\"} 90"));
    CHECK(has_line(text, "signalbox_transport_table_shard_load{shards=\"32-63\"} 2.25"));
    CHECK(has_line(text, "signalbox_transport_table_shard_load{shards=\"0-31\"} 0"));
    CHECK(has_line(text, "signalbox_transport_table_shard_max_depth{shards=\"32-63\"} 7"));
    CHECK(has_line(text, "signalbox_transport_table_shard_growths_total{shards=\"32-63\"} 3"));
    const char* depths[] = {"1\"} 30", "2\"} 6", "3\"} 2", "4\"} 1", "more\"} 1"};
    for (const char* depth : depths)
        CHECK(has_line(
            text,
            std::string("signalbox_transport_table_chains{shards=\"32-63\",depth=\"") + depth));
    CHECK(has_line(text, "signalbox_transport_table_alarm 1"));
    Snapshot calm = two_workers();
    calm.statistics.table.max_depth = 4;
    CHECK(has_line(render(calm), "signalbox_transport_table_alarm 0"));
}

TEST_CASE("the list of metrics names every family of a scrape and every reason") {
    const std::string list = reference_markdown();
    std::istringstream lines{render(two_workers())};
    std::string line;
    while (std::getline(lines, line))
        if (line.rfind("# TYPE ", 0) == 0)
            CHECK(count(list, "| `" + line.substr(7, line.find(' ', 7) - 7) + "` |") == 1);
    for (const auto reason : kDropNames)
        CHECK(count(list, "| `" + std::string{reason} + "` |") == 1);
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
