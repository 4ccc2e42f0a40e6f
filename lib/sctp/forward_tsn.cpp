// SPDX-License-Identifier: Apache-2.0
// The receiver's side of FORWARD TSN (RFC 3758 3.6) and I-FORWARD-TSN (RFC 8260 2.3.1).
#include "wire/forward_tsn.h"

#include "sctp/replies.h"

namespace signalbox::sctp {

/// Everything up to `cumulative` counts as received, and what was received behind it.
void Inbound::advance_to(Environment& env, Tsn cumulative) {
    if (map_ == nullptr || cumulative >= highest_) {
        cumulative_ = cumulative;
        if (highest_ < cumulative_) highest_ = cumulative_;
    } else {
        while (cumulative_ != cumulative) {
            ++cumulative_;
            set_bit(cumulative_, false);
        }
        while (bit(cumulative_ + 1u)) {
            ++cumulative_;
            set_bit(cumulative_, false);
        }
    }
    if (map_ == nullptr || cumulative_ != highest_) return;
    env.blocks.give(map_, kMapBytes);
    map_ = nullptr;
}

/// Will the message of these fragments, of which some are missing, never be whole?
bool Inbound::given_up(const InChunk& first, const wire::ForwardTsn& skip, const Stream& s) const {
    if (!first.unordered() && earlier(first.mid, next_of(s))) return true;
    if (!interleaved_) return first.tsn <= skip.new_cumulative;
    if (!first.unordered()) return false;
    for (std::size_t i = 0; i < skip.count(); ++i) {
        const wire::Skipped entry = skip.entry(i);
        if (entry.unordered && entry.stream == first.stream && first.mid <= Mid{entry.number})
            return true;
    }
    return false;
}

void Inbound::discard(Environment& env, InChunk* first, InChunk* last, Stream& s) {
    for (InChunk* c = first;;) {
        InChunk* next = c->next;
        const bool at_end = c == last;
        pending_.remove(c);
        held_bytes_ -= c->size + kHeldChunkOverhead;
        if (!c->unordered()) count_waiting(s, false);
        env.counters.drop(Drop::data_skipped);
        give_chunk(env.blocks, c);
        if (at_end) return;
        c = next;
    }
}

/// One pass over what waits: whole messages that were passed over or are next are delivered,
/// fragments of those given up go.
void Inbound::resettle(Environment& env, const wire::ForwardTsn& skip) {
    for (InChunk* first = pending_.head; first != nullptr;) {
        InChunk* last = first;
        while (!last->end() && last->next != nullptr && adjacent(*last, *last->next))
            last = last->next;
        InChunk* next = last->next;
        Stream& s = *stream(env, first->stream);  // its page is there: it waits in it
        const bool whole = first->begin() && last->end();
        if (whole ? !first->unordered() && !earlier(next_of(s), first->mid)
                  : given_up(*first, skip, s))
            whole ? make_ready(first, last, s) : discard(env, first, last, s);
        first = next;
    }
}

ForwardOutcome Inbound::forward(Environment& env, const wire::ForwardTsn& skip) {
    sack_now_ = true;  // 3.6: old or new, the sender learns where we are
    const auto ahead = skip.new_cumulative - cumulative_;
    if (ahead <= 0) return ForwardOutcome::old;
    if (static_cast<std::uint32_t>(ahead) >= kTsnMapBits) return ForwardOutcome::out_of_range;
    for (std::size_t i = 0; i < skip.count(); ++i) {
        const wire::Skipped entry = skip.entry(i);
        if (entry.stream.value < streams_ && stream(env, entry.stream) == nullptr)
            return ForwardOutcome::no_memory;  // DAT-8: not received; it comes again
    }
    received_ = forwarded_ = true;
    advance_to(env, skip.new_cumulative);
    for (std::size_t i = 0; i < skip.count(); ++i) {
        const wire::Skipped entry = skip.entry(i);
        if (entry.stream.value >= streams_) {  // D14
            env.counters.drop(Drop::forward_tsn_bad_stream);
            continue;
        }
        if (entry.unordered) continue;
        Stream& s = *stream(env, entry.stream);
        const Mid number{entry.number};
        if (!earlier(number, next_of(s))) set_next(s, number + 1u);
    }
    resettle(env, skip);
    return ForwardOutcome::applied;
}

void Association::on_forward_tsn(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const bool interleaved = extensions_.has(Extension::i_data);
    const auto skip = wire::parse_forward_tsn(chunk.value, interleaved);
    if (!skip) return env.counters.drop(Drop::forward_tsn_malformed);
    if (pass.path < paths_.size()) in_.sack_path = static_cast<std::uint8_t>(pass.path);
    switch (in_.forward(env, *skip)) {
        case ForwardOutcome::applied:
            return;
        case ForwardOutcome::old:
            return env.counters.drop(Drop::forward_tsn_old);
        case ForwardOutcome::out_of_range:
            return env.counters.drop(Drop::forward_tsn_malformed);
        case ForwardOutcome::no_memory:
            return env.counters.drop(Drop::data_no_memory);
    }
}

}  // namespace signalbox::sctp
