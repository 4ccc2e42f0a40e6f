// SPDX-License-Identifier: Apache-2.0
// One SCTP association, RFC 9260, pure: bytes in, bytes out, time and randomness passed in.
//
// Lifetime: create in place with accept() (server, from a valid COOKIE ECHO) or connect() (client),
// feed with receive(), advance() at next_deadline(), write with flush(), read with the returned
// Effects and ready messages; after Event closed/aborted/lost flush() once more (a last ABORT or
// SHUTDOWN COMPLETE may wait), then release() in slices.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/prefetch.h"
#include "base/time.h"
#include "sctp/cookie.h"
#include "sctp/effects.h"
#include "sctp/environment.h"
#include "sctp/inbound.h"
#include "sctp/outbound.h"
#include "sctp/packet.h"
#include "sctp/path.h"
#include "sctp/reconfig.h"
#include "sctp/transmit_sink.h"
#include "wire/icmp.h"
#include "wire/init.h"

namespace signalbox::sctp {

inline constexpr std::size_t kMaxRemoteAddresses = 16;  // more in an INIT: refused (sctp.md PKT-8)
inline constexpr std::size_t kMaxLocalAddresses = 8;
/// Blocks and pages of an association that was restarted, freed in one turn (STR-3).
inline constexpr std::size_t kRetiredPerTurn = 64;

enum class State : std::uint8_t {  // RFC 9260 4
    closed,
    cookie_wait,
    cookie_echoed,
    established,
    shutdown_pending,
    shutdown_sent,
    shutdown_received,
    shutdown_ack_sent,
};

/// An ICMP error about a packet that an association sent: what it says, and what it quotes.
struct NetworkError {
    wire::IcmpKind kind{};
    IpAddress remote;             // where the quoted packet was going
    std::uint32_t mtu_bytes = 0;  // too_big
    VerificationTag tag;
    std::optional<VerificationTag> initiate_tag;  // of a quoted INIT
    bool encapsulated = false;                    // in UDP (RFC 6951)
};

enum class StreamDirection : std::uint8_t { outgoing, incoming };  // as we see it

struct PathView {
    IpAddress remote;
    IpAddress local;
    bool confirmed = false;
    bool active = false;
    bool potentially_failed = false;
    std::uint16_t error_count = 0;
    std::uint32_t cwnd_bytes = 0;
    std::uint32_t ssthresh_bytes = 0;
    std::uint32_t outstanding_bytes = 0;
    std::uint16_t mtu_bytes = 0;  // IP packet size in use
    Duration rto{};
    Duration srtt{};
};

class Association {
 public:
    /// Client: begins the handshake; INIT leaves with the next flush(). `remotes`: configured
    /// addresses, primary first.
    bool connect(Environment& env, std::span<const IpAddress> remotes, std::uint16_t local_port,
                 std::uint16_t remote_port);
    /// Server: takes the state from an authenticated cookie; the COOKIE ECHO's packet must be given
    /// to receive() next.
    bool accept(Environment& env, const CookieContents& cookie);

    /// A SACK is due and this packet brings DATA: acknowledge() goes first. However many packets a
    /// burst brings, each second one is acknowledged (RFC 9260 6.2), and each one behind a gap
    /// (6.7): the peer's window grows by SACKs (7.2.1), and it counts missing chunks by them.
    bool acknowledges_before(const Packet& packet) const {
        return in_.sack_due() && pending_ == 0 && replies_ == nullptr && packet.brings_data();
    }
    /// Writes the SACK that is due, alone.
    void acknowledge(Environment& env, TransmitSink& sink);
    /// One packet for this association (found by address and ports; the tag is judged here).
    void receive(Environment& env, const Packet& packet, Effects& effects);
    /// RFC 9260 section 10: judged by the quoted tag; what it does not believe is dropped by name.
    void network_error(Environment& env, const NetworkError& error, Effects& effects);
    /// Timers due at env.now.
    void advance(Environment& env, Effects& effects);
    /// Writes what may be sent now: control first, SACK, then as many DATA as windows and MTU
    /// allow. At most `max_packets`; returns true when more waits (call again next turn).
    bool flush(Environment& env, TransmitSink& sink, std::size_t max_packets = 64);
    /// flush() has something to look at: false after most packets, whose SACK is delayed.
    bool wants_flush() const {
        return pending_ != 0 || replies_ != nullptr || in_.sack_due() || !out_.nothing_to_say() ||
               paths_.anything_wanted() ||
               (reconfig_ != nullptr && (reconfig_->asked || reconfig_->response_count != 0));
    }
    Time next_deadline() const;  // kNever when no timer runs

    /// Queues one user message given in pieces (copied once). All or nothing. A limit on its
    /// reliability holds when the peer can do without it (RFC 3758); a message given up is counted
    /// and told by Event::send_failed.
    SendStatus send(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                    std::span<const std::span<const std::uint8_t>> pieces,
                    const Reliability& reliability = {});
    void shutdown(Environment& env);
    void abort(Environment& env, std::uint16_t cause,
               Effects& effects);  // cause 12: user initiated

    /// RFC 6525, when both ends offer it; one request at a time. Events tell how it ended. New
    /// messages of outgoing streams that are being reset wait for the answer and are numbered from
    /// 0; those for streams asked for may be sent at once, and are reported as failed if the peer
    /// refuses.
    ReconfigStatus reset_streams(Environment& env, StreamDirection direction,
                                 std::span<const StreamId> streams);  // none: all
    ReconfigStatus reset_tsns(Environment& env);                      // and all streams, both ways
    ReconfigStatus add_streams(Environment& env, StreamDirection direction, std::uint16_t count);

    /// A message of effects.delivered() that core cannot route now: kept, charged to the receive
    /// window, first in order. While messages are held receive() delivers nothing directly. False:
    /// no memory (the caller counts the loss).
    bool hold(Environment& env, const Message& message);
    /// The oldest message ready for delivery that was not delivered from a packet; valid until
    /// pop_ready() or the next call. Held, reassembled and formerly out-of-order messages come this
    /// way.
    std::optional<Message> front_ready(Environment& env);
    void pop_ready(Environment& env);

    /// DAT-11: messages not acknowledged, oldest first, one per call, after the association ended;
    /// and after Event::restarted those of the old one, before advance() discards them. `sent`: it
    /// was on the wire at least once. nullopt: no more. Valid until the next call.
    struct Unsent {
        Message message;
        bool sent;
    };
    std::optional<Unsent> take_back(Environment& env);
    bool owes_messages() const;  // take_back() has some

    /// Frees memory, at most `max_blocks` (> 0) at a time; true when done. (STR-3)
    bool release(Environment& env, std::size_t max_blocks);
    /// The same for several that share a budget: what was freed is taken off it.
    bool release_within(Environment& env, std::size_t& budget_blocks);

    State state() const;
    std::uint16_t local_port() const;
    std::uint16_t remote_port() const;
    VerificationTag local_tag() const;
    VerificationTag remote_tag() const;
    std::uint16_t streams_out() const;  // negotiated (HS-10)
    std::uint16_t streams_in() const;
    std::size_t path_count() const;
    PathView path(std::size_t index) const;
    IpAddress remote_address(std::size_t index) const;
    Extensions extensions() const { return extensions_; }  // agreed with the peer
    /// Priority (0 first) or weight (from 1) of an outgoing stream for the profile's scheduler
    /// (RFC 8260 3); it holds from the stream's next message into an empty queue.
    bool set_stream_value(Environment& env, StreamId stream, std::uint16_t value);
    /// Goes on numbering a stream where another process left off: its next ordered message out and
    /// in. For an association that was taken over; nothing of the stream is queued or waits.
    bool continue_stream(Environment& env, StreamId stream, Mid next_out, Mid next_in);
    std::uint32_t queued_bytes() const;  // unsent + unacknowledged user data
    /// The last message accepted so far, if at most `limit` chunks wait (Outbound::last_tsn()).
    std::optional<Tsn> last_tsn(std::uint32_t limit) const { return out_.last_tsn(limit); }
    bool acknowledged(Tsn tsn) const { return out_.acknowledged(tsn); }
    std::uint32_t receive_window() const;  // what a SACK would advertise now
    std::uint32_t ready_bytes() const;
    /// Since when nothing queued was acknowledged; kNever: nothing is queued (DAT-6: a stalled
    /// peer).
    Time stalled_since() const { return out_.stalled_since(); }
    std::size_t primary_path() const { return paths_.primary(); }
    bool is_consistent() const;  // style rule 7; DAT-2 among them
    /// Asks for the cache lines that a packet or a time-out touches.
    SIGNALBOX_ALWAYS_INLINE void prefetch() const {
        paths_.prefetch();
        prefetch_lines(&state_, &in_);
        in_.prefetch();
        out_.prefetch();
    }

 private:
    enum Pending : std::uint16_t {  // control chunks that flush() still has to write
        kInit = 1,
        kCookieEcho = 2,
        kCookieAck = 4,
        kShutdown = 8,
        kShutdownAck = 16,
        kShutdownComplete = 32,
        kAbort = 64,
    };
    struct Reply;        // replies.h
    class FlushPass;     // flush.cpp
    struct ReceivePass;  // receive.cpp
    struct Retired;      // restart.cpp

    // association.cpp
    void set_state(State next);
    void stop(Environment& env);
    void finish(Environment& env, Effects& effects, Event event, std::uint16_t cause = 0);
    void abort_with(Environment& env, Effects& effects, std::uint16_t cause,
                    std::uint64_t information = 0, std::uint8_t information_bytes = 0);
    bool start_paths(Environment& env, std::span<const IpAddress> remotes,
                     const IpAddress& addressed);
    void report_failures(Effects& effects);
    void check() const;

    // receive.cpp
    bool tag_acceptable(Environment& env, const Packet& packet);
    void process(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_data(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void process_extension(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_i_data(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_fragment(Environment& env, ReceivePass& pass, const Fragment& data);
    void on_sack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_acknowledged(Environment& env, ReceivePass& pass, AckOutcome outcome);
    void on_heartbeat(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_heartbeat_ack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_abort(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_error(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_unknown(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);

    // reconfig.cpp
    void on_re_config(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_reconfig_request(Environment& env, ReceivePass& pass,
                             const wire::ReconfigRequest& request);
    wire::ReconfigResult judge(Environment& env, ReceivePass& pass,
                               const wire::ReconfigRequest& request);
    wire::ReconfigResult peer_resets(Environment& env, ReceivePass& pass,
                                     const wire::ReconfigRequest& request);
    wire::ReconfigResult peer_resets_tsns(Environment& env, ReceivePass& pass);
    void on_reconfig_response(Environment& env, ReceivePass& pass,
                              const wire::ReconfigResponse& response);
    void request_granted(Environment& env, ReceivePass& pass,
                         const wire::ReconfigResponse& response);

    // reconfig_request.cpp
    std::span<const std::uint8_t> listed_streams() const;
    bool takes_re_config() const;
    ReconfigStatus may_request() const;
    void start_requests(Environment& env, Tsn peers_initial);
    void forget_requests(Environment& env);
    static void free_requests(Environment& env, Reconfig* requests);
    ReconfigStatus begin_reset(Environment& env, wire::ParameterType type,
                               std::span<const std::uint8_t> streams);
    void begin_add(Environment& env, wire::ParameterType type, std::uint16_t count);
    void end_request(Environment& env);
    void reconsider_request(const Environment& env);
    void on_reconfig_timer(Environment& env, Effects& effects);
    bool write_reconfig_responses(wire::PacketWriter& out);
    bool write_reconfig_request(wire::PacketWriter& out);

    // forward_tsn.cpp
    void on_forward_tsn(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);

    // handshake.cpp
    void on_init_ack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_cookie_ack(Environment& env, ReceivePass& pass);
    void on_stale_cookie(Environment& env, ReceivePass& pass, wire::Bytes causes);
    void establish(Environment& env, Effects& effects, Event event);
    void adopt(Environment& env, const CookieContents& cookie);
    void forget_cookie(Environment& env);

    // restart.cpp
    void on_init(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_cookie_echo(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    bool knows_all(std::span<const IpAddress> addresses) const;
    void refuse_restart(wire::PacketWriter& out, std::span<const IpAddress> addresses) const;
    void report_stale(Environment& env, ReceivePass& pass, const CookieContents& cookie);
    void start_afresh(Environment& env, const CookieContents& cookie);
    bool retire(Environment& env);
    std::optional<Outbound::Taken> take_back_retired(Environment& env);
    void release_retired(Environment& env, std::size_t& budget_blocks);
    void restart(Environment& env, ReceivePass& pass, const CookieContents& cookie);
    void collide(Environment& env, ReceivePass& pass, const CookieContents& cookie);

    // network_error.cpp
    bool quotes_us(const NetworkError& error) const;
    void peer_unreachable(Environment& env, Effects& effects, std::size_t path);
    void count_unreachable(Environment& env, Effects& effects, std::size_t path);

    // closing.cpp
    void on_shutdown(Environment& env, ReceivePass& pass, const wire::Chunk& chunk);
    void on_shutdown_ack(Environment& env, ReceivePass& pass);
    void on_shutdown_complete(Environment& env, ReceivePass& pass);
    void advance_shutdown(Environment& env);

    // replies.cpp
    Reply* reply_for(Environment& env, const Packet& packet, VerificationTag tag,
                     std::size_t bytes);
    bool reply_chunk(Environment& env, ReceivePass& pass, wire::ChunkType type, std::uint8_t flags,
                     wire::Bytes value);
    void reply_cause(Environment& env, ReceivePass& pass, wire::Bytes cause);
    void drop_replies(Environment& env);

    // timers.cpp
    void arm_control(Environment& env, Duration delay) { control_timer_ = env.now + delay; }
    void on_control_timer(Environment& env, Effects& effects);
    void on_t3(Environment& env, Effects& effects, std::size_t path);
    void on_forward_timer(Environment& env, Effects& effects, std::uint32_t charged);
    void on_heartbeat_due(Environment& env, std::size_t path);
    void count_failure(Environment& env, Effects& effects, std::size_t path);
    void path_answered(Environment& env, Effects& effects, std::size_t path);
    void switch_primary(Environment& env, Effects& effects);
    bool over_association_limit(const Environment& env) const;
    void start_heartbeats(Environment& env);
    void verify_next_path(Environment& env);

    // In the order in which packets touch it, rarely used state last: see prefetch().
    PathSet paths_;
    State state_ = State::closed;
    bool accepting_ = false;      // accept() was called: the COOKIE ECHO comes next
    bool ended_quietly_ = false;  // closed outside receive() and advance(): the event is still owed
    bool data_seen_ = false;      // in the packet being processed
    std::uint8_t control_count_ = 0;  // transmissions of what control_timer_ guards
    std::uint8_t control_path_ = 0;   // where control chunks go
    std::uint8_t reply_count_ = 0;
    std::uint8_t verify_next_ = 0;  // round robin over unconfirmed paths
    bool retired_waits_ = false;    // see retired_
    std::uint8_t stale_retries_ = 0;
    Extensions extensions_;  // agreed with the peer
    std::uint16_t pending_ = 0;
    std::uint16_t error_count_ = 0;
    std::uint16_t local_port_ = 0;
    std::uint16_t remote_port_ = 0;
    VerificationTag local_tag_;
    VerificationTag remote_tag_;
    Reply* replies_ = nullptr;
    Reconfig* reconfig_ = nullptr;  // when RFC 6525 was agreed
    Time control_timer_ = kNever;   // T1-init, T1-cookie, T2-shutdown
    Time guard_timer_ =
        kNever;  // T5-shutdown-guard, and the bound of every other closing state (HS-11)
    Time verify_due_ = kNever;  // next HEARTBEAT to an unconfirmed path
    Time heard_at_{};           // last DATA, SACK or HEARTBEAT ACK
    Inbound in_;
    Outbound out_;
    Time control_sent_at_{};
    StoredPiece* cookie_ = nullptr;       // client: until COOKIE ACK
    StoredPiece* init_report_ = nullptr;  // client: parameters of INIT ACK to be reported (3.2.2)
    std::uint64_t abort_information_ = 0;
    std::uint32_t preservative_ms_ = 0;
    VerificationTag
        local_tie_;  // nonces, not the tags: INIT ACK may go to a stranger (RFC 9260 5.2.2)
    VerificationTag remote_tie_;
    Tsn local_initial_tsn_;
    std::uint16_t abort_cause_ = 0;
    std::uint8_t abort_information_bytes_ = 0;
    Retired* retired_ = nullptr;  // what it held before its peer restarted, freed in slices
};

/// Stateless: judges an INIT for a listener and writes INIT ACK (or ABORT) into the sink. RFC
/// 9260 5.1, 5.2.2. The packet holds exactly one INIT chunk; nothing is kept. False: dropped by
/// name, nothing sent.
bool answer_init(Environment& env, const Packet& packet, TransmitSink& sink);

/// Out of the blue, RFC 9260 8.4: answers with ABORT or SHUTDOWN COMPLETE, or not at all. True:
/// something was sent.
bool answer_out_of_the_blue(Environment& env, const Packet& packet, TransmitSink& sink);

/// A cookie past its life for which there is no association: ERROR "stale cookie" to the peer
/// (HS-4).
bool answer_stale_cookie(Environment& env, const Packet& packet, const CookieContents& cookie,
                         TransmitSink& sink);

}  // namespace signalbox::sctp
