// SPDX-License-Identifier: Apache-2.0
// What a call into an association leaves for `core`: returned, never called back.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/numbers.h"

namespace signalbox::sctp {

struct Message {
    StreamId stream;
    Ssn ssn;
    Ppid ppid;
    bool unordered = false;
    std::span<const std::uint8_t>
        data;  // see the call that returned it for how long it stays valid
};

enum class Event : std::uint8_t {
    up,             // ESTABLISHED for the first time
    restarted,      // 5.2.4 case A: streams and queues start afresh
    paths_changed,  // remote addresses were added: index them
    path_down,      // path index in `path`
    path_up,
    path_potentially_failed,  // RFC 7829: data goes elsewhere, the path is probed
    primary_changed,          // RFC 7829 5: `path` is the primary from now on
    shutdown_begun,           // the peer wants to close: nothing more can be sent
    closed,                   // ended by SHUTDOWN; the association can be freed
    aborted,        // ended by ABORT, ours or the peer's (`cause` = first cause code or 0)
    lost,           // ended by a retransmission limit or guard timer
    remote_error,   // ERROR chunk, `cause` = first cause code
    streams_reset,  // RFC 6525: numbers begin anew; `path`: which, `cause`: how many (0: all)
    streams_added,  // RFC 6525; `path`: which, `cause`: how many
    reconfiguration_refused,  // our request; `cause` = result (RFC 6525 4.4)
    send_failed,  // messages were given up past their limits, `cause` = how many (RFC 3758)
};

/// `path` of streams_reset and streams_added.
inline constexpr std::uint8_t kOutgoingStreams = 0;
inline constexpr std::uint8_t kIncomingStreams = 1;
inline constexpr std::uint8_t kAllStreams = 2;  // both ways, TSNs too

struct EventRecord {
    Event event{};
    std::uint8_t path = 0;
    std::uint16_t cause = 0;  // RFC 9260 3.3.10 cause code
};

/// Fixed room; belongs to the worker, cleared by core before each call.
struct Effects {
    static constexpr std::size_t kMaxMessages =
        512;  // DATA chunks delivered straight from one packet
    static constexpr std::size_t kMaxEvents = 32;
    std::array<Message, kMaxMessages> messages;  // views into the received packet
    std::size_t message_count = 0;
    std::array<EventRecord, kMaxEvents> events;
    std::size_t event_count = 0;
    void clear() { message_count = event_count = 0; }
    void add(Event e, std::uint8_t path = 0, std::uint16_t cause = 0) {
        if (event_count < kMaxEvents) events[event_count++] = {e, path, cause};
    }
    std::span<const Message> delivered() const { return {messages.data(), message_count}; }
    std::span<const EventRecord> happened() const { return {events.data(), event_count}; }
};

}  // namespace signalbox::sctp
