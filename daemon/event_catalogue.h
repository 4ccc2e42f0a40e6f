// SPDX-License-Identifier: Apache-2.0
// Every event that the daemon logs, in one list: name, severity, fields, what it means, what to do.
// docs/events.md comes from it; scripts/check-events holds the source to it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/node.h"

namespace signalbox::daemon {

enum class Level : std::uint8_t { trace, debug, info, warning, error };
std::string_view name_of(Level level);

struct CataloguedEvent {
    std::string_view name;  // stable: alarms match on it
    Level least = Level::info;
    Level most = Level::info;  // differs from `least` where the line's own contents decide
    std::string_view detail;   // name of the field that EventRecord::detail becomes; empty: none
    std::string_view fields;   // for people
    std::string_view meaning;
    std::string_view action;
};

/// Those of core come first, in the order of core::EventKind.
std::span<const CataloguedEvent> event_catalogue();
const CataloguedEvent& catalogued(core::EventKind kind);
std::string events_markdown();

}  // namespace signalbox::daemon
