// SPDX-License-Identifier: Apache-2.0
// What becomes of one DATA chunk: RFC 9260 6.2, 6.5, 6.9.
#include <algorithm>
#include <cstring>

#include "sctp/inbound.h"

namespace signalbox::sctp {

Inbound::Stream* Inbound::stream(Environment& env, StreamId id) {
    env.counters.add(Count::stream_lookups);
    if (id.value < kInlineStreams) return &inline_[id.value];
    return paged_.at(env.pages, id.value - kInlineStreams);
}

bool Inbound::continue_stream(Environment& env, StreamId id, Mid next) {
    Stream* s = id.value < streams_ ? stream(env, id) : nullptr;
    if (s != nullptr) set_next(*s, next);
    return s != nullptr;
}

/// Serial numbers compare within half their space only: the window keeps all of them closer.
bool Inbound::before(const InChunk& a, const InChunk& b) const {
    if (!interleaved_) return a.tsn < b.tsn;
    if (a.stream != b.stream) return a.stream < b.stream;
    if (a.unordered() != b.unordered()) return b.unordered();
    if (a.mid != b.mid)  // unordered ones may be far apart: any total order will do
        return a.unordered() ? a.mid.value < b.mid.value : a.mid < b.mid;
    return a.fsn < b.fsn;
}

bool Inbound::adjacent(const InChunk& a, const InChunk& b) const {
    if (!interleaved_) return a.tsn + 1u == b.tsn;
    return a.stream == b.stream && a.unordered() == b.unordered() && a.mid == b.mid &&
           a.fsn + 1 == b.fsn;
}

/// D04: a fragment must fit the neighbours in TSN that are here, or were delivered.
bool Inbound::contradicts(const Fragment& data) const {
    const InChunk* before = nullptr;
    const InChunk* after = nullptr;
    const InChunk* c = pending_.tail;
    if (pending_.head != nullptr && data.tsn < pending_.head->tsn)
        c = nullptr, after = pending_.head;
    for (; c != nullptr; c = c->prev) {
        if (c->tsn < data.tsn) {
            before = c;
            break;
        }
        after = c;
    }
    const auto same = [&data](const InChunk& c2) {
        return c2.stream == data.stream && c2.unordered() == data.unordered() &&
               (data.unordered() || c2.mid == data.mid);
    };
    const Tsn previous = data.tsn - 1u;
    const Tsn following = data.tsn + 1u;
    if (before != nullptr && before->tsn == previous) {
        if (before->end() != data.begin()) return true;
        if (!data.begin() && !same(*before)) return true;
    } else if ((previous <= cumulative_ || bit(previous)) && !data.begin()) {
        return true;  // what came before was whole
    }
    if (after != nullptr && after->tsn == following) {
        if (after->begin() != data.end()) return true;
        if (!data.end() && !same(*after)) return true;
    } else if (bit(following) && !data.end()) {
        return true;
    }
    return false;
}

/// D04 for I-DATA: within its message a fragment's number is its own, and none is beyond the last.
bool Inbound::contradicts_interleaved(const Fragment& data) const {
    if (data.begin() != (data.fsn == 0)) return true;  // RFC 8260 2.1: the first one is number 0
    for (const InChunk* c = pending_.tail; c != nullptr; c = c->prev) {
        if (c->stream != data.stream || c->unordered() != data.unordered() || c->mid != data.mid)
            continue;
        if (c->fsn == data.fsn) return true;
        if (c->fsn < data.fsn ? c->end() : data.end()) return true;
    }
    return false;
}

DataOutcome Inbound::judge(Tsn tsn) const {
    const auto ahead = tsn - cumulative_;
    if (ahead <= 0) return DataOutcome::duplicate;
    // Before the map is asked: beyond its range a TSN would meet another's bit (D05).
    if (static_cast<std::uint32_t>(ahead) >= kTsnMapBits) return DataOutcome::out_of_range;
    if (bit(tsn)) return DataOutcome::duplicate;
    return DataOutcome::accepted;
}

void Inbound::count_waiting(Stream& s, bool comes) {
    if (interleaved_)
        comes ? ++waiting_ : --waiting_;
    else
        s.bits += comes ? 0x10000u : 0u - 0x10000u;
}

DataOutcome Inbound::receive(Environment& env, const Fragment& data, Effects& effects) {
    const DataOutcome judged = judge(data.tsn);
    if (judged == DataOutcome::duplicate) note_duplicate(data.tsn);
    if (judged != DataOutcome::accepted) return judged;
    if (!received_) sack_now_ = true;  // DAT-3: the first DATA (RFC 9260 5.1)
    if (data.immediate()) sack_now_ = true;
    if (held_bytes_ >= capacity_ && (data.tsn > highest_ || !give_up_highest(env, data.tsn))) {
        sack_now_ = true;
        return DataOutcome::window_full;
    }
    if (data.tsn != cumulative_ + 1u && !take_map(env)) return DataOutcome::no_memory;
    if (data.stream.value >= streams_) {  // 6.5: acknowledged, reported, not delivered
        mark_received(env, data.tsn);
        return DataOutcome::invalid_stream;
    }
    Stream* s = stream(env, data.stream);
    const DataOutcome outcome =
        s != nullptr ? take(env, data, *s, effects) : DataOutcome::no_memory;  // DAT-8
    if (map_ != nullptr && highest_ == cumulative_) {  // taken for a chunk that was refused
        env.blocks.give(map_, kMapBytes);
        map_ = nullptr;
    }
    return outcome;
}

DataOutcome Inbound::take(Environment& env, const Fragment& data, Stream& s, Effects& effects) {
    const bool past = !data.unordered() && earlier(data.mid, next_of(s));
    if (past && interleaved_ && forwarded_) {  // was under way when its message was given up
        mark_received(env, data.tsn);
        return DataOutcome::skipped;
    }
    if (past || (interleaved_ ? contradicts_interleaved(data) : contradicts(data)))
        return DataOutcome::violation;
    const bool next = data.unordered() || data.mid == next_of(s);
    if (!(data.begin() && data.end() && next && nothing_ready()) ||
        effects.message_count >= Effects::kMaxMessages)
        return keep(env, data, s);
    effects.messages[effects.message_count++] = {data.stream,
                                                 Ssn{static_cast<std::uint16_t>(data.mid.value)},
                                                 data.ppid, data.unordered(), data.payload};
    mark_received(env, data.tsn);
    if (!data.unordered()) {
        set_next(s, data.mid + 1u);
        drain(s, data.stream);
    }
    return DataOutcome::accepted;
}

DataOutcome Inbound::keep(Environment& env, const Fragment& data, Stream& s) {
    InChunk* chunk = keep_chunk(env.blocks, data);
    if (chunk == nullptr) return DataOutcome::no_memory;
    pending_.insert(chunk, [this](const InChunk& a, const InChunk& b) { return before(a, b); });
    held_bytes_ += chunk->size + kHeldChunkOverhead;
    if (!chunk->unordered()) count_waiting(s, true);
    mark_received(env, data.tsn);
    InChunk* first = nullptr;
    InChunk* last = nullptr;
    std::uint32_t bytes = 0;
    const bool whole = complete(chunk, first, last, bytes);
    if (bytes > kMaxMessageBytes) return DataOutcome::too_long;
    if (!whole || (!first->unordered() && first->mid != next_of(s))) {
        if (!watching_) watch(env, data.tsn);
        return DataOutcome::accepted;
    }
    const bool ordered = !first->unordered();
    make_ready(first, last, s);
    if (ordered) drain(s, data.stream);
    return DataOutcome::accepted;
}

/// Walks from `chunk` to the fragments next to it; true when first and last are there. `bytes`:
/// their sum so far.
bool Inbound::complete(InChunk* chunk, InChunk*& first, InChunk*& last,
                       std::uint32_t& bytes) const {
    first = last = chunk;
    bytes = chunk->size;
    while (!first->begin() && first->prev != nullptr && adjacent(*first->prev, *first)) {
        first = first->prev;
        bytes += first->size;
    }
    while (!last->end() && last->next != nullptr && adjacent(*last, *last->next)) {
        last = last->next;
        bytes += last->size;
    }
    return first->begin() && last->end();
}

void Inbound::make_ready(InChunk* first, InChunk* last, Stream& s) {
    const bool ordered = !first->unordered();
    const Mid number = first->mid;
    for (InChunk* c = first;;) {
        InChunk* next = c->next;
        const bool at_end = c == last;
        pending_.remove(c);
        ready_.append(c);
        ready_bytes_ += c->size;
        if (ordered) count_waiting(s, false);
        if (at_end) break;
        c = next;
    }
    if (ordered && !earlier(number, next_of(s))) set_next(s, number + 1u);
}

/// Messages of the stream that waited for the one just delivered. One pass: within a stream they
/// are in order in pending_.
void Inbound::drain(Stream& s, StreamId id) {
    for (InChunk* c = pending_.head; c != nullptr && anything_waits(s);) {
        InChunk* next = c->next;
        InChunk* first = nullptr;
        InChunk* last = nullptr;
        std::uint32_t bytes = 0;
        if (c->stream == id && !c->unordered() && c->begin() && c->mid == next_of(s) &&
            complete(c, first, last, bytes)) {
            next = last->next;
            make_ready(first, last, s);
        }
        c = next;
    }
}

bool Inbound::hold(Environment& env, const Message& message) {
    InChunk* chunk = keep_chunk(
        env.blocks,
        {.flags = static_cast<std::uint8_t>(wire::Data::kBegin | wire::Data::kEnd |
                                            (message.unordered ? wire::Data::kUnordered : 0)),
         .tsn = {},
         .stream = message.stream,
         .mid = {message.ssn.value},
         .fsn = 0,
         .ppid = message.ppid,
         .payload = message.data});
    if (chunk == nullptr) return false;
    held_.append(chunk);
    held_bytes_ += chunk->size + kHeldChunkOverhead;
    ready_bytes_ += chunk->size;
    return true;
}

std::optional<Message> Inbound::front_ready(Environment& env) const {
    const InChunk* first = !held_.empty() ? held_.head : ready_.head;
    if (first == nullptr) return std::nullopt;
    Message message{first->stream,
                    Ssn{static_cast<std::uint16_t>(first->mid.value)},
                    first->ppid,
                    first->unordered(),
                    {first->bytes(), first->here}};
    if (first->end() && first->rest == nullptr) return message;
    std::size_t at = 0;
    for (const InChunk* c = first;; c = c->next) {
        if (at + c->size > env.scratch.size()) break;  // never: bounded by kMaxMessageBytes
        copy_out(*c, env.scratch.data() + at);
        at += c->size;
        if (c->end()) break;
    }
    message.data = env.scratch.first(at);
    return message;
}

void Inbound::pop_ready(Environment& env) {
    InList& list = !held_.empty() ? held_ : ready_;
    for (bool done = list.empty(); !done;) {
        InChunk* chunk = list.head;
        done = chunk->end();
        list.remove(chunk);
        held_bytes_ -= chunk->size + kHeldChunkOverhead;
        ready_bytes_ -= chunk->size;
        give_chunk(env.blocks, chunk);
    }
    // Window update: a sender that was stopped must learn that there is room again (RFC
    // 1122 4.2.3.3's threshold).
    const std::uint32_t half = capacity_ / 2;
    const std::uint32_t room = window();
    if (received_ && advertised_ < half && room >= advertised_ + half / 2) sack_now_ = true;
    if (received_ && advertised_ == 0 && room > 0) sack_now_ = true;
}

}  // namespace signalbox::sctp
