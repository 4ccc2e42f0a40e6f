// SPDX-License-Identifier: Apache-2.0
// What becomes of one DATA chunk: RFC 9260 6.2, 6.5, 6.9.
#include <algorithm>
#include <cstring>

#include "sctp/inbound.h"

namespace signalbox::sctp {

Inbound::Stream* Inbound::stream(Environment& env, StreamId id) {
    if (id.value < kInlineStreams) return &inline_[id.value];
    return paged_.at(env.pages, id.value - kInlineStreams);
}

/// D04: a fragment must fit the neighbours in TSN that are here, or were delivered.
bool Inbound::contradicts(const wire::Data& data) const {
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
               (data.unordered() || c2.ssn == data.ssn);
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

DataOutcome Inbound::judge(const wire::Data& data) const {
    const auto ahead = data.tsn - cumulative_;
    if (ahead <= 0 || bit(data.tsn)) return DataOutcome::duplicate;
    if (static_cast<std::uint32_t>(ahead) >= kTsnMapBits) return DataOutcome::out_of_range;
    return DataOutcome::accepted;
}

DataOutcome Inbound::receive(Environment& env, const wire::Data& data, Effects& effects) {
    const DataOutcome judged = judge(data);
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
    const DataOutcome outcome = [&] {
        Stream* s = stream(env, data.stream);
        if (s == nullptr) return DataOutcome::no_memory;  // DAT-8
        if (contradicts(data) || (!data.unordered() && data.ssn < s->next))
            return DataOutcome::violation;
        const bool next = data.unordered() || data.ssn == s->next;
        if (!(data.begin() && data.end() && next && nothing_ready()) ||
            effects.message_count >= Effects::kMaxMessages)
            return keep(env, data, *s);
        effects.messages[effects.message_count++] = {data.stream, data.ssn, data.ppid,
                                                     data.unordered(), data.payload};
        mark_received(env, data.tsn);
        if (!data.unordered()) {
            ++s->next;
            drain(*s, data.stream);
        }
        return DataOutcome::accepted;
    }();
    if (map_ != nullptr && highest_ == cumulative_) {  // taken for a chunk that was refused
        env.blocks.give(map_, kMapBytes);
        map_ = nullptr;
    }
    return outcome;
}

DataOutcome Inbound::keep(Environment& env, const wire::Data& data, Stream& s) {
    InChunk* chunk = keep_chunk(env.blocks, data);
    if (chunk == nullptr) return DataOutcome::no_memory;
    pending_.insert_by_tsn(chunk);
    held_bytes_ += chunk->size + kHeldChunkOverhead;
    if (!chunk->unordered()) ++s.waiting;
    mark_received(env, data.tsn);
    InChunk* first = nullptr;
    InChunk* last = nullptr;
    std::uint32_t bytes = 0;
    const bool whole = complete(chunk, first, last, bytes);
    if (bytes > kMaxMessageBytes) return DataOutcome::too_long;
    if (!whole || (!first->unordered() && first->ssn != s.next)) return DataOutcome::accepted;
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
    while (!first->begin() && first->prev != nullptr && first->prev->tsn + 1u == first->tsn) {
        first = first->prev;
        bytes += first->size;
    }
    while (!last->end() && last->next != nullptr && last->next->tsn == last->tsn + 1u) {
        last = last->next;
        bytes += last->size;
    }
    return first->begin() && last->end();
}

void Inbound::make_ready(InChunk* first, InChunk* last, Stream& s) {
    const bool ordered = !first->unordered();
    for (InChunk* c = first;;) {
        InChunk* next = c->next;
        const bool at_end = c == last;
        pending_.remove(c);
        ready_.append(c);
        ready_bytes_ += c->size;
        if (ordered) --s.waiting;
        if (at_end) break;
        c = next;
    }
    if (ordered) ++s.next;
}

/// Messages of the stream that waited for the one just delivered. One pass: in TSN order they are
/// in SSN order too.
void Inbound::drain(Stream& s, StreamId id) {
    for (InChunk* c = pending_.head; c != nullptr && s.waiting != 0;) {
        InChunk* next = c->next;
        InChunk* first = nullptr;
        InChunk* last = nullptr;
        std::uint32_t bytes = 0;
        if (c->stream == id && !c->unordered() && c->begin() && c->ssn == s.next &&
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
         .ssn = message.ssn,
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
    Message message{
        first->stream, first->ssn, first->ppid, first->unordered(), {first->bytes(), first->here}};
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
