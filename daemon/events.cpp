// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <array>

namespace signalbox::daemon {

namespace {

using core::EventKind;

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

Line line_of(const core::EventRecord& record, const core::Settings& settings,
             std::uint64_t similar) {
    const CataloguedEvent& event = catalogued(record.kind);
    Line line{event.least, event.name, {}, ""};
    if (record.peer.value < settings.peers.size())
        line.fields.push_back({"peer", settings.peers[record.peer.value].m3ua.name});
    if (record.as.value < settings.servers.size())
        line.fields.push_back({"as", settings.servers[record.as.value].name});
    if (!event.detail.empty()) line.fields.push_back({event.detail, std::to_string(record.detail)});
    if (record.kind == EventKind::asp_state) add_states(line, kAspStates, record.detail);
    if (record.kind == EventKind::as_state) {
        add_states(line, kAsStates, record.detail);
        const unsigned to = record.detail & 0xffu;
        if (to != static_cast<unsigned>(sigtran::AsState::active)) line.level = Level::warning;
    }
    if (similar != 0) {
        line.fields.push_back({"similar", std::to_string(similar)});
        line.text = "(+" + std::to_string(similar) + " similar)";
    }
    return line;
}

std::uint64_t Damper::key_of(const core::EventRecord& record) {
    return std::uint64_t{static_cast<std::uint8_t>(record.kind)} << 56 |
           std::uint64_t{record.as.value & 0xffffffu} << 32 | record.peer.value;
}

void Damper::begin_interval(Time now) {
    if (now - interval_since_ < kInterval) return;
    interval_since_ = now;
    interval_written_ = 0;
}

std::optional<Damper::Told> Damper::judge(const core::EventRecord& record, Time now) {
    begin_interval(now);
    if (windows_.size() >= kKeysMax) {
        windows_.clear();  // what was folded stays in silent_
        folding_.clear();
    }
    const std::uint64_t key = key_of(record);
    Window& window = windows_.try_emplace(key, Window{now, 0, 0, {}}).first->second;
    if (now - window.since >= kInterval && window.folded == 0) {
        window.since = now;
        window.written = 0;
    }
    if (window.written >= kBurst || interval_written_ >= kLinesPerInterval) {
        if (window.folded++ == 0) folding_.push_back(key);
        window.last = record;
        ++silent_;
        return std::nullopt;
    }
    ++window.written;
    ++interval_written_;
    return Told{record, 0};
}

std::vector<Damper::Told> Damper::due(Time now) {
    begin_interval(now);
    std::vector<Told> told;
    std::size_t kept = 0;
    for (const std::uint64_t key : folding_) {
        Window& window = windows_.at(key);
        if (now - window.since < kInterval || interval_written_ >= kLinesPerInterval) {
            folding_[kept++] = key;
            continue;
        }
        told.push_back({window.last, window.folded - 1});
        silent_ -= window.folded;
        window = {now, 1, 0, {}};
        ++interval_written_;
    }
    folding_.resize(kept);
    return told;
}

}  // namespace signalbox::daemon
