// SPDX-License-Identifier: Apache-2.0
// What is to be said about destinations, and the SSNM that say it (RFC 4666 3.4).
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sigtran/destination_index.h"
#include "sigtran/outbox.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

/// How well a destination can be reached. Restricted: with less than it should have (3.4.6).
enum class Reach : std::uint8_t { unavailable, restricted, available };

struct DestinationStatus {
    Reach reach = Reach::unavailable;
    std::uint32_t congestion = 0;  // 3.4.4; 0 is none
    friend bool operator==(const DestinationStatus&, const DestinationStatus&) = default;
};

/// Several destinations by kind of message.
struct Statuses {
    std::vector<std::uint32_t> unavailable;
    std::vector<std::uint32_t> restricted;
    std::map<std::uint32_t, std::vector<std::uint32_t>> congested;  // by level
    std::vector<std::uint32_t> available;

    void add(Destination d, DestinationStatus now) {
        auto& list = now.reach == Reach::unavailable  ? unavailable
                     : now.reach == Reach::restricted ? restricted
                                                      : available;
        list.push_back(d.to_wire());
        if (now.reach != Reach::unavailable && now.congestion > 0)
            congested[now.congestion].push_back(d.to_wire());
    }
    /// Only what differs from what was said last; the end of a congestion is level 0.
    void add_change(Destination d, DestinationStatus before, DestinationStatus now) {
        if (before.reach != now.reach) add(d, {now.reach, 0});
        if (before.congestion != now.congestion && now.reach != Reach::unavailable)
            congested[now.congestion].push_back(d.to_wire());
    }
    bool empty() const {
        return unavailable.empty() && restricted.empty() && congested.empty() && available.empty();
    }
};

/// Which network and AS the SSNM speaks of.
struct Scope {
    std::optional<std::uint32_t> network_appearance;
    std::vector<std::uint32_t> routing_contexts;

    wire::m3ua::Builder begin(wire::m3ua::Message message) const;
};

/// Both return the number of messages. A congested destination is reachable: SCON, then DAVA
/// (3.4.3).
std::size_t send_list(Outbox& outbox, PeerIndex peer, const Scope& scope,
                      wire::m3ua::Message message, std::span<const std::uint32_t> affected,
                      std::optional<std::uint32_t> level = {});
std::size_t send_statuses(Outbox& outbox, PeerIndex peer, const Scope& scope, const Statuses& s);

}  // namespace signalbox::sigtran
