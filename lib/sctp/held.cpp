// SPDX-License-Identifier: Apache-2.0
// What a stream reconfiguration (RFC 6525) means for the sending half: messages that wait for the
// peer's answer, numbers that begin anew, streams that come.
#include <algorithm>

#include "sctp/outbound.h"

namespace signalbox::sctp {

bool Outbound::holds(StreamId stream) const {
    if (held_ == nullptr) return false;
    switch (held_->what) {
        case Held::What::none:
            return false;
        case Held::What::all:
            return true;
        case Held::What::new_streams:
            return stream.value >= streams_;
        case Held::What::listed:
            break;
    }
    for (std::size_t at = 0; at < held_->list.size(); at += 2)
        if (load_be16(held_->list.data() + at) == stream.value) return true;
    return false;
}

void Outbound::hold_streams(std::span<const std::uint8_t> streams) {
    held_->what = streams.empty() ? Held::What::all : Held::What::listed;
    held_->list = streams;
    std::uint32_t affected = 0;
    for (const OutChunk* c = head_; c != nullptr; c = c->next) affected += holds(c->stream);
    queue_.each([&](const OutChunk& c) { affected += holds(c.stream); });
    held_->affected = affected;
}

void Outbound::hold_new_streams(Environment& env, std::uint16_t count) {
    held_->what = Held::What::new_streams;
    held_->new_streams = count;
    held_->affected = 0;
    resize(env, static_cast<std::uint16_t>(streams_ + count));
}

/// In the order in which they came. A scheduler that finds no memory for a stream's queue serves
/// its messages first come, first served.
void Outbound::release_held(Environment& env) {
    if (held_ == nullptr || held_->what == Held::What::none) return;
    OutChunk* first = held_->head;
    const Time pause = held_->pause_until;
    *held_ = Held{};
    held_->pause_until = pause;
    resize(env, streams_);
    while (first != nullptr) {
        OutChunk* last = first;
        while (!last->end()) last = last->next;
        OutChunk* next = std::exchange(last->next, nullptr);
        (void)queue_.prepare(env, first->stream);
        queue_.append(env, first, last);
        first = next;
    }
}

void Outbound::purge_held(Environment& env) {
    while (held_->head != nullptr) {
        OutChunk* chunk = held_->head;
        held_->head = chunk->next;
        if (chunk->end()) {
            env.counters.drop(Drop::stream_not_added);
            ++failures_;
        }
        drop_queued(env, chunk);
    }
    held_->tail = nullptr;
}

void Outbound::reset_streams(Environment& env, std::span<const std::uint8_t> streams) {
    env.counters.add(Count::stream_lookups, streams.size() / 2);
    for (std::size_t at = 0; at < streams.size(); at += 2) {
        const StreamId stream{load_be16(streams.data() + at)};
        set_number(stream, false, {});
        if (interleaved()) set_number(stream, true, {});
    }
    if (!streams.empty()) return;
    inline_.fill({});
    constexpr std::size_t kPerPage = mem::PagedArray<Numbers>::kPerPage;
    for (std::size_t page = 0; page < paged_.size(); page += kPerPage)
        if (Numbers* first = paged_.find(page)) {
            const std::size_t here = std::min(kPerPage, paged_.size() - page);
            std::fill_n(first, here, Numbers{});
            env.counters.add(Count::stream_lookups, here);
        }
}

void Outbound::resize(Environment& env, std::uint16_t streams) {
    paged_.resize(env.pages, streams);
    queue_.resize(env, streams);
}

void Outbound::set_streams(Environment& env, std::uint16_t streams) {
    streams_ = streams;
    resize(env, streams);
}

void Outbound::restart_at(Environment& env, Tsn next) {
    next_tsn_ = next;
    cumulative_ = advanced_ = next - 1u;
    in_recovery_ = fast_pending_ = false;
    restarted_ = true;
    reset_streams(env, {});
}

}  // namespace signalbox::sctp
