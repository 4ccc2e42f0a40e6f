// SPDX-License-Identifier: Apache-2.0
// Immutable picture of every AS and ASP for the workers' data path: built by SignalingGateway on
// the control thread after each change, published by core as a snapshot. Plain data; reading it
// allocates nothing.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/drop.h"
#include "base/numbers.h"
#include "base/published_array.h"
#include "sigtran/m3ua_settings.h"

namespace signalbox::sigtran {

enum class AsState : std::uint8_t { down, inactive, active, pending };  // RFC 4666 4.3.2
enum class AspState : std::uint8_t { down, inactive, active };          // RFC 4666 4.3.1

struct AsView {
    AsState state = AsState::down;
    TrafficMode mode = TrafficMode::loadshare;
    bool moving = false;  // some flows are held: see `held`
    std::uint16_t instance = 0;
    std::optional<std::uint32_t> routing_context;
    std::optional<std::uint32_t> network_appearance;
    OnLoss on_loss = OnLoss::resend;
    std::uint32_t recovery_queue_messages = 0;
    std::uint32_t recovery_queue_bytes = 0;
    /// SLS (8 bits) -> serving ASP, kNoPeer when the AS is not active. Loadshare: stable binding
    /// (sigtran.md decision 5).
    std::array<PeerIndex, 256> serving;
    /// SLS whose ASP changed, a bit each: nothing goes to the new one before the old one has, or
    /// has given back, what it was sent (SignalingGateway::moved()).
    std::array<std::uint64_t, 4> held{};
    bool is_held(Sls sls) const { return (held[sls.value / 64] >> (sls.value % 64) & 1) != 0; }
    std::vector<PeerIndex> active;  // broadcast: all of them
    /// Grows with each ASP that becomes active: the first DATA of a flow after it carries a
    /// Correlation Id in broadcast mode (RFC 4666 3.3.1).
    std::uint32_t activations = 0;
};

/// One (peer, AS) pair in which the peer may send DATA.
struct Membership {
    AsIndex as;
    std::optional<std::uint32_t> routing_context;
    AspState state = AspState::down;
};

struct PeerView {
    bool up = false;                      // not DOWN in M3UA
    std::vector<Membership> memberships;  // of the AS that it is configured for
};

/// Copies share what did not change.
struct Distribution {
    PublishedArray<AsView, 1> servers;   // by AsIndex
    PublishedArray<PeerView, 32> peers;  // by PeerIndex
};

}  // namespace signalbox::sigtran
