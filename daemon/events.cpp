// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <array>

namespace signalbox::daemon {

namespace {

using core::EventKind;

struct Shape {
    std::string_view name;
    Level level;
    std::string_view detail;  // name of the field that `detail` becomes; empty: none
};

constexpr std::array<Shape, 17> kShapes{{
    {"association_up", Level::info, ""},
    {"association_closed", Level::info, ""},
    {"association_aborted", Level::warning, "cause"},
    {"association_lost", Level::warning, ""},
    {"association_restarted", Level::warning, ""},
    {"path_down", Level::warning, "path"},
    {"path_up", Level::info, "path"},
    {"path_potentially_failed", Level::warning, "path"},
    {"primary_changed", Level::warning, "path"},
    {"asp_state", Level::info, ""},
    {"as_state", Level::info, ""},
    {"m3ua_error_received", Level::warning, "code"},
    {"m3ua_error_sent", Level::warning, "code"},
    {"memory_low", Level::error, "free_pages"},
    {"memory_recovered", Level::info, ""},
    {"transport_table_deep", Level::error, "depth"},
    {"transport_table_flat", Level::info, ""},
}};
static_assert(static_cast<std::size_t>(EventKind::transport_table_flat) + 1 == kShapes.size());

constexpr std::array<std::string_view, 3> kAspStates{"down", "inactive", "active"};
constexpr std::array<std::string_view, 4> kAsStates{"down", "inactive", "active", "pending"};

template <std::size_t N>
std::string state_name(const std::array<std::string_view, N>& names, unsigned state) {
    return state < N ? std::string(names[state]) : std::to_string(state);
}

template <std::size_t N>
void add_states(Line& line, const std::array<std::string_view, N>& names, std::uint16_t detail) {
    line.fields.push_back({"from", state_name(names, detail >> 8)});
    line.fields.push_back({"to", state_name(names, detail & 0xffu)});
}

}  // namespace

Line line_of(const core::EventRecord& record, const core::Settings& settings) {
    const Shape& shape = kShapes[static_cast<std::size_t>(record.kind)];
    Line line{shape.level, shape.name, {}, ""};
    if (record.peer.value < settings.peers.size())
        line.fields.push_back({"peer", settings.peers[record.peer.value].m3ua.name});
    if (record.as.value < settings.servers.size())
        line.fields.push_back({"as", settings.servers[record.as.value].name});
    if (!shape.detail.empty()) line.fields.push_back({shape.detail, std::to_string(record.detail)});
    if (record.kind == EventKind::asp_state) add_states(line, kAspStates, record.detail);
    if (record.kind == EventKind::as_state) {
        add_states(line, kAsStates, record.detail);
        const unsigned to = record.detail & 0xffu;
        if (to != static_cast<unsigned>(sigtran::AsState::active)) line.level = Level::warning;
    }
    return line;
}

std::uint64_t Damper::key_of(const core::EventRecord& record) {
    return std::uint64_t{static_cast<std::uint8_t>(record.kind)} << 56 |
           std::uint64_t{record.as.value & 0xffffffu} << 32 | record.peer.value;
}

Damper::Verdict Damper::judge(const core::EventRecord& record, Time now) {
    if (now - all_.since >= kInterval) all_ = {now, 0, 0};
    if (windows_.size() >= kKeysMax) windows_.clear();
    Window& window = windows_.try_emplace(key_of(record), Window{now, 0, 0}).first->second;
    if (now - window.since >= kInterval) {
        window.since = now;
        window.written = 0;
    }
    if (window.written >= kBurst || all_.written >= kLinesPerInterval) {
        ++window.folded;
        ++silent_;
        return {};
    }
    ++window.written;
    ++all_.written;
    const Verdict verdict{true, window.folded};
    silent_ -= window.folded < silent_ ? window.folded : silent_;
    window.folded = 0;
    return verdict;
}

}  // namespace signalbox::daemon
