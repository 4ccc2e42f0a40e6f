// SPDX-License-Identifier: Apache-2.0
#include "admin/views.h"

#include <algorithm>
#include <cstdio>

namespace signalbox::admin {

namespace {

constexpr std::array<std::string_view, 4> kAsStates{"AS_DOWN", "AS_INACTIVE", "AS_ACTIVE",
                                                    "AS_PENDING"};
constexpr std::array<std::string_view, 3> kAspStates{"ASP_DOWN", "ASP_INACTIVE", "ASP_ACTIVE"};
constexpr std::array<std::string_view, 3> kAdmin{"enabled", "blocked", "shutdown"};

template <class State, std::size_t N>
std::string name_of(const std::array<std::string_view, N>& names, State state) {
    const auto i = static_cast<std::size_t>(state);
    return i < N ? std::string(names[i]) : std::to_string(i);
}

std::string flag(bool value) {
    return value ? "true" : "false";
}

template <class T>
std::string number(T value) {
    return std::to_string(value);
}

template <class T>
std::string optional_number(const std::optional<T>& value) {
    return value ? std::to_string(*value) : "";
}

std::string milliseconds(Duration d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", std::chrono::duration<double, std::milli>(d).count());
    return text;
}

std::string mode_name(sigtran::TrafficMode mode) {
    switch (mode) {
        case sigtran::TrafficMode::override_:
            return "override";
        case sigtran::TrafficMode::loadshare:
            return "loadshare";
        case sigtran::TrafficMode::broadcast:
            return "broadcast";
    }
    return "";
}

std::string addresses_of(const core::PeerSettings& peer) {
    std::string out;
    for (const IpAddress& a : peer.addresses) out += (out.empty() ? "" : ",") + a.text();
    return out;
}

std::string destination(const core::Settings& settings, const sigtran::AsSettings& as,
                        const sigtran::DestinationKey& key) {
    const auto& instance = settings.instances[as.instance];
    std::string text = mtp3::format_point_code(key.dpc, instance.point_code_format);
    if (key.mask_bits != 0) text += "/" + std::to_string(key.mask_bits);
    return text;
}

std::string destinations_of(const core::Settings& settings, const sigtran::AsSettings& as) {
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = 0; i < as.keys.size() && i < kShown; ++i)
        text += (i == 0 ? "" : ",") + destination(settings, as, as.keys[i]);
    if (as.keys.size() > kShown) text += ",+" + std::to_string(as.keys.size() - kShown);
    return text;
}

std::string peer_name(const core::Settings& settings, PeerIndex peer) {
    return peer.value < settings.peers.size() ? settings.peers[peer.value].m3ua.name : "";
}

}  // namespace

std::optional<PeerIndex> peer_called(const core::Settings& settings, const std::string& name) {
    for (std::uint32_t i = 0; i < settings.peers.size(); ++i)
        if (!settings.peers[i].m3ua.retired && settings.peers[i].m3ua.name == name)
            return PeerIndex{i};
    return std::nullopt;
}

std::optional<AsIndex> as_called(const core::Settings& settings, const std::string& name) {
    for (std::uint32_t i = 0; i < settings.servers.size(); ++i)
        if (!settings.servers[i].retired && settings.servers[i].name == name) return AsIndex{i};
    return std::nullopt;
}

Table peers_view(const core::NodeStatistics& s, const std::string& only) {
    Table table{"signalbox.peers/1",
                {{"asp", "ASP Name"},
                 {"as", "AS Name"},
                 {"state", "State"},
                 {"associated", "SCTP", Cell::flag},
                 {"admin", "Admin"},
                 {"worker", "Worker", Cell::number},
                 {"asp_id", "ASP Id", Cell::number},
                 {"remote_addresses", "Remote IP Addr & Port"}},
                {}};
    const core::Settings& settings = *s.settings;
    std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> member_of(
        settings.peers.size());
    for (std::uint32_t as = 0; as < settings.servers.size(); ++as)
        for (std::size_t m = 0; m < settings.servers[as].members.size(); ++m)
            member_of[settings.servers[as].members[m].peer.value].push_back({as, m});
    for (std::size_t p = 0; p < settings.peers.size(); ++p) {
        const core::PeerSettings& peer = settings.peers[p];
        if (peer.m3ua.retired || (!only.empty() && peer.m3ua.name != only)) continue;
        const bool up = p < s.peer_associated.size() && s.peer_associated[p];
        const bool blocked = p < s.peer_blocked.size() && s.peer_blocked[p];
        const std::string port = peer.remote_port ? ":" + std::to_string(*peer.remote_port) : ":*";
        const auto row = [&](const std::string& as, sigtran::AspState state) {
            table.add({peer.m3ua.name, as, name_of(kAspStates, state), flag(up),
                       blocked ? "blocked" : name_of(kAdmin, peer.m3ua.admin),
                       up ? number(unsigned{s.peer_workers[p].value}) : "",
                       optional_number(peer.m3ua.asp_id), addresses_of(peer) + port});
        };
        if (member_of[p].empty()) row("", sigtran::AspState::down);
        for (const auto& [as, m] : member_of[p]) {
            const bool known = as < s.asp_states.size() && m < s.asp_states[as].size();
            row(settings.servers[as].name, known ? s.asp_states[as][m] : sigtran::AspState::down);
        }
    }
    return table;
}

Table as_view(const core::NodeStatistics& s, const std::string& only) {
    Table table{"signalbox.as/1",
                {{"as", "AS Name"},
                 {"state", "State"},
                 {"routing_context", "Routing Context", Cell::number},
                 {"dpc", "Routing Key Dpc"},
                 {"mode", "Traffic Mode"},
                 {"active", "Active ASPs", Cell::number},
                 {"members", "ASPs", Cell::number},
                 {"instance", "Instance"}},
                {}};
    const core::Settings& settings = *s.settings;
    for (std::size_t i = 0; i < settings.servers.size(); ++i) {
        const sigtran::AsSettings& as = settings.servers[i];
        if (as.retired || (!only.empty() && as.name != only)) continue;
        const bool known = i < s.as_states.size();
        table.add({as.name, name_of(kAsStates, known ? s.as_states[i] : sigtran::AsState::down),
                   optional_number(as.routing_context), destinations_of(settings, as),
                   mode_name(as.mode), known ? number(s.as_active_asps[i]) : "0",
                   number(as.members.size()), settings.instances[as.instance].name});
    }
    return table;
}

Table routes_view(const core::NodeStatistics& s) {
    Table table{"signalbox.routes/1",
                {{"instance", "Instance"},
                 {"destination", "Destination"},
                 {"as", "AS Name"},
                 {"state", "State"}},
                {}};
    const core::Settings& settings = *s.settings;
    for (std::size_t i = 0; i < settings.servers.size(); ++i)
        for (const sigtran::DestinationKey& key : settings.servers[i].keys) {
            const sigtran::AsSettings& as = settings.servers[i];
            table.add({settings.instances[as.instance].name, destination(settings, as, key),
                       as.name,
                       name_of(kAsStates,
                               i < s.as_states.size() ? s.as_states[i] : sigtran::AsState::down)});
        }
    return table;
}

Table workers_view(const core::Node& node) {
    Table table{"signalbox.workers/1",
                {{"worker", "Worker"},
                 {"turns", "Turns", Cell::number},
                 {"busy_turns", "Busy", Cell::number},
                 {"sleeps", "Sleeps", Cell::number},
                 {"rx_packets", "Rx Packets", Cell::number},
                 {"tx_packets", "Tx Packets", Cell::number},
                 {"routed_messages", "Routed", Cell::number},
                 {"handoff_packets", "Handed off", Cell::number}},
                {}};
    for (unsigned w = 0; w < node.workers(); ++w) {
        const Counters& c = node.worker_counters(WorkerIndex{static_cast<std::uint8_t>(w)});
        std::vector<std::string> row{number(w)};
        for (const Count count :
             {Count::turns, Count::busy_turns, Count::sleeps, Count::rx_packets, Count::tx_packets,
              Count::routed_messages, Count::handoff_packets})
            row.push_back(number(c.get(count)));
        table.add(std::move(row));
    }
    return table;
}

Table drops_view(const core::Node& node, bool zeros) {
    Table table{"signalbox.drops/1",
                {{"reason", "Reason"}, {"count", "Count", Cell::number}, {"help", "Meaning"}},
                {}};
    for (std::size_t d = 0; d < kDropCount; ++d) {
        const auto drop = static_cast<Drop>(d);
        std::uint64_t sum = node.control_counters().drops(drop);
        for (unsigned w = 0; w < node.workers(); ++w)
            sum += node.worker_counters(WorkerIndex{static_cast<std::uint8_t>(w)}).drops(drop);
        if (sum != 0 || zeros)
            table.add({std::string(kDropNames[d]), number(sum), std::string(kDropHelp[d])});
    }
    return table;
}

Table memory_view(const core::NodeStatistics& s) {
    Table table{"signalbox.memory/1", {{"what", "What"}, {"value", "Value", Cell::number}}, {}};
    const std::pair<const char*, std::uint64_t> rows[] = {
        {"associations_established", s.associations},
        {"association_slots", s.slots},
        {"association_slots_used", s.slots_used},
        {"pages", s.pages_total},
        {"pages_free", s.pages_free},
        {"pages_low_water", s.pages_low_water},
        {"memory_low", s.memory_low ? 1u : 0u},
        {"page_bytes", 4096},
        {"transport_table_entries", s.table.entries},
        {"transport_table_buckets", s.table.buckets},
        {"transport_table_max_depth", s.table.max_depth},
        {"transport_table_growths", s.table.growths},
        {"transport_table_growths_refused", s.table.growths_refused},
        {"transport_table_rekeys", s.table.rekeys},
        {"control_longest_turn_us", s.control_longest_turn_ns / 1000},
    };
    for (const auto& [what, value] : rows) table.add({what, number(value)});
    return table;
}

Table rates_view(const Rates& rates) {
    Table table{"signalbox.rates/1",
                {{"what", "A second"},
                 {"last_1s", "1 s", Cell::number},
                 {"last_1min", "1 min", Cell::number},
                 {"last_1h", "1 h", Cell::number}},
                {}};
    for (std::size_t i = 0; i < Rates::kSums; ++i) {
        std::vector<std::string> row{std::string(Rates::kNames[i])};
        for (const Duration span : Rates::kSpans) {
            char text[32];
            std::snprintf(text, sizeof text, "%.1f", rates.over(span)[i]);
            row.emplace_back(text);
        }
        table.add(std::move(row));
    }
    return table;
}

Table associations_view(const core::Settings& settings,
                        const std::vector<core::AssociationInfo>& found) {
    Table table{"signalbox.associations/1",
                {{"peer", "ASP Name"},
                 {"worker", "Worker", Cell::number},
                 {"local_port", "Local Port", Cell::number},
                 {"remote_port", "Remote Port", Cell::number},
                 {"streams_out", "Out", Cell::number},
                 {"streams_in", "In", Cell::number},
                 {"queued_bytes", "Queued", Cell::number},
                 {"ready_bytes", "Held", Cell::number},
                 {"receive_window", "Window", Cell::number},
                 {"blocked", "Blocked", Cell::flag},
                 {"stalled_ms", "Stalled ms", Cell::number},
                 {"paths", "Paths", Cell::number}},
                {}};
    for (const core::AssociationInfo& a : found)
        table.add({peer_name(settings, a.peer), number(unsigned{a.worker.value}),
                   number(a.local_port), number(a.remote_port), number(a.streams_out),
                   number(a.streams_in), number(a.queued_bytes), number(a.ready_bytes),
                   number(a.receive_window), flag(a.blocked), milliseconds(a.stalled),
                   number(a.path_count)});
    return table;
}

Table paths_view(const core::Settings& settings, const std::vector<core::AssociationInfo>& found) {
    Table table{"signalbox.paths/1",
                {{"peer", "ASP Name"},
                 {"remote", "Remote"},
                 {"local", "Local"},
                 {"state", "State"},
                 {"rto_ms", "RTO ms", Cell::number},
                 {"cwnd_bytes", "Cwnd", Cell::number},
                 {"outstanding_bytes", "Outstanding", Cell::number},
                 {"errors", "Errors", Cell::number}},
                {}};
    for (const core::AssociationInfo& a : found)
        for (const core::PathInfo& p : a.paths) {
            const char* state = !p.active              ? "down"
                                : p.potentially_failed ? "potentially_failed"
                                : !p.confirmed         ? "unconfirmed"
                                                       : "active";
            table.add({peer_name(settings, a.peer), p.remote.text(), p.local.text(), state,
                       milliseconds(p.rto), number(p.cwnd_bytes), number(p.outstanding_bytes),
                       number(p.error_count)});
        }
    return table;
}

Table bindings_view(const core::Settings& settings, AsIndex as,
                    const std::vector<PeerIndex>& serving) {
    Table table{"signalbox.bindings/1",
                {{"as", "AS Name"}, {"sls", "SLS", Cell::number}, {"peer", "ASP Name"}},
                {}};
    for (std::size_t sls = 0; sls < serving.size(); ++sls)
        table.add({settings.servers[as.value].name, number(sls),
                   serving[sls] == kNoPeer ? "" : peer_name(settings, serving[sls])});
    return table;
}

Table explanation_view(const core::Settings& settings, const core::RouteQuestion& q,
                       const core::RouteAnswer& answer) {
    Table table{"signalbox.explanation/1", {{"step", "Step"}, {"result", "Result"}}, {}};
    const auto& from = settings.servers[q.from.value];
    const auto& instance = settings.instances[from.instance];
    const auto code = [&](PointCode pc) {
        return mtp3::format_point_code(pc, instance.point_code_format);
    };
    table.add({"message", "from " + from.name + ", opc " + code(q.opc) + ", dpc " + code(q.dpc) +
                              ", sls " + number(unsigned{q.sls.value})});
    table.add({"instance", instance.name});
    if (answer.as != kNoAs) {
        table.add({"application server", settings.servers[answer.as.value].name});
        table.add({"state", name_of(kAsStates, answer.as_state)});
    }
    if (answer.copies > 1) table.add({"copies", number(answer.copies)});
    if (answer.peer != kNoPeer) table.add({"asp", peer_name(settings, answer.peer)});
    if (answer.associated) table.add({"worker", number(unsigned{answer.worker.value})});
    if (answer.stream) table.add({"stream", number(answer.stream->value)});
    const bool waits = !answer.refused && answer.as_state == sigtran::AsState::pending;
    table.add(
        {"verdict",
         answer.refused
             ? "discarded: " + std::string(kDropNames[static_cast<std::size_t>(*answer.refused)])
         : waits ? "waits in the recovery queue"
                 : "sent"});
    return table;
}

}  // namespace signalbox::admin
