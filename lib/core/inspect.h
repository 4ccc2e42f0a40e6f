// SPDX-License-Identifier: Apache-2.0
// What an operator may ask about the running node. Plain values, made on the control thread; what
// only a worker knows of its associations comes by ring.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/drop.h"
#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/time.h"
#include "sigtran/distribution.h"

namespace signalbox::core {

struct PathInfo {
    IpAddress remote;
    IpAddress local;
    bool confirmed = false;
    bool active = false;
    bool potentially_failed = false;
    std::uint16_t error_count = 0;
    std::uint32_t cwnd_bytes = 0;
    std::uint32_t outstanding_bytes = 0;
    Duration rto{};
};

struct AssociationInfo {
    PeerIndex peer = kNoPeer;
    WorkerIndex worker;
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0;
    std::uint16_t streams_out = 0;
    std::uint16_t streams_in = 0;
    std::uint32_t queued_bytes = 0;    // to send, or sent and not acknowledged
    std::uint32_t ready_bytes = 0;     // received and not yet routed
    std::uint32_t receive_window = 0;  // what a SACK would advertise now
    bool blocked = false;              // holds messages that nothing takes now
    Duration stalled{};                // since when nothing queued was acknowledged
    std::uint32_t path_count = 0;
    std::vector<PathInfo> paths;
};

struct RouteQuestion {
    AsIndex from;
    PointCode opc;
    PointCode dpc;
    std::uint8_t service_indicator = 3;  // SCCP
    Sls sls;
};

/// The steps of Worker's routing, said instead of done.
struct RouteAnswer {
    std::optional<Drop> refused;
    AsIndex as = kNoAs;
    sigtran::AsState as_state = sigtran::AsState::down;
    PeerIndex peer = kNoPeer;  // loadshare and override: who gets it
    bool associated = false;
    std::size_t copies = 0;  // broadcast: how many get it
    WorkerIndex worker;
    std::optional<StreamId> stream;
};

}  // namespace signalbox::core
