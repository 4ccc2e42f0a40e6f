// SPDX-License-Identifier: Apache-2.0
// The M3UA signaling gateway's management: ASP state per (AS, ASP), AS state machines, ASPSM,
// ASPTM, SSNM, MGMT (RFC 4666 section 4; reaction table of sigtran.md section 3). Pure; driven by
// core on the control thread, so it may allocate.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/counters.h"
#include "base/numbers.h"
#include "base/time.h"
#include "sigtran/distribution.h"
#include "sigtran/m3ua_settings.h"

namespace signalbox::sigtran {

/// A message for a peer; management goes on stream 0 unless said otherwise.
struct Outgoing {
    PeerIndex peer;
    StreamId stream;
    std::vector<std::uint8_t> bytes;
};

enum class ChangeKind : std::uint8_t { as_state, asp_state, error_received, error_sent };
struct Change {  // for events and logs
    ChangeKind kind{};
    AsIndex as = kNoAs;
    PeerIndex peer = kNoPeer;
    std::uint8_t from = 0;  // AsState or AspState, or 0
    std::uint8_t to = 0;    // AsState or AspState, or the error code
};

class SignalingGateway {
 public:
    SignalingGateway(std::vector<PeerSettings> peers, std::vector<AsSettings> servers,
                     Counters& counters);
    ~SignalingGateway();

    // what happened to the peer's association
    void association_up(PeerIndex peer, std::uint16_t streams_out, Time now);
    void association_restarted(PeerIndex peer, std::uint16_t streams_out, Time now);
    void association_lost(PeerIndex peer, Time now);

    /// One M3UA message that is not good DATA. For DATA that a worker refused pass its reason: it
    /// is answered with the ERR due.
    void receive(PeerIndex peer, StreamId stream, std::span<const std::uint8_t> message, Time now);
    void refuse_data(PeerIndex peer, StreamId stream, std::span<const std::uint8_t> message,
                     Drop why, Time now);
    /// T(r) and other timers.
    void advance(Time now);
    Time next_deadline() const;

    /// What to send now, in order. The caller publishes distribution() first when dirty() (an
    /// acknowledged ASP may send at once).
    std::vector<Outgoing> take_outgoing();
    std::vector<Change> take_changes();
    bool dirty() const;           // the distribution changed since the last call of distribution()
    Distribution distribution();  // a fresh copy for publication

    AsState as_state(AsIndex as) const;
    AspState asp_state(AsIndex as, PeerIndex peer) const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox::sigtran
