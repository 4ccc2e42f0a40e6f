// SPDX-License-Identifier: Apache-2.0
// Queue and transmission. What a SACK does is in sack_processing.cpp.
#include "sctp/outbound.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "wire/data.h"

namespace signalbox::sctp {

void Outbound::start(Environment&, Tsn initial) {
    *this = Outbound{};
    next_tsn_ = initial;
    cumulative_ = advanced_ = initial - 1u;
}

void Outbound::set_peer(Environment& env, std::uint16_t streams, std::uint32_t peer_window_bytes,
                        Extensions extensions) {
    extensions_ = extensions;
    queue_.start(env, env.profile.scheduler, interleaved());
    set_streams(env, streams);
    peer_window_ = peer_window_bytes;
}

/// So that number() finds its page. False: refused.
bool Outbound::take_number_page(Environment& env, StreamId stream) {
    env.counters.add(Count::stream_lookups);
    if (!interleaved() && stream.value < kInlineStreams) return true;
    return paged_.at(env.pages, stream.value) != nullptr;
}

void Outbound::set_number(StreamId stream, bool unordered, Mid next) {
    if (!interleaved() && stream.value < kInlineStreams)
        inline_[stream.value] = {static_cast<std::uint16_t>(next.value)};
    else if (Numbers* numbers = paged_.find(stream.value))
        (unordered ? numbers->unordered : numbers->ordered) = next;
}

bool Outbound::continue_stream(Environment& env, StreamId stream, Mid next) {
    if (stream.value >= streams_ || !take_number_page(env, stream)) return false;
    set_number(stream, false, next);
    return true;
}

/// STR-1: the stream is looked up once.
void Outbound::number(Environment& env, OutChunk& chunk) {
    chunk.tsn = next_tsn_;
    if (chunk.unordered() && !interleaved()) return;  // 3.3.1: its SSN says nothing
    env.counters.add(Count::stream_lookups);
    const std::uint32_t drawn = chunk.begin() ? 1 : 0;
    if (!interleaved() && chunk.stream.value < kInlineStreams) {
        Ssn& next = inline_[chunk.stream.value];
        next = next + static_cast<std::uint16_t>(drawn);
        chunk.mid = Mid{next.value} - 1u;
    } else if (Numbers* numbers = paged_.find(chunk.stream.value)) {
        Mid& next = chunk.unordered() ? numbers->unordered : numbers->ordered;
        next = next + drawn;
        chunk.mid = next - 1u;
    }
}

OutChunk* Outbound::make_fragment(Environment& env, const OutChunk& model,
                                  std::span<const std::span<const std::uint8_t>> pieces,
                                  std::size_t offset, std::size_t size) {
    void* block = env.blocks.take(sizeof(OutChunk) + size);
    if (block == nullptr) return nullptr;
    auto* chunk = new (block) OutChunk{model};
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

void Outbound::free_chain(Environment& env, OutChunk* first) {
    while (first != nullptr) {
        OutChunk* next = first->next;
        env.blocks.give(first, sizeof(OutChunk) + first->size);
        first = next;
    }
}

void Outbound::free_chunk(Environment& env, OutChunk* chunk) {
    if (chunk->limited()) --limited_;
    if (held_ != nullptr && held_->affected != 0 && holds(chunk->stream)) --held_->affected;
    env.blocks.give(chunk, sizeof(OutChunk) + chunk->size);
}

SendStatus Outbound::enqueue(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                             std::span<const std::span<const std::uint8_t>> pieces,
                             std::uint32_t packet_bytes, const Reliability& reliability) {
    const bool grows = held_ != nullptr && held_->what == Held::What::new_streams;
    if (stream.value >= streams_ + (grows ? held_->new_streams : 0))
        return SendStatus::bad_stream;  // HS-10: judged at each message
    std::size_t total = 0;
    for (const auto& piece : pieces) total += piece.size();
    if (total == 0 || total > kMaxMessageBytes) return SendStatus::too_long;
    if (queued_bytes_ + total + env.kept_send_bytes > env.profile.send_buffer_bytes)
        return SendStatus::buffer_full;
    if (!take_number_page(env, stream)) return SendStatus::no_memory;

    const std::size_t room = std::min<std::size_t>(
        (packet_bytes - kCommonHeaderBytes - overhead()) & ~3u, kMaxOutPayload);
    OutChunk model;
    model.stream = stream;
    model.ppid = ppid;
    model.flags = unordered ? wire::Data::kUnordered : std::uint8_t{0};
    if (reliability.limited() && extensions_.partial_reliability()) {
        if (reliability.lifetime != Duration::zero())
            model.expires = env.now + reliability.lifetime;
        model.max_retransmits = reliability.max_retransmits;
    }
    OutChunk* first = nullptr;
    OutChunk* last = nullptr;
    for (std::size_t at = 0; at < total; ++model.fsn) {
        const std::size_t n = std::min(total - at, room);
        OutChunk* chunk = make_fragment(env, model, pieces, at, n);
        if (chunk == nullptr) {  // all or nothing
            free_chain(env, first);
            return SendStatus::no_memory;
        }
        if (at == 0) chunk->flags |= wire::Data::kBegin;
        if (at + n == total) chunk->flags |= wire::Data::kEnd;
        (last != nullptr ? last->next : first) = chunk;
        last = chunk;
        at += n;
    }
    const bool held = holds(stream);
    if (!held && !queue_.prepare(env, stream)) {
        free_chain(env, first);
        return SendStatus::no_memory;
    }
    if (drained()) progress_at_ = env.now;
    if (held) {
        (held_->tail != nullptr ? held_->tail->next : held_->head) = first;
        held_->tail = last;
    } else {
        queue_.append(env, first, last);
    }
    queued_bytes_ += static_cast<std::uint32_t>(total);
    if (model.limited()) limited_ += model.fsn;
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
    const bool wanted = !queue_.empty() && marked_count_ == 0 && !probe_allowed_ &&
                        peer_window_ == 0 && paths.flight_bytes() == 0;
    if (!wanted)
        probe_deadline_ = kNever;
    else if (probe_deadline_ == kNever)
        probe_deadline_ = env.now + paths[paths.for_data()].rto;
}

void Outbound::place(OutChunk* chunk) {
    ++next_tsn_;
    (tail_ != nullptr ? tail_->next : head_) = chunk;
    tail_ = chunk;
}

void Outbound::sent(Environment& env, PathSet& paths, std::size_t path_index, OutChunk* chunk) {
    Path& path = paths[path_index];
    const bool again = chunk->marked;
    if (again) {
        chunk->marked = false;
        --marked_count_;
        env.counters.add(Count::tx_retransmitted_chunks);
    } else {
        place(queue_.pop_of(env, chunk->stream));  // a paused sender may take it out of turn
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
    path.window_after_timeout();
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

/// Out of the outstanding ones: the fragments of the message of `one`, the first of them.
template <class Function>
void Outbound::take_outstanding(const OutChunk& one, Function append) {
    OutChunk* kept = nullptr;
    for (OutChunk** link = &head_; *link != nullptr;) {
        OutChunk* chunk = *link;
        if (interleaved() && !same_message(*chunk, one)) {
            kept = chunk;
            link = &chunk->next;
            continue;
        }
        const bool end = chunk->end();
        *link = chunk->next;
        if (tail_ == chunk) tail_ = kept;
        append(chunk);
        if (end) return;
    }
}

/// The oldest outstanding message or, when none is, the next one of the queue: chunk by chunk into
/// the scratch buffer.
std::optional<Outbound::Taken> Outbound::take_back(Environment& env) {
    release_held(env);
    for (;;) {
        const bool was_sent = head_ != nullptr;
        OutChunk* lead = was_sent ? head_ : queue_.front();
        if (lead == nullptr) return std::nullopt;
        const OutChunk copy = *lead;  // its block goes before the last fragment is found
        const bool whole = copy.begin() && !copy.abandoned;
        std::size_t at = 0;
        bool complete = false;
        const auto append = [&](OutChunk* chunk) {
            if (at + chunk->size <= env.scratch.size()) {
                std::memcpy(env.scratch.data() + at, chunk->bytes(), chunk->size);
                at += chunk->size;
            }
            if (chunk->marked) --marked_count_;
            queued_bytes_ -= chunk->size;
            complete = chunk->end();
            free_chunk(env, chunk);
        };
        take_outstanding(copy, append);
        if (!was_sent) append(queue_.pop_of(env, copy.stream));
        while (!complete && !copy.abandoned && queue_.rest_of(copy.stream) != nullptr)
            append(queue_.pop_of(env, copy.stream));
        if (whole) {
            const Ssn ssn{static_cast<std::uint16_t>(copy.mid.value)};
            return Taken{{copy.stream, ssn, copy.ppid, copy.unordered(), env.scratch.first(at)},
                         was_sent};
        }
        // Its beginning was acknowledged and is gone; what was given up has been counted.
        if (!copy.abandoned) env.counters.drop(Drop::association_lost);
    }
}

std::size_t Outbound::release(Environment& env, std::size_t max_blocks) {
    release_held(env);
    std::size_t freed = 0;
    for (; head_ != nullptr && freed < max_blocks; ++freed) {
        OutChunk* next = head_->next;
        free_chunk(env, head_);
        head_ = next;
    }
    for (; head_ == nullptr && !queue_.empty() && freed < max_blocks; ++freed)
        free_chunk(env, queue_.pop(env));
    if (head_ == nullptr) tail_ = nullptr;
    if (freed < max_blocks && paged_.pages() != 0) {
        const std::size_t pages = paged_.pages();
        paged_.release(env.pages, max_blocks - freed);
        freed += pages - paged_.pages();
    }
    if (drained() && freed < max_blocks) freed += queue_.release(env, max_blocks - freed);
    if (drained()) queued_bytes_ = marked_count_ = 0;
    return freed;
}

bool Outbound::is_consistent(const PathSet& paths) const {
    // A long queue is walked now and then: else every packet would cost as much as the queue.
    constexpr std::uint32_t kAlwaysWalkedBytes = 64 * 1024;
    constexpr std::uint32_t kNowAndThen = 256;
    if (queued_bytes_ > kAlwaysWalkedBytes && next_tsn_.value % kNowAndThen != 0) return true;
    std::array<std::uint32_t, kMaxPaths> flight{};
    std::uint32_t queued = 0;
    std::uint32_t marked = 0;
    std::uint32_t limited = 0;
    Tsn expected = cumulative_ + 1u;
    for (const OutChunk* c = head_; c != nullptr; c = c->next) {
        if (c->tsn != expected) return false;
        ++expected;
        queued += c->size;
        limited += c->limited();
        if (c->marked) ++marked;
        if (c->in_flight()) flight[c->path] += c->size;
    }
    if (expected != next_tsn_) return false;
    queue_.each([&](const OutChunk& c) {
        queued += c.size;
        limited += c.limited();
    });
    for (const OutChunk* c = held_ != nullptr ? held_->head : nullptr; c != nullptr; c = c->next) {
        queued += c->size;
        limited += c->limited();
        if (!holds(c->stream)) return false;
    }
    if (!queue_.is_consistent() || limited != limited_) return false;
    if (advanced_ < cumulative_) return false;
    if (advanced_ != cumulative_ && !forward_wanted_ && forward_deadline_ == kNever) return false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (flight[i] != paths[i].flight_bytes) return false;
        if (flight[i] != 0 && paths[i].t3 == kNever) return false;  // DAT-2
    }
    return queued == queued_bytes_ && marked == marked_count_;
}

}  // namespace signalbox::sctp
