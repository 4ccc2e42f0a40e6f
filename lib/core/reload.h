// SPDX-License-Identifier: Apache-2.0
// A reload of what the core knows. Any thread works out what other settings mean; the control
// thread puts them in force. lib/README.md says how.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/settings.h"

namespace signalbox::core {

struct Plan;

enum class Fate : std::uint8_t { added, in_place, reset, removed };

struct PeerFate {
    PeerIndex peer;
    std::string name;
    Fate fate = Fate::in_place;
    std::string why;
};

/// The most that may come by reloads: what workers keep by peer, server and listener was made at
/// start.
struct ReloadRoom {
    std::size_t peers = 0;
    std::size_t servers = 0;
    std::size_t listeners = 0;
    std::size_t routes = 0;
};

struct ReloadPlan {
    Settings settings;                 // `next`, its positions those in force
    std::vector<PeerFate> peers;       // all that do not stay as they are
    std::size_t unchanged = 0;         // peers
    std::vector<std::string> refused;  // what takes a restart; then nothing else may be used
    std::size_t ending() const;        // peers that lose their associations
};

/// What becomes of a node with `old` settings when it gets `next`.
ReloadPlan plan_reload(const Settings& old, Settings next, const ReloadRoom& room);

}  // namespace signalbox::core
