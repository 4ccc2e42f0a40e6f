// SPDX-License-Identifier: Apache-2.0
// The sending half: queue, outstanding chunks, SACK processing, congestion control. RFC
// 9260 6.1, 6.2.1, 6.3, 7.2.
//
//   send() --fragments--> queue_ --flush--> outstanding_ (TSN order, no holes) --cumulative
//   acknowledgement--> freed
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "mem/paged_array.h"
#include "sctp/effects.h"
#include "sctp/environment.h"
#include "sctp/path.h"
#include "wire/sack.h"

namespace signalbox::sctp {

enum class SendStatus : std::uint8_t { ok, buffer_full, no_memory, bad_stream, too_long, not_open };

/// One DATA chunk to send; its user data follows in the block.
struct OutChunk {
    OutChunk* next = nullptr;
    Tsn tsn;
    Ppid ppid;
    StreamId stream;
    Ssn ssn;
    std::uint16_t size = 0;
    std::uint8_t flags = 0;  // as on the wire
    std::uint8_t path = 0;   // sent on last
    std::uint8_t transmissions = 0;
    std::uint8_t misses = 0;          // 7.2.4
    bool acked = false;               // by a gap block
    bool marked = false;              // to be sent again
    bool fast_retransmitted = false;  // at most once
    bool timed_out = false;           // the next transmission prefers another path

    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    std::span<const std::uint8_t> payload() const {
        return {reinterpret_cast<const std::uint8_t*>(this + 1), size};
    }
    std::uint32_t wire_bytes() const { return (16u + size + 3u) & ~3u; }
    bool in_flight() const { return !acked && !marked; }
};
inline constexpr std::uint32_t kMaxOutPayload = mem::BlockPool::kMaxBytes - sizeof(OutChunk);

enum class AckOutcome : std::uint8_t { applied, old, malformed, unsent };

class Outbound {
 public:
    /// Takes no memory. release() comes first when it was started before.
    void start(Environment& env, Tsn initial, std::uint16_t streams,
               std::uint32_t peer_window_bytes);
    /// INIT ACK came: what is queued stays, stream counts are redone (HS-10).
    void set_peer(Environment& env, std::uint16_t streams, std::uint32_t peer_window_bytes);

    SendStatus enqueue(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                       std::span<const std::span<const std::uint8_t>> pieces,
                       std::uint32_t packet_bytes);

    /// DAT-4: judged whole, then applied.
    AckOutcome apply_sack(Environment& env, PathSet& paths, const wire::Sack& sack);
    /// The cumulative TSN of a SHUTDOWN: judged like a SACK, but says nothing about gaps and window
    /// (END-1).
    AckOutcome apply_shutdown(Environment& env, PathSet& paths, Tsn cumulative);
    /// T3 on a path: everything in flight there is to be sent again (6.3.3). True: it counts as a
    /// failure (DAT-6).
    bool time_out(Environment& env, PathSet& paths, std::size_t path);

    /// Next chunk to send again, after `from` (nullptr: the first); nullptr: none.
    OutChunk* marked_after(OutChunk* from) const;
    OutChunk* first_new() const { return queue_head_; }
    /// The peer's window takes the chunk, or nothing is in flight and a probe is due (6.1 A).
    bool window_allows(const OutChunk& chunk, const PathSet& paths) const;
    /// Asks for a zero window probe after one RTO when new data waits for a closed window.
    void arm_probe(const Environment& env, const PathSet& paths);
    Time probe_deadline() const { return probe_deadline_; }
    void probe_now() { probe_deadline_ = kNever, probe_allowed_ = true; }
    /// The chunk was written for `path`: accounts, starts T3 and the RTT measurement.
    void sent(Environment& env, PathSet& paths, std::size_t path, OutChunk* chunk);

    bool anything_marked() const { return marked_count_ != 0; }
    bool fast_retransmit_waits() const { return fast_pending_; }
    void fast_retransmit_done() { fast_pending_ = false; }
    bool drained() const { return queue_head_ == nullptr && head_ == nullptr; }
    std::uint32_t touched_paths() const {
        return touched_;
    }  // bit: the last acknowledgement named data sent there
    /// Since when the oldest queued message waits without progress; kNever: nothing is queued
    /// (DAT-6, D09).
    Time stalled_since() const { return drained() ? kNever : progress_at_; }
    bool nothing_outstanding() const { return head_ == nullptr; }
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
    bool is_consistent(const PathSet& paths) const;

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
    OutChunk* make_fragment(Environment& env, std::span<const std::span<const std::uint8_t>> pieces,
                            std::size_t offset, std::size_t size);
    void free_chunk(Environment& env, OutChunk* chunk);
    AckOutcome judge(const wire::Sack& sack) const;
    void newly_acked(Environment& env, PathSet& paths, OutChunk& chunk, Acked& acked);
    void take_cumulative(Environment& env, PathSet& paths, Tsn cumulative, Acked& acked);
    void take_gaps(Environment& env, PathSet& paths, const wire::Sack& sack, Acked& acked);
    void count_misses(Environment& env, PathSet& paths, Tsn gap_end, const Acked& acked);
    void mark(PathSet& paths, OutChunk& chunk);
    void grow_windows(Environment& env, PathSet& paths, const Acked& acked);
    void settle_timers(Environment& env, PathSet& paths, const Acked& acked);

    OutChunk* queue_head_ = nullptr;
    OutChunk* queue_tail_ = nullptr;
    OutChunk* head_ = nullptr;  // outstanding
    OutChunk* tail_ = nullptr;
    Time probe_deadline_ = kNever;
    Time progress_at_{};  // the cumulative TSN moved, or the queue began to fill
    Tsn next_tsn_;
    Tsn cumulative_;
    Tsn recovery_exit_;
    std::uint32_t queued_bytes_ = 0;
    std::uint32_t peer_window_ = 0;  // what the peer may still take (6.2.1)
    std::uint32_t marked_count_ = 0;
    std::uint32_t touched_ = 0;
    std::uint16_t streams_ = 0;
    bool in_recovery_ = false;
    bool fast_pending_ = false;  // first packet of a fast retransmission may exceed cwnd (7.2.4)
    bool probe_allowed_ = false;
    bool closed_and_answered_ = false;  // a SACK since the last time-out still says: window closed
    std::array<Ssn, kInlineStreams> inline_;
    mem::PagedArray<Ssn> paged_;
};

}  // namespace signalbox::sctp
