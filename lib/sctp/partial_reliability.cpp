// SPDX-License-Identifier: Apache-2.0
// The sender's side of RFC 3758 (3.5) and of RFC 8260 2.3: messages given up, the Advanced Peer Ack
// Point, FORWARD TSN.
#include <algorithm>

#include "sctp/outbound.h"
#include "wire/forward_tsn.h"

namespace signalbox::sctp {

namespace {
/// Entries of one FORWARD TSN: bounds its size and the work for it. What does not fit goes with the
/// next one (3.5 C4).
constexpr std::size_t kMaxSkipped = 64;
}  // namespace

/// Among outstanding chunks of I-DATA. DATA's fragments are neighbours and need no such question.
bool Outbound::same_message(const OutChunk& a, const OutChunk& b) const {
    return a.stream == b.stream && a.unordered() == b.unordered() && a.mid == b.mid;
}

void Outbound::give_up(PathSet& paths, OutChunk& chunk) {
    if (chunk.abandoned) return;
    Path& path = paths[chunk.path];
    if (chunk.marked) {
        chunk.marked = false;
        --marked_count_;
    } else if (!chunk.acked) {
        path.flight_bytes -= chunk.size;
        peer_window_ += chunk.size;
        if (path.flight_bytes == 0) path.t3 = kNever;
    }
    if (path.rtt_pending && path.rtt_tsn == chunk.tsn) path.rtt_pending = false;
    chunk.abandoned = true;
}

void Outbound::drop_queued(Environment& env, OutChunk* chunk) {
    queued_bytes_ -= chunk->size;
    free_chunk(env, chunk);
}

/// What was not sent yet of a message of which something was. Its last fragment takes a TSN that is
/// never on the wire: FORWARD TSN has something to skip although all that was sent is acknowledged,
/// and with DATA the next message does not follow a fragment that it does not continue.
void Outbound::give_up_rest(Environment& env, StreamId stream) {
    while (queue_.rest_of(stream) != nullptr) {
        OutChunk* chunk = queue_.pop_of(env, stream);
        if (!chunk->end()) {
            drop_queued(env, chunk);
            continue;
        }
        number(env, *chunk);
        place(chunk);
        chunk->abandoned = true;
    }
}

/// All chunks of the message of `one`, none of which lies before `from`.
void Outbound::give_up_message(Environment& env, PathSet& paths, OutChunk* from,
                               const OutChunk& one) {
    env.counters.drop(Drop::message_abandoned);
    ++failures_;
    bool all_sent = false;
    for (OutChunk* c = from; c != nullptr && !all_sent; c = c->next) {
        if (interleaved() && !same_message(*c, one)) continue;
        all_sent = c->end();
        give_up(paths, *c);
    }
    if (!all_sent) give_up_rest(env, one.stream);
}

void Outbound::give_up_unsent(Environment& env, PathSet& paths) {
    for (OutChunk* next = queue_.front(); next != nullptr && next->over_limit(env.now);
         next = queue_.front()) {
        const StreamId stream = next->stream;
        if (!next->begin()) {  // its first fragments are outstanding, or acknowledged
            number(env, *next);
            OutChunk* from = nullptr;
            for (OutChunk* c = head_; c != nullptr; c = c->next)
                if (interleaved() ? same_message(*c, *next) && from == nullptr : c->begin())
                    from = c;
            if (from == nullptr) from = head_;
            const OutChunk one = *next;
            give_up_message(env, paths, from, one);
            continue;
        }
        env.counters.drop(Drop::message_abandoned);
        ++failures_;
        for (bool end = false; !end;) {
            OutChunk* chunk = queue_.pop_of(env, stream);
            end = chunk->end();
            drop_queued(env, chunk);
        }
    }
}

void Outbound::give_up_due(Environment& env, PathSet& paths) {
    if (limited_ == 0) return;
    OutChunk* run = head_;
    for (OutChunk* c = head_; c != nullptr && marked_count_ != 0; c = c->next) {
        if (c->begin()) run = c;
        if (c->marked && c->over_limit(env.now))
            give_up_message(env, paths, interleaved() ? head_ : run, *c);
    }
    give_up_unsent(env, paths);
    const Tsn before = advanced_;
    advance_point();
    if (advanced_ != before) forward_wanted_ = true;
}

/// 3.5 C1, C2.
void Outbound::advance_point() {
    advanced_ = cumulative_;
    for (const OutChunk* c = head_; c != nullptr && c->abandoned; c = c->next) advanced_ = c->tsn;
}

/// After an acknowledgement, 3.5 C3: what it does not cover yet is said again.
void Outbound::settle_forward() {
    advance_point();
    forward_wanted_ = advanced_ != cumulative_;
    if (!forward_wanted_) forward_deadline_ = kNever;
}

bool Outbound::write_forward(const Environment& env, wire::PacketWriter& out,
                             const PathSet& paths) {
    const std::size_t entry = wire::ForwardTsn::entry_bytes(interleaved());
    constexpr std::size_t kFixed = wire::kTlvHeader + wire::ForwardTsn::kFixed;
    if (out.room() < kFixed + entry) return false;
    const std::size_t room = std::min((out.room() - kFixed) / entry, kMaxSkipped);
    std::array<wire::Skipped, kMaxSkipped> skipped;
    std::size_t count = 0;
    Tsn point = cumulative_;
    for (const OutChunk* c = head_; c != nullptr && c->abandoned; c = c->next) {
        if (!c->unordered() || interleaved()) {
            std::size_t at = count;  // most often the last one
            while (at != 0 && (skipped[at - 1].stream != c->stream ||
                               skipped[at - 1].unordered != c->unordered()))
                --at;
            if (at == 0 && count == room) break;
            (at != 0 ? skipped[at - 1] : skipped[count++]) = {c->stream, c->unordered(),
                                                              c->mid.value};
        }
        if (c->end() || interleaved()) point = c->tsn;  // never between two fragments of DATA
    }
    forward_wanted_ = false;
    if (point == cumulative_) point = advanced_;
    forward_path_ = static_cast<std::uint8_t>(paths.for_data());
    forward_deadline_ = env.now + paths[forward_path_].rto;
    wire::write_forward_tsn(out, point, std::span{skipped}.first(count), interleaved());
    return true;
}

}  // namespace signalbox::sctp
