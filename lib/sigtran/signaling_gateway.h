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

/// Flows of an AS go to other ASPs than before; `from`: who had them.
struct Move {
    AsIndex as;
    std::vector<PeerIndex> from;
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
    /// How full the send queue towards the peer is, as a congestion level (3.4.4): onset and
    /// abatement are the caller's.
    void send_queue_level(PeerIndex peer, std::uint32_t level, Time now);
    /// T(r), T(beat) and other timers.
    void advance(Time now);
    /// Peers whose T(beat) is over: the caller says of each when it was heard() last, then calls
    /// advance().
    std::vector<PeerIndex> beats_due(Time now) const;
    void heard(PeerIndex peer, Time when);

    // the operator
    /// SCTP stays; the ASP is taken out of service, and its ASPUP refused until unblock().
    void block(PeerIndex peer, Time now);
    void unblock(PeerIndex peer);
    Admin admin(PeerIndex peer) const;
    /// Begins the end: every ASP is told, some at each call of take_outgoing().
    void drain(Time now);
    /// Peers that were told everything: their associations may be shut down after what
    /// take_outgoing() returned.
    std::vector<PeerIndex> take_drained();
    /// Peers whose associations are to be aborted.
    std::vector<PeerIndex> take_disconnects();
    /// Other settings; none may be missing, further ones stand behind. What is the same keeps its
    /// state.
    void reconfigure(const std::vector<PeerSettings>& peers, const std::vector<AsSettings>& servers,
                     Time now);
    Time next_deadline() const;

    /// What to send now, in order. The caller publishes distribution() first when dirty() (an
    /// acknowledged ASP may send at once).
    std::vector<Outgoing> take_outgoing();
    std::vector<Change> take_changes();
    bool dirty() const;           // the distribution changed since the last call of distribution()
    Distribution distribution();  // a fresh copy for publication

    /// Since the last call. Until moved() was called for each, distribution() says `held` of their
    /// flows: the caller sees to it that what is on its way to `from` cannot be overtaken.
    std::vector<Move> take_moves();
    void moved(AsIndex as);

    AsState as_state(AsIndex as) const;
    AspState asp_state(AsIndex as, PeerIndex peer) const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox::sigtran
