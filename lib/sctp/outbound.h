// SPDX-License-Identifier: Apache-2.0
// The sending half: queue, outstanding chunks, SACK processing, congestion control. RFC
// 9260 6.1, 6.2.1, 6.3, 7.2.
//
//   send() --fragments--> queue_ --flush--> outstanding_ (TSN order, no holes) --cumulative
//   acknowledgement--> freed
//
// A message gets its number (SSN, MID) with its first TSN: one that is given up before (RFC 3758)
// leaves no hole in its stream, and one that waits for a stream reset (RFC 6525) starts at 0.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/prefetch.h"
#include "mem/paged_array.h"
#include "sctp/effects.h"
#include "sctp/environment.h"
#include "sctp/extensions.h"
#include "sctp/path.h"
#include "sctp/send_queue.h"
#include "wire/i_data.h"
#include "wire/sack.h"

namespace signalbox::sctp {

enum class SendStatus : std::uint8_t { ok, buffer_full, no_memory, bad_stream, too_long, not_open };

/// RFC 3758 4.1, RFC 7496: when to give a message up. The default is never.
struct Reliability {
    Duration lifetime{};                 // 0: no limit
    std::uint8_t max_retransmits = 255;  // of each of its chunks; 255: no limit
    bool limited() const { return lifetime != Duration::zero() || max_retransmits != 255; }
};

/// One DATA or I-DATA chunk to send; its user data follows in the block.
struct OutChunk {
    OutChunk* next = nullptr;
    Time expires = kNever;  // then it is not sent (again)
    Tsn tsn;
    Ppid ppid;
    Mid mid;  // an SSN is its low half; set with the TSN
    std::uint32_t fsn = 0;
    StreamId stream;
    std::uint16_t size = 0;
    std::uint8_t flags = 0;  // as on the wire
    std::uint8_t path = 0;   // sent on last
    std::uint8_t transmissions = 0;
    std::uint8_t max_retransmits = 255;
    std::uint8_t misses = 0;          // 7.2.4
    bool acked = false;               // by a gap block
    bool marked = false;              // to be sent again
    bool fast_retransmitted = false;  // at most once
    bool timed_out = false;           // the next transmission prefers another path
    bool abandoned = false;           // its message was given up: only FORWARD TSN speaks of it

    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    std::span<const std::uint8_t> payload() const {
        return {reinterpret_cast<const std::uint8_t*>(this + 1), size};
    }
    bool begin() const { return (flags & wire::Data::kBegin) != 0; }
    bool end() const { return (flags & wire::Data::kEnd) != 0; }
    bool unordered() const { return (flags & wire::Data::kUnordered) != 0; }
    bool in_flight() const { return !acked && !marked && !abandoned; }
    bool limited() const { return expires != kNever || max_retransmits != 255; }
    /// It may not be sent (again).
    bool over_limit(Time now) const {
        return expires <= now || (transmissions != 0 && transmissions > max_retransmits);
    }
};
inline constexpr std::uint32_t kMaxOutPayload = mem::BlockPool::kMaxBytes - sizeof(OutChunk);

enum class AckOutcome : std::uint8_t { applied, old, malformed, unsent };

/// Messages that wait for the answer to a stream reconfiguration (RFC 6525).
struct Held {
    enum class What : std::uint8_t { none, listed, all, new_streams };
    std::span<const std::uint8_t> list;  // streams, as on the wire
    OutChunk* head = nullptr;
    OutChunk* tail = nullptr;
    Time pause_until = kNever;
    std::uint32_t affected = 0;  // chunks of the streams, queued before and not freed yet
    std::uint16_t new_streams = 0;
    What what = What::none;
};

class Outbound {
 public:
    /// Takes no memory. release() comes first when it was started before.
    void start(Environment& env, Tsn initial);
    /// The peer is known: stream counts are (re)done (HS-10).
    void set_peer(Environment& env, std::uint16_t streams, std::uint32_t peer_window_bytes,
                  Extensions extensions);

    SendStatus enqueue(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                       std::span<const std::span<const std::uint8_t>> pieces,
                       std::uint32_t packet_bytes, const Reliability& reliability);

    /// DAT-4: judged whole, then applied.
    AckOutcome apply_sack(Environment& env, PathSet& paths, const wire::Sack& sack);
    /// The cumulative TSN of a SHUTDOWN: judged like a SACK, but says nothing about gaps and window
    /// (END-1).
    AckOutcome apply_shutdown(Environment& env, PathSet& paths, Tsn cumulative);
    /// T3 on a path: everything in flight there is to be sent again (6.3.3). True: it counts as a
    /// failure (DAT-6).
    bool time_out(Environment& env, PathSet& paths, std::size_t path);

    bool set_stream_value(Environment& env, StreamId stream, std::uint16_t value) {
        return queue_.set_value(env, stream, value);
    }

    // RFC 6525: held.cpp
    /// New messages of these streams (as on the wire; none: all) wait for release_held().
    void hold_streams(std::span<const std::uint8_t> streams);
    /// Messages for the next `count` streams are taken and wait.
    void hold_new_streams(Environment& env, std::uint16_t count);
    /// All that was queued of them before is acknowledged.
    bool held_streams_are_quiet() const { return held_->affected == 0; }
    void use(Held& held) { held_ = &held; }
    void release_held(Environment& env);
    void purge_held(Environment& env);  // reported as failed
    void reset_streams(Environment& env, std::span<const std::uint8_t> streams);  // none: all
    void set_streams(Environment& env, std::uint16_t streams);
    /// From now on a SACK may speak of TSNs that the peer chose and we do not know yet.
    void expect_restart() { restarted_ = true; }
    /// All numbers begin anew; nothing is outstanding.
    void restart_at(Environment& env, Tsn next);
    /// Begins no message until then; kNever: goes on.
    void pause(Time until) { held_->pause_until = until; }
    Time pause_deadline() const { return held_ != nullptr ? held_->pause_until : kNever; }
    bool between_messages() const { return head_ == nullptr && queue_.unfinished() == nullptr; }

    bool continue_stream(Environment& env, StreamId stream, Mid next);

    /// Next chunk to send again, after `from` (nullptr: the first); nullptr: none.
    OutChunk* marked_after(OutChunk* from) const;
    OutChunk* first_new() const {
        return pause_deadline() == kNever ? queue_.front() : queue_.unfinished();
    }
    /// Nothing but the chunk itself waits for its first transmission or to be sent again.
    bool is_last(const OutChunk& chunk) const {
        return chunk.marked ? marked_count_ == 1 && queue_.empty()
                            : marked_count_ == 0 && queue_.is_last(chunk);
    }
    /// Gives a chunk never sent before its TSN and its message's number; sent() has to follow, and
    /// may not when the chunk goes on with a message.
    void number(Environment& env, OutChunk& chunk);
    /// Bytes of the chunk in a packet.
    std::uint32_t wire_bytes(const OutChunk& chunk) const {
        return (overhead() + chunk.size + 3u) & ~3u;
    }
    bool interleaved() const { return extensions_.has(Extension::i_data); }
    /// The peer's window takes the chunk, or nothing is in flight and a probe is due (6.1 A).
    bool window_allows(const OutChunk& chunk, const PathSet& paths) const;
    /// Asks for a zero window probe after one RTO when new data waits for a closed window.
    void arm_probe(const Environment& env, const PathSet& paths);
    Time probe_deadline() const { return probe_deadline_; }
    void probe_now() { probe_deadline_ = kNever, probe_allowed_ = true; }
    /// The chunk was written for `path`: accounts, starts T3 and the RTT measurement.
    void sent(Environment& env, PathSet& paths, std::size_t path, OutChunk* chunk);

    /// RFC 3758 3.5: gives up what would be sent (again) past its limits.
    void give_up_due(Environment& env, PathSet& paths);
    bool forward_wanted() const { return forward_wanted_; }
    /// Appends FORWARD TSN or I-FORWARD-TSN and starts its timer; false: no room.
    bool write_forward(const Environment& env, wire::PacketWriter& out, const PathSet& paths);
    std::size_t forward_path() const { return forward_path_; }
    Time forward_deadline() const { return forward_deadline_; }
    void forward_again() { forward_deadline_ = kNever, forward_wanted_ = true; }
    /// Messages given up since the last call.
    std::uint32_t take_failures() { return std::exchange(failures_, 0u); }
    bool failures_wait() const { return failures_ != 0; }

    bool anything_marked() const { return marked_count_ != 0; }
    bool fast_retransmit_waits() const { return fast_pending_; }
    void fast_retransmit_done() { fast_pending_ = false; }
    /// Nothing queued or outstanding, and no FORWARD TSN owed.
    bool nothing_to_say() const {
        return drained() && !forward_wanted_ && probe_deadline_ == kNever;
    }
    bool drained() const {
        return queue_.empty() && head_ == nullptr && (held_ == nullptr || held_->head == nullptr);
    }
    std::uint32_t touched_paths() const {
        return touched_;
    }  // bit: the last acknowledgement named data sent there
    /// Since when the oldest queued message waits without progress; kNever: nothing is queued
    /// (DAT-6, D09).
    Time stalled_since() const { return drained() ? kNever : progress_at_; }
    /// The peer answered the last transmission, and its window is closed still.
    bool peer_consumes_nothing() const { return closed_and_answered_ && !drained(); }
    bool nothing_outstanding() const { return head_ == nullptr; }
    /// The TSN that the last message accepted so far has or will have; nullopt: more than `limit`
    /// chunks wait, or something may overtake them.
    std::optional<Tsn> last_tsn(std::uint32_t limit) const {
        const auto waiting =
            held_ == nullptr || held_->head == nullptr ? queue_.count(limit) : std::nullopt;
        return waiting ? std::optional(next_tsn_ + *waiting + ~std::uint32_t{0}) : std::nullopt;
    }
    bool acknowledged(Tsn tsn) const { return cumulative_ >= tsn; }
    std::uint32_t queued_bytes() const { return queued_bytes_; }
    std::uint32_t peer_window() const { return peer_window_; }
    std::uint16_t streams() const { return streams_; }
    Tsn next_tsn() const { return next_tsn_; }

    struct Taken {
        Message message;
        bool sent;
    };
    std::optional<Taken> take_back(Environment& env);
    std::size_t release(Environment& env, std::size_t max_blocks);
    bool holds_memory() const { return !drained() || paged_.pages() != 0 || queue_.holds_memory(); }
    bool is_consistent(const PathSet& paths) const;
    /// What each packet touches, received or sent, a page of streams aside.
    SIGNALBOX_ALWAYS_INLINE void prefetch() const { prefetch_lines(this, &paged_); }

 private:
    struct Acked {  // what one SACK did, by path
        std::array<std::uint32_t, kMaxPaths> bytes{};
        std::array<std::uint32_t, kMaxPaths> flight_before{};
        std::uint32_t touched = 0;  // bit: something sent on the path was newly acknowledged
        std::uint32_t earliest_touched = 0;  // bit: by the cumulative TSN
        Tsn highest_new;
        bool any_new = false;
        bool cumulative_moved = false;
    };
    OutChunk* make_fragment(Environment& env, const OutChunk& model,
                            std::span<const std::span<const std::uint8_t>> pieces,
                            std::size_t offset, std::size_t size);
    void free_chunk(Environment& env, OutChunk* chunk);
    std::uint32_t overhead() const {
        return interleaved() ? wire::IData::kOverhead : wire::Data::kOverhead;
    }
    struct Numbers {  // of the next messages; with DATA unordered ones have none
        Mid ordered;
        Mid unordered;
    };
    bool take_number_page(Environment& env, StreamId stream);
    void set_number(StreamId stream, bool unordered, Mid next);
    bool holds(StreamId stream) const;
    void resize(Environment& env, std::uint16_t streams);
    void place(OutChunk* chunk);  // after number(): from the queue behind all outstanding ones
    template <class Function>
    void take_outstanding(const OutChunk& one, Function append);
    void free_chain(Environment& env, OutChunk* first);
    void drop_queued(Environment& env, OutChunk* chunk);
    bool same_message(const OutChunk& a, const OutChunk& b) const;
    void give_up(PathSet& paths, OutChunk& chunk);
    void give_up_message(Environment& env, PathSet& paths, OutChunk* from, const OutChunk& one);
    void give_up_rest(Environment& env, StreamId stream);
    void give_up_unsent(Environment& env, PathSet& paths);
    void advance_point();
    void settle_forward();
    AckOutcome judge(const wire::Sack& sack) const;
    void newly_acked(Environment& env, PathSet& paths, OutChunk& chunk, Acked& acked);
    void take_cumulative(Environment& env, PathSet& paths, Tsn cumulative, Acked& acked);
    void take_gaps(Environment& env, PathSet& paths, const wire::Sack& sack, Acked& acked);
    void count_misses(Environment& env, PathSet& paths, Tsn gap_end, const Acked& acked);
    void mark(PathSet& paths, OutChunk& chunk);
    void grow_windows(Environment& env, PathSet& paths, const Acked& acked);
    void settle_timers(Environment& env, PathSet& paths, const Acked& acked);

    OutChunk* head_ = nullptr;  // outstanding
    OutChunk* tail_ = nullptr;
    Time probe_deadline_ = kNever;
    Time progress_at_{};  // the cumulative TSN moved, or the queue began to fill
    Time forward_deadline_ = kNever;
    Held* held_ = nullptr;  // the association's, when it may reset streams
    Tsn next_tsn_;
    Tsn advanced_;                // Advanced.Peer.Ack.Point (RFC 3758 3.5)
    std::uint32_t limited_ = 0;   // chunks that have a limit
    std::uint32_t failures_ = 0;  // messages given up and not reported yet
    Tsn cumulative_;
    Tsn recovery_exit_;
    std::uint32_t queued_bytes_ = 0;
    std::uint32_t peer_window_ = 0;  // what the peer may still take (6.2.1)
    std::uint32_t marked_count_ = 0;
    std::uint32_t touched_ = 0;
    std::uint32_t acked_this_turn_ = 0;  // bytes, on turn_path_: since there was time to send
    std::uint16_t streams_ = 0;
    bool in_recovery_ = false;
    bool fast_pending_ = false;  // first packet of a fast retransmission may exceed cwnd (7.2.4)
    bool probe_allowed_ = false;
    bool closed_and_answered_ = false;  // a SACK since the last time-out still says: window closed
    bool forward_wanted_ = false;
    bool restarted_ = false;  // TSNs begin anew, and none of them is acknowledged yet
    Extensions extensions_;
    std::uint8_t forward_path_ = 0;  // where FORWARD TSN went
    std::uint8_t turn_path_ = 0;
    SendQueue queue_;
    std::array<Ssn, kInlineStreams>
        inline_;                      // numbers of the next messages of DATA's first streams
    mem::PagedArray<Numbers> paged_;  // of the others; with I-DATA of all
};

}  // namespace signalbox::sctp
