// SPDX-License-Identifier: Apache-2.0
// What an acknowledgement does: RFC 9260 6.2.1, 6.3.2, 7.2.
#include <algorithm>

#include "sctp/outbound.h"

namespace signalbox::sctp {

AckOutcome Outbound::judge(const wire::Sack& sack) const {
    if (sack.cumulative_tsn >= next_tsn_)  // after a TSN reset it may be one of the old numbering
        return restarted_ ? AckOutcome::old : AckOutcome::unsent;
    if (sack.cumulative_tsn < cumulative_) return AckOutcome::old;  // 6.2.1 D i
    std::uint32_t previous_end = 0;
    for (std::size_t i = 0; i < sack.gap_count(); ++i) {
        const wire::GapBlock block = sack.gap(i);
        if (block.start == 0 || block.end < block.start || block.start <= previous_end)
            return AckOutcome::malformed;
        previous_end = block.end;
    }
    if (sack.cumulative_tsn + previous_end >= next_tsn_) return AckOutcome::unsent;
    return AckOutcome::applied;
}

void Outbound::newly_acked(Environment& env, PathSet& paths, OutChunk& chunk, Acked& acked) {
    Path& path = paths[chunk.path];
    if (chunk.marked) {
        chunk.marked = false;
        --marked_count_;
    } else {
        path.flight_bytes -= chunk.size;
    }
    acked.bytes[chunk.path] += chunk.size;
    acked.touched |= 1u << chunk.path;
    if (!acked.any_new || chunk.tsn > acked.highest_new) acked.highest_new = chunk.tsn;
    acked.any_new = true;
    if (path.rtt_pending && path.rtt_tsn == chunk.tsn) {
        path.rtt_pending = false;
        if (chunk.transmissions == 1) path.measured(env.profile, env.now - path.rtt_sent_at);
    }
}

void Outbound::take_cumulative(Environment& env, PathSet& paths, Tsn cumulative, Acked& acked) {
    while (head_ != nullptr && head_->tsn <= cumulative) {
        OutChunk* chunk = head_;
        if (chunk->abandoned)
            acked.touched |= 1u << forward_path_;  // the peer answers FORWARD TSN
        else if (!chunk->acked)
            newly_acked(env, paths, *chunk, acked);
        acked.earliest_touched |= 1u << chunk->path;
        acked.cumulative_moved = true;
        restarted_ = false;
        progress_at_ = env.now;
        head_ = chunk->next;
        if (head_ == nullptr) tail_ = nullptr;
        queued_bytes_ -= chunk->size;
        free_chunk(env, chunk);
    }
    cumulative_ = cumulative;
}

void Outbound::take_gaps(Environment& env, PathSet& paths, const wire::Sack& sack, Acked& acked) {
    std::size_t block = 0;
    for (OutChunk* chunk = head_; chunk != nullptr; chunk = chunk->next) {
        const auto offset = static_cast<std::uint32_t>(chunk->tsn - sack.cumulative_tsn);
        while (block < sack.gap_count() && sack.gap(block).end < offset) ++block;
        const bool covered = block < sack.gap_count() && sack.gap(block).start <= offset;
        if (chunk->abandoned) continue;
        if (covered && !chunk->acked) {
            newly_acked(env, paths, *chunk, acked);
            chunk->acked = true;
        } else if (!covered && chunk->acked) {  // the peer took it back: 6.2.1 D iii
            chunk->acked = false;
            paths[chunk->path].flight_bytes += chunk->size;
            mark(paths, *chunk);
        }
    }
}

/// 7.2.4: the third report that a chunk is missing sends it again.
void Outbound::count_misses(Environment& env, PathSet& paths, Tsn gap_end, const Acked& acked) {
    Tsn limit = acked.highest_new;  // HTNA
    if (in_recovery_ && acked.cumulative_moved)
        limit = gap_end;
    else if (!acked.any_new)
        return;
    std::uint32_t lossy = 0;
    for (OutChunk* chunk = head_; chunk != nullptr && chunk->tsn < limit; chunk = chunk->next) {
        if (!chunk->in_flight() || chunk->fast_retransmitted) continue;
        if (++chunk->misses < 3) continue;
        lossy |= 1u << chunk->path;
        chunk->fast_retransmitted = true;
        mark(paths, *chunk);
    }
    if (lossy == 0 || in_recovery_) return;
    in_recovery_ = fast_pending_ = true;
    recovery_exit_ = next_tsn_ - 1u;
    env.counters.add(Count::tx_fast_retransmits);
    for (std::size_t i = 0; i < paths.size(); ++i)
        if ((lossy >> i & 1) != 0) paths[i].window_after_loss();
}

void Outbound::grow_windows(Environment& env, PathSet& paths, const Acked& acked) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
        Path& path = paths[i];
        const std::uint32_t segment = path.packet_bytes() - kCommonHeaderBytes;
        // No whole packet more would have fit when there was time to send: a burst brings several
        // SACKs before that.
        const std::uint32_t before =
            acked.flight_before[i] + (i == turn_path_ ? acked_this_turn_ : 0);
        const bool full = before + segment > path.cwnd_bytes;
        if (acked.bytes[i] != 0 && acked.cumulative_moved && !in_recovery_) {
            if (path.cwnd_bytes <= path.ssthresh_bytes) {  // 7.2.1
                if (full) path.cwnd_bytes += std::min(acked.bytes[i], segment);
            } else {  // 7.2.2
                path.partial_bytes_acked += acked.bytes[i];
                if (path.partial_bytes_acked >= path.cwnd_bytes) {
                    if (full) {
                        path.partial_bytes_acked -= path.cwnd_bytes;
                        path.cwnd_bytes += segment;
                    } else {
                        path.partial_bytes_acked = path.cwnd_bytes;
                    }
                }
            }
        }
        path.cwnd_bytes =
            std::min(path.cwnd_bytes, env.profile.send_buffer_bytes + segment);  // S03
        if (path.flight_bytes == 0) path.partial_bytes_acked = 0;
        if (acked.bytes[i] == 0) continue;
        if (i != turn_path_) acked_this_turn_ = 0;
        turn_path_ = static_cast<std::uint8_t>(i);
        acked_this_turn_ += acked.bytes[i];
    }
}

/// 6.3.2 R2, R3 and DAT-2.
void Outbound::settle_timers(Environment& env, PathSet& paths, const Acked& acked) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
        Path& path = paths[i];
        if (path.flight_bytes == 0)
            path.t3 = kNever;
        else if ((acked.earliest_touched >> i & 1) != 0 || path.t3 == kNever)
            path.start_t3(env.now);
    }
}

AckOutcome Outbound::apply_sack(Environment& env, PathSet& paths, const wire::Sack& sack) {
    if (const AckOutcome judged = judge(sack); judged != AckOutcome::applied) return judged;
    if (progress_at_ != env.now) acked_this_turn_ = 0;
    Acked acked;
    for (std::size_t i = 0; i < paths.size(); ++i) acked.flight_before[i] = paths[i].flight_bytes;
    take_cumulative(env, paths, sack.cumulative_tsn, acked);
    take_gaps(env, paths, sack, acked);
    Tsn gap_end = cumulative_;
    if (sack.gap_count() != 0) {
        gap_end = cumulative_ + sack.gap(sack.gap_count() - 1).end;
        count_misses(env, paths, gap_end, acked);
    }
    if (in_recovery_ && cumulative_ >= recovery_exit_) in_recovery_ = fast_pending_ = false;
    grow_windows(env, paths, acked);
    settle_timers(env, paths, acked);
    settle_forward();
    const std::uint32_t flight = paths.flight_bytes();
    peer_window_ = sack.a_rwnd_bytes > flight ? sack.a_rwnd_bytes - flight : 0;
    if (acked.any_new) probe_allowed_ = false;
    closed_and_answered_ = sack.a_rwnd_bytes == 0;
    if (peer_window_ != 0) probe_deadline_ = kNever;
    touched_ = acked.touched;
    return AckOutcome::applied;
}

AckOutcome Outbound::apply_shutdown(Environment& env, PathSet& paths, Tsn cumulative) {
    const wire::Sack sack{cumulative, 0, {}, {}};
    if (const AckOutcome judged = judge(sack); judged != AckOutcome::applied) return judged;
    if (progress_at_ != env.now) acked_this_turn_ = 0;
    Acked acked;
    for (std::size_t i = 0; i < paths.size(); ++i) acked.flight_before[i] = paths[i].flight_bytes;
    take_cumulative(env, paths, cumulative, acked);
    grow_windows(env, paths, acked);
    settle_timers(env, paths, acked);
    settle_forward();
    touched_ = acked.touched;
    return AckOutcome::applied;
}

}  // namespace signalbox::sctp
