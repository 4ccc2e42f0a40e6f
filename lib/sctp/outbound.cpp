// SPDX-License-Identifier: Apache-2.0
// Queue and transmission. What a SACK does is in sack_processing.cpp.
#include "sctp/outbound.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "wire/data.h"

namespace signalbox::sctp {

void Outbound::start(Environment& env, Tsn initial, std::uint16_t streams,
                     std::uint32_t peer_window_bytes) {
    *this = Outbound{};
    next_tsn_ = initial;
    cumulative_ = initial - 1u;
    set_peer(env, streams, peer_window_bytes);
}

void Outbound::set_peer(Environment& env, std::uint16_t streams, std::uint32_t peer_window_bytes) {
    streams_ = streams;
    paged_.resize(env.pages, streams > kInlineStreams ? streams - kInlineStreams : 0);
    peer_window_ = peer_window_bytes;
}

OutChunk* Outbound::make_fragment(Environment& env,
                                  std::span<const std::span<const std::uint8_t>> pieces,
                                  std::size_t offset, std::size_t size) {
    void* block = env.blocks.take(sizeof(OutChunk) + size);
    if (block == nullptr) return nullptr;
    auto* chunk = new (block) OutChunk;
    chunk->size = static_cast<std::uint16_t>(size);
    std::uint8_t* to = chunk->bytes();
    for (const auto& piece : pieces) {
        if (offset >= piece.size()) {
            offset -= piece.size();
            continue;
        }
        const std::size_t n = std::min(piece.size() - offset, size);
        std::memcpy(to, piece.data() + offset, n);
        to += n;
        size -= n;
        offset = 0;
        if (size == 0) break;
    }
    return chunk;
}

void Outbound::free_chunk(Environment& env, OutChunk* chunk) {
    env.blocks.give(chunk, sizeof(OutChunk) + chunk->size);
}

SendStatus Outbound::enqueue(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                             std::span<const std::span<const std::uint8_t>> pieces,
                             std::uint32_t packet_bytes) {
    if (stream.value >= streams_) return SendStatus::bad_stream;  // HS-10: judged at each message
    std::size_t total = 0;
    for (const auto& piece : pieces) total += piece.size();
    if (total == 0 || total > kMaxMessageBytes) return SendStatus::too_long;
    if (queued_bytes_ + total > env.profile.send_buffer_bytes) return SendStatus::buffer_full;
    Ssn* ssn = stream.value < kInlineStreams ? &inline_[stream.value]
                                             : paged_.at(env.pages, stream.value - kInlineStreams);
    if (ssn == nullptr) return SendStatus::no_memory;

    const std::size_t room = std::min<std::size_t>(
        (packet_bytes - kCommonHeaderBytes - wire::Data::kOverhead) & ~3u, kMaxOutPayload);
    OutChunk* first = nullptr;
    OutChunk* last = nullptr;
    for (std::size_t at = 0; at < total;) {
        const std::size_t n = std::min(total - at, room);
        OutChunk* chunk = make_fragment(env, pieces, at, n);
        if (chunk == nullptr) {  // all or nothing
            while (first != nullptr) {
                OutChunk* next = first->next;
                free_chunk(env, first);
                first = next;
            }
            return SendStatus::no_memory;
        }
        chunk->stream = stream;
        chunk->ppid = ppid;
        if (!unordered) chunk->ssn = *ssn;
        chunk->flags = static_cast<std::uint8_t>((unordered ? wire::Data::kUnordered : 0) |
                                                 (at == 0 ? wire::Data::kBegin : 0) |
                                                 (at + n == total ? wire::Data::kEnd : 0));
        (last != nullptr ? last->next : first) = chunk;
        last = chunk;
        at += n;
    }
    if (!unordered) ++*ssn;
    if (drained()) progress_at_ = env.now;
    (queue_tail_ != nullptr ? queue_tail_->next : queue_head_) = first;
    queue_tail_ = last;
    queued_bytes_ += static_cast<std::uint32_t>(total);
    env.counters.add(Count::tx_messages);
    return SendStatus::ok;
}

OutChunk* Outbound::marked_after(OutChunk* from) const {
    if (marked_count_ == 0) return nullptr;
    OutChunk* chunk = from != nullptr ? from->next : head_;
    while (chunk != nullptr && !chunk->marked) chunk = chunk->next;
    return chunk;
}

bool Outbound::window_allows(const OutChunk& chunk, const PathSet& paths) const {
    if (chunk.size <= peer_window_) return true;
    if (paths.flight_bytes() != 0) return false;
    // 6.1 A: one chunk may always be in flight; into a closed window only when its time has come.
    return chunk.marked || probe_allowed_ || peer_window_ != 0;
}

void Outbound::arm_probe(const Environment& env, const PathSet& paths) {
    const bool wanted = queue_head_ != nullptr && marked_count_ == 0 && !probe_allowed_ &&
                        peer_window_ == 0 && paths.flight_bytes() == 0;
    if (!wanted)
        probe_deadline_ = kNever;
    else if (probe_deadline_ == kNever)
        probe_deadline_ = env.now + paths[paths.for_data()].rto;
}

void Outbound::sent(Environment& env, PathSet& paths, std::size_t path_index, OutChunk* chunk) {
    Path& path = paths[path_index];
    const bool again = chunk->marked;
    if (again) {
        chunk->marked = false;
        --marked_count_;
        env.counters.add(Count::tx_retransmitted_chunks);
    } else {
        queue_head_ = chunk->next;
        if (queue_head_ == nullptr) queue_tail_ = nullptr;
        chunk->next = nullptr;
        chunk->tsn = next_tsn_;
        ++next_tsn_;
        (tail_ != nullptr ? tail_->next : head_) = chunk;
        tail_ = chunk;
        if (!path.rtt_pending) {  // 6.3.1 C4: one measurement a round trip; C5: Karn
            path.rtt_pending = true;
            path.rtt_tsn = chunk->tsn;
            path.rtt_sent_at = env.now;
        }
    }
    env.counters.add(Count::tx_data_chunks);
    path.last_sent_at = env.now;
    probe_allowed_ = false;
    chunk->path = static_cast<std::uint8_t>(path_index);
    chunk->timed_out = false;
    chunk->misses = 0;
    if (chunk->transmissions < 255) ++chunk->transmissions;
    path.flight_bytes += chunk->size;
    peer_window_ -= std::min<std::uint32_t>(peer_window_, chunk->size);
    if (path.t3 == kNever || (again && chunk == head_)) path.start_t3(env.now);  // 6.3.2 R1
    if (!again && path.usable_for_data() && path.hb_timeout == kNever)
        path.hb_due = env.now + path.hb_period;  // not idle
}

void Outbound::mark(PathSet& paths, OutChunk& chunk) {
    Path& path = paths[chunk.path];
    path.flight_bytes -= chunk.size;
    peer_window_ += chunk.size;  // 6.2.1 C
    chunk.marked = true;
    chunk.acked = false;
    ++marked_count_;
    if (path.rtt_pending && path.rtt_tsn == chunk.tsn) path.rtt_pending = false;
}

bool Outbound::time_out(Environment& env, PathSet& paths, std::size_t index) {
    Path& path = paths[index];
    path.t3 = kNever;
    env.counters.add(Count::t3_expiries);
    path.window_after_timeout(env.profile);
    path.back_off(env.profile);
    path.rtt_pending = false;
    for (OutChunk* chunk = head_; chunk != nullptr; chunk = chunk->next) {
        if (!chunk->in_flight() || chunk->path != index) continue;
        mark(paths, *chunk);
        chunk->timed_out = true;
    }
    in_recovery_ = fast_pending_ = false;  // 7.2.4: a time-out ends it
    const bool counts = !closed_and_answered_;
    closed_and_answered_ = false;
    return counts;
}

std::optional<Outbound::Taken> Outbound::take_back(Environment& env) {
    std::size_t at = 0;
    Message message;
    bool was_sent = false;
    bool open = false;
    for (;;) {
        const bool outstanding = head_ != nullptr;
        OutChunk* chunk = outstanding ? head_ : queue_head_;
        if (chunk == nullptr) return std::nullopt;
        if ((chunk->flags & wire::Data::kBegin) != 0) {
            message = {chunk->stream,
                       chunk->ssn,
                       chunk->ppid,
                       (chunk->flags & wire::Data::kUnordered) != 0,
                       {}};
            open = true;
            was_sent = outstanding;
            at = 0;
        }
        if (open && at + chunk->size <= env.scratch.size()) {
            std::memcpy(env.scratch.data() + at, chunk->bytes(), chunk->size);
            at += chunk->size;
        }
        const bool end = (chunk->flags & wire::Data::kEnd) != 0;
        (outstanding ? head_ : queue_head_) = chunk->next;
        if (outstanding && head_ == nullptr) tail_ = nullptr;
        if (!outstanding && queue_head_ == nullptr) queue_tail_ = nullptr;
        if (chunk->marked) --marked_count_;
        queued_bytes_ -= chunk->size;
        free_chunk(env, chunk);
        // A gap block is advice (RFC 9260 6.2): behind a hole the peer's user may have got
        // nothing, so it comes back too.
        if (!end) continue;
        if (open) {
            message.data = env.scratch.first(at);
            return Taken{message, was_sent};
        }
        env.counters.drop(Drop::association_lost);  // its beginning was acknowledged and is gone
    }
}

std::size_t Outbound::release(Environment& env, std::size_t max_blocks) {
    std::size_t freed = 0;
    for (OutChunk** list : {&head_, &queue_head_})
        while (*list != nullptr && freed < max_blocks) {
            OutChunk* next = (*list)->next;
            free_chunk(env, *list);
            *list = next;
            ++freed;
        }
    if (freed < max_blocks) {
        const std::size_t pages = paged_.pages();
        if (pages != 0) paged_.release(env.pages, max_blocks - freed);
        freed += pages - paged_.pages();
    }
    if (head_ == nullptr) tail_ = nullptr;
    if (queue_head_ == nullptr) {
        queue_tail_ = nullptr;
        if (head_ == nullptr) queued_bytes_ = marked_count_ = 0;
    }
    return freed;
}

bool Outbound::is_consistent(const PathSet& paths) const {
    std::array<std::uint32_t, kMaxPaths> flight{};
    std::uint32_t queued = 0;
    std::uint32_t marked = 0;
    Tsn expected = cumulative_ + 1u;
    for (const OutChunk* c = head_; c != nullptr; c = c->next) {
        if (c->tsn != expected) return false;
        ++expected;
        queued += c->size;
        if (c->marked) ++marked;
        if (c->in_flight()) flight[c->path] += c->size;
    }
    if (expected != next_tsn_) return false;
    for (const OutChunk* c = queue_head_; c != nullptr; c = c->next) queued += c->size;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (flight[i] != paths[i].flight_bytes) return false;
        if (flight[i] != 0 && paths[i].t3 == kNever) return false;  // DAT-2
    }
    return queued == queued_bytes_ && marked == marked_count_;
}

}  // namespace signalbox::sctp
