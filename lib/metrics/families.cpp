// SPDX-License-Identifier: Apache-2.0
#include "metrics/families.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/crc32c.h"

namespace signalbox::metrics {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;
using Labels = std::vector<ClientMetric::Label>;

// A newline in HELP breaks the text format, and prometheus-cpp does not escape it.
constexpr bool one_line(std::string_view help) {
    return !help.empty() && help.find('\n') == std::string_view::npos;
}
static_assert(std::all_of(kCountHelp.begin(), kCountHelp.end(), one_line));

constexpr std::array<std::string_view, 4> kAsStates{"down", "inactive", "active", "pending"};
constexpr std::array<std::string_view, 3> kAspStates{"down", "inactive", "active"};

MetricFamily& family(Families& all, MetricType type, std::string name, std::string_view help) {
    return all.emplace_back(
        MetricFamily{"signalbox_" + std::move(name), std::string{help}, type, {}});
}

void add(MetricFamily& to, Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (to.type == MetricType::Counter)
        metric.counter.value = value;
    else
        metric.gauge.value = value;
    to.metric.push_back(std::move(metric));
}

template <class T>
void single(Families& all, MetricType type, std::string name, std::string_view help, T value) {
    add(family(all, type, std::move(name), help), {}, static_cast<double>(value));
}

/// Calls fn with each writer of counters and its name as the label worker.
template <class Fn>
void each_writer(const Snapshot& snapshot, Fn&& fn) {
    for (std::size_t i = 0; i < snapshot.workers.size(); ++i)
        fn(std::to_string(i), snapshot.workers[i]);
    fn(std::string{"control"}, snapshot.control);
}

void add_counts(Families& all, const Snapshot& snapshot) {
    for (std::size_t c = 0; c < kCountCount; ++c) {
        auto& counts =
            family(all, MetricType::Counter, std::string{kCountNames[c]} + "_total", kCountHelp[c]);
        each_writer(snapshot, [&](const std::string& worker, const CounterValues& values) {
            add(counts, {{"worker", worker}}, static_cast<double>(values.counts[c]));
        });
    }
}

void add_drops(Families& all, const Snapshot& snapshot) {
    auto& drops = family(all, MetricType::Counter, "rx_dropped_packets_total",
                         "packets, chunks and messages discarded, by reason");
    each_writer(snapshot, [&](const std::string& worker, const CounterValues& values) {
        for (std::size_t d = 0; d < kDropCount; ++d)
            add(drops, {{"reason", std::string{kDropNames[d]}}, {"worker", worker}},
                static_cast<double>(values.drops[d]));
    });
}

void add_pages(Families& all, const core::NodeStatistics& s) {
    constexpr auto gauge = MetricType::Gauge;
    single(all, gauge, "pages", "pages of memory for associations and their queues", s.pages_total);
    single(all, gauge, "pages_free", "pages of memory that nobody holds", s.pages_free);
    single(all, gauge, "pages_low_water", "fewer free pages than this raise memory_low",
           s.pages_low_water);
    auto& states = family(all, gauge, "pages_by_state",
                          "pages in the pool, at hand of a worker, on their way back from one, "
                          "and in use");
    add(states, {{"state", "pool"}}, static_cast<double>(s.pages_in_pool));
    std::size_t at_hand = 0, returning = 0;
    for (const auto& w : s.worker_pages) at_hand += w.at_hand, returning += w.returning;
    add(states, {{"state", "at_hand"}}, static_cast<double>(at_hand));
    add(states, {{"state", "returning"}}, static_cast<double>(returning));
    add(states, {{"state", "in_use"}},
        static_cast<double>(s.pages_total - std::min(s.pages_total, s.pages_free)));
    if (!s.worker_pages.empty()) {
        auto& hands = family(all, gauge, "worker_pages_at_hand", "pages that a worker could take");
        for (std::size_t w = 0; w < s.worker_pages.size(); ++w)
            add(hands, {{"worker", std::to_string(w)}},
                static_cast<double>(s.worker_pages[w].at_hand));
        auto& refused = family(all, MetricType::Counter, "page_refusals_total",
                               "pages that a worker asked for and did not get");
        for (std::size_t w = 0; w < s.worker_pages.size(); ++w)
            add(refused, {{"worker", std::to_string(w)}},
                static_cast<double>(s.worker_pages[w].refusals));
    }
    single(all, gauge, "memory_low", "1 while fewer pages are free than the low-water mark",
           s.memory_low ? 1 : 0);
    single(all, MetricType::Counter, "memory_low_alarms_total", "times that memory became low",
           s.memory_alarms);
}

/// Shards in groups, so that what is wrong with a few of them shows.
void add_table_groups(Families& all, const table::TransportTable::Statistics& t) {
    if (t.groups.empty()) return;
    const auto each = [&](MetricFamily& to, auto&& value) {
        for (std::size_t g = 0; g < t.groups.size(); ++g)
            add(to,
                {{"shards", std::to_string(g * t.shards_in_group) + "-" +
                                std::to_string((g + 1) * t.shards_in_group - 1)}},
                static_cast<double>(value(t.groups[g])));
    };
    constexpr auto gauge = MetricType::Gauge;
    constexpr auto counter = MetricType::Counter;
    each(family(all, gauge, "transport_table_shard_entries", "transports in the shards"),
         [](const auto& g) { return g.entries; });
    each(family(all, gauge, "transport_table_shard_load", "transports for each home bucket"),
         [](const auto& g) {
             return g.homes == 0 ? 0
                                 : static_cast<double>(g.entries) / static_cast<double>(g.homes);
         });
    each(family(all, gauge, "transport_table_shard_max_depth", "buckets in the longest chain"),
         [](const auto& g) { return g.max_depth; });
    each(family(all, counter, "transport_table_shard_growths_total", "growths"),
         [](const auto& g) { return g.growths; });
    each(family(all, counter, "transport_table_shard_shrinks_total", "shrinkages"),
         [](const auto& g) { return g.shrinks; });
    each(family(all, counter, "transport_table_shard_rekeys_total", "new hash keys"),
         [](const auto& g) { return g.rekeys; });
    auto& chains = family(all, gauge, "transport_table_chains", "chains by their depth in buckets");
    for (std::size_t g = 0; g < t.groups.size(); ++g)
        for (std::size_t d = 0; d < t.groups[g].chains.size(); ++d)
            add(chains,
                {{"shards", std::to_string(g * t.shards_in_group) + "-" +
                                std::to_string((g + 1) * t.shards_in_group - 1)},
                 {"depth", d + 1 < t.groups[g].chains.size() ? std::to_string(d + 1) : "more"}},
                static_cast<double>(t.groups[g].chains[d]));
}

void add_node(Families& all, const core::NodeStatistics& s) {
    constexpr auto gauge = MetricType::Gauge;
    constexpr auto counter = MetricType::Counter;
    single(all, gauge, "associations", "associations that are established now", s.associations);
    add_pages(all, s);
    single(all, gauge, "transport_table_entries", "transports in the table", s.table.entries);
    single(all, gauge, "transport_table_buckets", "buckets of the table", s.table.buckets);
    single(all, gauge, "transport_table_max_depth", "buckets in the table's longest chain",
           s.table.max_depth);
    single(all, counter, "transport_table_growths_total", "growths of shards", s.table.growths);
    single(all, counter, "transport_table_busy_total",
           "writes put off because another writer held the shard", s.table.busy);
    single(all, counter, "transport_table_shrinks_total", "shrinkages of shards", s.table.shrinks);
    single(all, counter, "transport_table_rekeys_total", "shards given a new hash key",
           s.table.rekeys);
    single(all, counter, "transport_table_growths_refused_total",
           "moves of a shard put off for want of memory", s.table.growths_refused);
    single(all, gauge, "transport_table_alarm", "1 while a chain is deeper than 4 buckets",
           s.table.alarm() ? 1 : 0);
    add_table_groups(all, s.table);
    single(all, gauge, "control_longest_turn_seconds", "longest turn of the control thread",
           static_cast<double>(s.control_longest_turn_ns) / 1e9);
    single(all, counter, "events_dropped_total", "events that the log had no room for",
           s.events_dropped);
}

template <class State, std::size_t N>
void add_states(MetricFamily& to, const std::string& label, const std::string& name, State state,
                const std::array<std::string_view, N>& states) {
    for (std::size_t i = 0; i < N; ++i)
        add(to, {{label, name}, {"state", std::string{states[i]}}},
            static_cast<std::size_t>(state) == i ? 1 : 0);
}

void add_servers(Families& all, const Snapshot& snapshot) {
    const core::NodeStatistics& s = snapshot.statistics;
    const std::size_t states = std::min(s.as_states.size(), snapshot.as_names.size());
    if (states != 0) {
        auto& state = family(all, MetricType::Gauge, "as_state",
                             "1 for the state in which the application server is");
        for (std::size_t i = 0; i < states; ++i)
            if (!snapshot.as_names[i].empty())
                add_states(state, "as", snapshot.as_names[i], s.as_states[i], kAsStates);
    }
    const std::size_t actives = std::min(s.as_active_asps.size(), snapshot.as_names.size());
    if (actives == 0) return;
    auto& active = family(all, MetricType::Gauge, "as_active_asps",
                          "processes of the application server that are active");
    for (std::size_t i = 0; i < actives; ++i)
        if (!snapshot.as_names[i].empty())
            add(active, {{"as", snapshot.as_names[i]}}, s.as_active_asps[i]);
}

void add_peers(Families& all, const Snapshot& snapshot, std::size_t max_peers) {
    const core::NodeStatistics& s = snapshot.statistics;
    const std::size_t known = snapshot.peer_names.size();
    const auto retired = std::count(snapshot.peer_names.begin(), snapshot.peer_names.end(), "");
    single(all, MetricType::Gauge, "peers", "peers in the configuration",
           known - static_cast<std::size_t>(retired));
    single(all, MetricType::Gauge, "peers_not_exported",
           "peers without series of their own: there are more than metrics.max_peers",
           known - std::min(known, max_peers));
    const std::size_t shown = std::min({known, max_peers, s.peer_associated.size()});
    if (shown != 0) {
        auto& up = family(all, MetricType::Gauge, "peer_associated",
                          "1 when the peer has an established association");
        for (std::size_t i = 0; i < shown; ++i)
            if (!snapshot.peer_names[i].empty())
                add(up, {{"peer", snapshot.peer_names[i]}}, s.peer_associated[i] ? 1 : 0);
    }
    const std::size_t states = std::min({known, max_peers, s.peer_states.size()});
    if (states == 0) return;
    auto& state = family(all, MetricType::Gauge, "peer_asp_state",
                         "1 for the best state of the peer over its application servers");
    for (std::size_t i = 0; i < states; ++i)
        if (!snapshot.peer_names[i].empty())
            add_states(state, "peer", snapshot.peer_names[i], s.peer_states[i], kAspStates);
}

constexpr std::array<std::string_view, 6> kPeerEntries{"received", "forwarded", "discarded",
                                                       "accepted", "returned",  "lost"};
constexpr std::array<std::string_view, 6> kAsEntries{"received", "offered",  "accepted",
                                                     "returned", "rerouted", "discarded"};

template <class Line, std::size_t N>
void add_entries(MetricFamily& to, const std::string& label, const std::string& name,
                 const Line& line, const std::array<std::string_view, N>& entries) {
    static_assert(std::tuple_size_v<decltype(line.values)> == N);
    for (std::size_t i = 0; i < N; ++i)
        add(to, {{label, name}, {"entry", std::string{entries[i]}}},
            static_cast<double>(line.values[i]));
}

/// What core/ledger.h says balances.
void add_ledger(Families& all, const Snapshot& snapshot, std::size_t max_peers) {
    const core::NodeStatistics& s = snapshot.statistics;
    const std::size_t servers = std::min(s.as_ledger.size(), snapshot.as_names.size());
    if (servers != 0) {
        auto& ledger = family(all, MetricType::Counter, "as_ledger_messages_total",
                              "messages of the application server: offered + returned = accepted + "
                              "rerouted + discarded + waiting; received are those of its ASPs");
        for (std::size_t i = 0; i < servers; ++i)
            add_entries(ledger, "as", snapshot.as_names[i], s.as_ledger[i], kAsEntries);
        auto& waiting = family(all, MetricType::Gauge, "as_waiting_messages",
                               "messages that wait for the application server");
        for (std::size_t i = 0; i < std::min(servers, s.as_waiting.size()); ++i)
            add(waiting, {{"as", snapshot.as_names[i]}}, static_cast<double>(s.as_waiting[i]));
    }
    const std::size_t peers =
        std::min({s.peer_ledger.size(), snapshot.peer_names.size(), max_peers});
    if (peers != 0) {
        auto& ledger = family(all, MetricType::Counter, "peer_ledger_messages_total",
                              "messages of the peer's associations: received = forwarded + "
                              "discarded; accepted = returned + lost + delivered + in its queue");
        for (std::size_t i = 0; i < peers; ++i)
            add_entries(ledger, "peer", snapshot.peer_names[i], s.peer_ledger[i], kPeerEntries);
    }
    const std::size_t routes = std::min({s.route_ledger.size(), s.routes.size(), max_peers});
    if (routes == 0 || !s.settings) return;
    auto& offered = family(all, MetricType::Counter, "route_messages_total",
                           "messages that took the route; as many routes as metrics.max_peers");
    for (std::size_t i = 0; i < routes; ++i) {
        const mtp3::Route& r = s.routes[i];
        const auto& instance = s.settings->instances[r.instance];
        add(offered,
            {{"route", std::to_string(i)},
             {"dpc", mtp3::format_point_code(r.dpc, instance.point_code_format)},
             {"as", s.settings->servers[r.as.value].name}},
            static_cast<double>(s.route_ledger[i]));
    }
}

}  // namespace

std::vector<MetricFamily> SnapshotCollectable::Collect() const {
    Families all;
    all.reserve(kCountCount + 32);
    add(family(all, MetricType::Gauge, "build_info", "1, with what was built and how as labels"),
        {{"version", version_},
         {"compiler", __VERSION__},
         {"crc32c", std::string{crc32c_implementation()}}},
        1);
    single(all, MetricType::Gauge, "workers", "worker threads", snapshot_.workers.size());
    add_node(all, snapshot_.statistics);
    add_servers(all, snapshot_);
    add_peers(all, snapshot_, settings_.max_peers);
    add_ledger(all, snapshot_, settings_.max_peers);
    add_counts(all, snapshot_);
    add_drops(all, snapshot_);
    return all;
}

}  // namespace signalbox::metrics
