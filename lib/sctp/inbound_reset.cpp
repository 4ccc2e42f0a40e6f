// SPDX-License-Identifier: Apache-2.0
// What a stream reconfiguration (RFC 6525) means for the receiving half.
#include <algorithm>
#include <bitset>

#include "sctp/inbound.h"

namespace signalbox::sctp {

/// The streams of the list (as on the wire), or all that were ever used when there is none.
template <class Function>
void Inbound::each_of(std::span<const std::uint8_t> streams, Function function) {
    for (std::size_t at = 0; at < streams.size(); at += 2)
        if (Stream* s = find_stream(StreamId{wire::load_u16(streams, at)})) function(*s);
    if (!streams.empty()) return;
    for (Stream& s : inline_) function(s);
    constexpr std::size_t kPerPage = mem::PagedArray<Stream>::kPerPage;
    for (std::size_t page = 0; page < paged_.size(); page += kPerPage)
        if (Stream* first = paged_.find(page))
            for (std::size_t i = 0; i < std::min(kPerPage, paged_.size() - page); ++i)
                function(first[i]);
}

/// What still waits on such a stream was sent against the rules (all older TSNs have come), and its
/// numbers mean nothing any more.
void Inbound::reset_streams(Environment& env, std::span<const std::uint8_t> streams) {
    std::bitset<65536> listed;
    for (std::size_t at = 0; at < streams.size(); at += 2)
        listed.set(load_be16(streams.data() + at));
    for (InChunk* c = pending_.head; c != nullptr;) {
        InChunk* next = c->next;
        if (streams.empty() || listed.test(c->stream.value))
            discard(env, c, c, *find_stream(c->stream));  // its page is there: it waits in it
        c = next;
    }
    std::uint64_t looked_up = 0;
    each_of(streams, [&looked_up](Stream& s) { s.bits = 0, ++looked_up; });
    env.counters.add(Count::stream_lookups, looked_up);
}

Inbound::Stream* Inbound::find_stream(StreamId id) {
    if (id.value < kInlineStreams) return &inline_[id.value];
    return paged_.find(id.value - kInlineStreams);
}

void Inbound::set_streams(Environment& env, std::uint16_t streams) {
    streams_ = streams;
    paged_.resize(env.pages, streams > kInlineStreams ? streams - kInlineStreams : 0);
}

void Inbound::restart_at(Environment& env, Tsn next) {
    if (map_ != nullptr) env.blocks.give(map_, kMapBytes);
    map_ = nullptr;
    cumulative_ = highest_ = next - 1u;
    duplicate_count_ = 0;
    reset_streams(env, {});
}

}  // namespace signalbox::sctp
