// SPDX-License-Identifier: Apache-2.0
// One SCTP association, RFC 9260, pure: bytes in, bytes out, time and randomness passed in.
//
// Lifetime: create in place with accept() (server, from a valid COOKIE ECHO) or connect() (client), feed with
// receive(), advance() at next_deadline(), write with flush(), read with the returned Effects and ready messages; after
// Event closed/aborted/lost flush() once more (a last ABORT or SHUTDOWN COMPLETE may wait), then release() in slices.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/time.h"
#include "sctp/cookie.h"
#include "sctp/effects.h"
#include "sctp/environment.h"
#include "sctp/packet.h"
#include "sctp/transmit_sink.h"

namespace signalbox::sctp {

inline constexpr std::size_t kMaxRemoteAddresses = 16;  // more in an INIT: refused (sctp.md PKT-8)
inline constexpr std::size_t kMaxLocalAddresses = 8;

enum class State : std::uint8_t {  // RFC 9260 4
    closed, cookie_wait, cookie_echoed, established,
    shutdown_pending, shutdown_sent, shutdown_received, shutdown_ack_sent,
};

enum class SendStatus : std::uint8_t { ok, buffer_full, no_memory, bad_stream, too_long, not_open };

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
    Duration rto{};
    Duration srtt{};
};

class Association {
 public:
    /// Client: begins the handshake; INIT leaves with the next flush(). `remotes`: configured addresses, primary first.
    bool connect(Environment& env, std::span<const IpAddress> remotes, std::uint16_t local_port,
                 std::uint16_t remote_port);
    /// Server: takes the state from an authenticated cookie; the COOKIE ECHO's packet must be given to receive() next.
    bool accept(Environment& env, const CookieContents& cookie);

    /// One packet for this association (found by address and ports; the tag is judged here).
    void receive(Environment& env, const Packet& packet, Effects& effects);
    /// Timers due at env.now.
    void advance(Environment& env, Effects& effects);
    /// Writes what may be sent now: control first, SACK, then as many DATA as windows and MTU allow. At most
    /// `max_packets`; returns true when more waits (call again next turn).
    bool flush(Environment& env, TransmitSink& sink, std::size_t max_packets = 64);
    Time next_deadline() const;  // kNever when no timer runs

    /// Queues one user message given in pieces (copied once). All or nothing.
    SendStatus send(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                    std::span<const std::span<const std::uint8_t>> pieces);
    void shutdown(Environment& env);
    void abort(Environment& env, std::uint16_t cause, Effects& effects);  // cause 12: user initiated

    /// A message of effects.delivered() that core cannot route now: kept, charged to the receive window, first in order.
    /// While messages are held receive() delivers nothing directly. False: no memory (the caller counts the loss).
    bool hold(Environment& env, const Message& message);
    /// The oldest message ready for delivery that was not delivered from a packet; valid until pop_ready() or the next
    /// call. Held, reassembled and formerly out-of-order messages come this way.
    std::optional<Message> front_ready(Environment& env);
    void pop_ready(Environment& env);

    /// DAT-11: messages not acknowledged, oldest first, one per call, after the association ended. `sent`: it was on the
    /// wire at least once. nullopt: no more. Valid until the next call.
    struct Unsent { Message message; bool sent; };
    std::optional<Unsent> take_back(Environment& env);

    /// Frees memory, at most `max_blocks` at a time; true when done. (STR-3)
    bool release(Environment& env, std::size_t max_blocks);

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
    std::uint32_t queued_bytes() const;       // unsent + unacknowledged user data
    std::uint32_t receive_window() const;     // what a SACK would advertise now
    std::uint32_t ready_bytes() const;
    bool is_consistent() const;               // style rule 7; DAT-2 among them

#include "sctp/association_state.inc"  // private data members, owned by the implementation
};

/// Stateless: judges an INIT for a listener and writes INIT ACK (or ABORT) into the sink. RFC 9260 5.1, 5.2.2.
/// The packet holds exactly one INIT chunk; nothing is kept. False: dropped by name, nothing sent.
bool answer_init(Environment& env, const Packet& packet, TransmitSink& sink);

/// Out of the blue, RFC 9260 8.4: answers with ABORT or SHUTDOWN COMPLETE, or not at all. True: something was sent.
bool answer_out_of_the_blue(Environment& env, const Packet& packet, TransmitSink& sink);

}  // namespace signalbox::sctp
