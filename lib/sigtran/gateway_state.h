// SPDX-License-Identifier: Apache-2.0
// Inside of SignalingGateway, shared by the files that treat one group of messages each:
//   signaling_gateway.cpp        entry points, dispatch by class and type
//   asp_state_maintenance.cpp    ASPUP, ASPDN, BEAT, the association's fate   (RFC 4666 4.3.4.1,
//   .2, .6) asp_traffic_maintenance.cpp  ASPAC, ASPIA                                 (4.3.4.3, .4)
//   network_management.cpp       SCON of ASPs, congestion                     (4.5)
//   audit.cpp                    DAUD, answers to DATA without a way          (3.4)
//   announcements.cpp            DUNA, DRST, SCON, DAVA to the others         (4.5.1)
//   beat.cpp                     our own BEAT                                 (3.5.5)
//   administration.cpp           block, drain
//   application_server.cpp       AS state, T(r), NTFY, distribution           (4.3.2, 4.3.4.5)
//   refusal.cpp                  ERR                                          (3.8.1)
#pragma once
#include <array>
#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sigtran/budget.h"
#include "sigtran/destination_index.h"
#include "sigtran/management_parameters.h"
#include "sigtran/outbox.h"
#include "sigtran/signaling_gateway.h"
#include "sigtran/sls_binding.h"
#include "sigtran/state_tables.h"
#include "sigtran/statuses.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

/// Management messages of one peer. An ASP that starts asks for each of its AS once; nobody needs
/// 1000 a second.
inline constexpr unsigned kManagementPerSecond = 1000;
inline constexpr unsigned kManagementBurst = 1000;
/// ERRs to one peer: a broken peer gets an answer, a flood does not get a flood.
inline constexpr unsigned kErrorsPerSecond = 100;
inline constexpr unsigned kErrorsBurst = 100;
/// Answers about point codes that one peer may have within kAuditInterval; the same one is not said
/// twice in it.
inline constexpr std::size_t kAuditMemory = 256;
inline constexpr Duration kAuditInterval = std::chrono::seconds{1};
inline constexpr std::uint32_t kCongestionLevelMax = 3;  // 3.4.4

/// DUNA and DAVA that go to the other AS. When thousands of AS come up at once everyone would be
/// told of everyone: past the burst the changes wait and are told together, in lists.
inline constexpr Duration kAnnouncementInterval = std::chrono::microseconds{100};
inline constexpr Duration kAnnouncementBurst = 1000 * kAnnouncementInterval;

struct AuditAnswer {
    std::uint64_t question = 0;
    std::uint64_t epoch = 0;  // of the AS states when it was answered
    Time when{};
};

struct Peer {
    PeerSettings settings;
    Admin configured_admin = Admin::enabled;  // `settings` may hold an operator's
    bool associated = false;
    bool up = false;  // not ASP-DOWN
    std::optional<std::uint32_t> learned_asp_id;
    std::vector<AsIndex> servers;  // parallel to PeerView::memberships
    Budget management{kManagementPerSecond, kManagementBurst};
    Budget errors{kErrorsPerSecond, kErrorsBurst};
    std::vector<AuditAnswer> answered;
    Time heard{};            // the last message of any kind, as far as we were told
    Time beat_due = kNever;  // T(beat)

    std::optional<std::uint32_t> asp_id() const {
        return settings.asp_id ? settings.asp_id : learned_asp_id;
    }
    /// Destinations are told to ASPs; a gateway tells us.
    bool tells_destinations() const { return true; }
};

/// One ASP in one AS.
struct AspInAs {
    PeerIndex peer;
    AspState state = AspState::down;
    std::uint32_t said_congestion = 0;   // as its SCON said; 0 is none
    std::uint32_t queue_congestion = 0;  // as our send queue towards it shows

    std::uint32_t congestion() const { return std::max(said_congestion, queue_congestion); }
};

struct Server {
    AsSettings settings;
    AsState state = AsState::down;
    std::vector<AspInAs> asps;
    SlsBinding binding;
    std::size_t moves_open = 0;       // moved() has not been called for these
    Time recovery_ends = kNever;      // T(r); kNever when it does not run
    std::size_t active_before = 0;    // ASPs, when the AS was last judged
    bool announcement_waits = false;  // is in State::to_announce
    bool return_is_news = false;      // somebody was told that it is away while it recovered
    DestinationStatus announced;      // what the other AS were told last; routes start unavailable

    std::size_t count(AspState wanted) const;
    /// A PENDING one does not count as available: it has nobody.
    DestinationStatus status() const;
    /// The least congestion of those that serve: traffic can go there.
    std::uint32_t congestion() const;
};

/// One message under treatment.
struct Request {
    PeerIndex peer;
    StreamId stream;
    std::span<const std::uint8_t> message;
    wire::m3ua::Header header;
    ManagementParameters parameters;
};

struct ErrorDetails {
    std::span<const std::uint32_t> routing_contexts{};
    std::optional<std::uint32_t> network_appearance{};
};

struct SignalingGateway::State {
    State(std::vector<PeerSettings> peer_settings, std::vector<AsSettings> server_settings,
          Counters& c);

    // asp_state_maintenance.cpp
    void on_aspup(const Request& rq);
    void on_aspdn(const Request& rq);
    void on_beat(const Request& rq);
    std::optional<wire::m3ua::ErrorCode> judge_asp_identifier(const Request& rq) const;
    bool is_asp_identifier_taken(PeerIndex peer, std::uint32_t asp_id) const;
    void fail(PeerIndex peer);
    void bring_down(PeerIndex peer);

    // asp_traffic_maintenance.cpp
    struct Selection {
        std::vector<AsIndex> served;
        std::vector<std::uint32_t> not_served;
    };
    Selection select(const Request& rq) const;
    void on_aspac(const Request& rq);
    void on_aspia(const Request& rq);
    void activate(AsIndex as, PeerIndex peer);
    void displace_others(AsIndex as, PeerIndex by);
    void acknowledge(wire::m3ua::Message ack, PeerIndex peer, std::span<const AsIndex> servers);

    // network_management.cpp
    void on_scon(const Request& rq);
    void pass_on_congestion(const Request& rq, std::span<const AsIndex> from, std::uint32_t level);
    void send_queue_level(PeerIndex peer, std::uint32_t level);
    /// The AS named, or all of the peer's, that may use SSNM now. Refuses and returns none
    /// otherwise.
    std::vector<AsIndex> select_for_ssnm(const Request& rq);

    // audit.cpp
    void on_daud(const Request& rq);
    DestinationStatus audited_status(AsIndex as);
    void answer_undeliverable(const Request& rq, Drop why);
    bool may_answer(PeerIndex peer, std::uint64_t question);

    // announcements.cpp
    Scope scope_of(AsIndex as) const;
    void status_changed(AsIndex as);
    void begin_round();
    void announce_changes();
    /// The number of messages that it took.
    std::size_t announce_to(AsIndex receiver, std::size_t limit);
    Time announcement_due() const;
    void tell_before_ack(PeerIndex peer, AsIndex as);

    // beat.cpp
    void watch(PeerIndex peer);
    void unwatch(PeerIndex peer);
    void run_beats();

    // administration.cpp
    void take_out(PeerIndex peer);
    void say_farewell(PeerIndex peer);
    void drain_slice();

    // reconfigure.cpp
    void reconfigure_peer(PeerIndex peer, const PeerSettings& wanted);
    void reconfigure_server(AsIndex as, const AsSettings& wanted);
    void leave(AsIndex as, PeerIndex peer);
    void join(AsIndex as, PeerIndex peer);
    void show_settings(AsIndex as);

    // application_server.cpp
    void set_asp_state(AsIndex as, PeerIndex peer, AspEvent event);
    /// Judges the AS anew after its ASPs changed.
    void reconsider(AsIndex as);
    void set_as_state(AsIndex as, AsState next);
    void recovery_over(AsIndex as);
    void notify(PeerIndex peer, AsIndex as, wire::m3ua::Status status,
                std::optional<std::uint32_t> asp_id = {});
    void notify_state(PeerIndex peer, AsIndex as);
    void notify_if_too_few(AsIndex as);
    void refresh_view(AsIndex as);
    void look_for_moves(AsIndex as, const std::array<PeerIndex, 256>& before);
    void moved(AsIndex as);
    bool is_consistent() const;
    void check() const {
#ifdef SIGNALBOX_CHECKS
        assert(is_consistent());
#endif
    }

    // refusal.cpp
    /// Counts and answers; never for an ERR (3.8.1).
    void refuse(const Request& rq, wire::m3ua::ErrorCode code, const ErrorDetails& details = {});
    void send_error(const Request& rq, wire::m3ua::ErrorCode code,
                    const ErrorDetails& details = {});
    void refuse_data(const Request& rq, Drop why);

    // signaling_gateway.cpp
    std::optional<wire::m3ua::ErrorCode> judge(Request& rq) const;
    void dispatch(const Request& rq);
    void on_error(const Request& rq);
    void on_data(const Request& rq);

    Server& at(AsIndex as) {
        return servers[as.value];
    }
    const Server& at(AsIndex as) const {
        return servers[as.value];
    }
    Peer& at(PeerIndex peer) {
        return peers[peer.value];
    }
    const Peer& at(PeerIndex peer) const {
        return peers[peer.value];
    }
    AspState asp_state(AsIndex as, PeerIndex peer) const;
    bool has_state(PeerIndex peer, AspState wanted) const;

    std::vector<Peer> peers;
    std::vector<Server> servers;
    DestinationIndex destinations;
    Counters& counters;
    Outbox outbox;
    std::vector<Change> changes;
    std::vector<Move> moves;
    std::vector<AsIndex> to_announce;
    /// What is being told just now, to whom next.
    struct Round {
        struct Item {
            AsIndex as;
            DestinationStatus before;
            DestinationStatus after;
        };
        std::map<std::uint16_t, std::vector<Item>> news;  // by instance
        std::size_t receiver = 0;                         // AS
        std::size_t asp = 0;
        Statuses statuses;  // for the ASPs of the receiver
    };
    std::optional<Round> round;
    Time announcements_paid{};  // the messages sent so far fill their share of time until then
    std::set<std::pair<Time, std::uint32_t>> recoveries;  // running T(r)s
    std::set<std::pair<Time, std::uint32_t>> beats;       // running T(beat)s, by peer
    std::uint64_t beat_number = 0;
    std::vector<PeerIndex> disconnects;  // whose association is to be aborted
    bool draining = false;
    std::size_t drain_next = 0;
    std::vector<PeerIndex> drained;  // told all; their associations may go
    Distribution view;
    bool dirty = true;
    std::uint64_t epoch = 0;  // grows when an AS changes
    Time now{};
};

}  // namespace signalbox::sigtran
