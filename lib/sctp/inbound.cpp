// SPDX-License-Identifier: Apache-2.0
// TSN tracking and SACK. Reassembly and delivery are in reassembly.cpp.
#include "sctp/inbound.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace signalbox::sctp {

void Inbound::start(Environment& env, Tsn initial, std::uint16_t streams, Extensions extensions) {
    *this = Inbound{};
    cumulative_ = highest_ = initial - 1u;
    streams_ = streams;
    interleaved_ = extensions.has(Extension::i_data);
    capacity_ = advertised_ = env.profile.receive_window_bytes;
    least_window_ = std::min<std::uint32_t>(env.profile.path_mtu_bytes, capacity_ / 2);
    paged_.resize(env.pages, streams > kInlineStreams ? streams - kInlineStreams : 0);
}

bool Inbound::bit(Tsn tsn) const {
    const std::uint32_t at = tsn.value % kTsnMapBits;
    return map_ != nullptr && (map_[at / 64] >> (at % 64) & 1) != 0;
}

void Inbound::set_bit(Tsn tsn, bool on) {
    const std::uint32_t at = tsn.value % kTsnMapBits;
    const std::uint64_t mask = std::uint64_t{1} << (at % 64);
    if (on)
        map_[at / 64] |= mask;
    else
        map_[at / 64] &= ~mask;
}

bool Inbound::take_map(Environment& env) {
    if (map_ != nullptr) return true;
    map_ = static_cast<std::uint64_t*>(env.blocks.take(kMapBytes));
    if (map_ == nullptr) return false;
    std::memset(map_, 0, kMapBytes);
    return true;
}

void Inbound::mark_received(Environment& env, Tsn tsn) {
    received_ = true;
    if (tsn > highest_) highest_ = tsn;
    if (tsn != cumulative_ + 1u) {
        set_bit(tsn, true);
        sack_now_ = true;  // DAT-3: a gap
        return;
    }
    ++cumulative_;
    if (map_ == nullptr) return;
    sack_now_ = true;  // DAT-3: a gap closed, or is still there
    while (bit(cumulative_ + 1u)) {
        ++cumulative_;
        set_bit(cumulative_, false);
    }
    if (cumulative_ == highest_) {
        env.blocks.give(map_, kMapBytes);
        map_ = nullptr;
    }
}

void Inbound::note_duplicate(Tsn tsn) {
    sack_now_ = true;
    if (duplicate_count_ < kMaxDuplicates) duplicates_[duplicate_count_++] = tsn;
}

/// RFC 9260 6.2: a full window drops the largest TSN held for reordering in favour of a missing
/// one.
bool Inbound::give_up_highest(Environment& env, Tsn wanted) {
    InChunk* last = pending_.tail;
    if (interleaved_)
        for (InChunk* c = last; c != nullptr; c = c->prev)
            if (c->tsn > last->tsn) last = c;
    if (last == nullptr || last->tsn <= wanted || last->tsn <= cumulative_) return false;
    pending_.remove(last);
    if (!last->unordered()) count_waiting(*stream(env, last->stream), false);  // its page is there
    held_bytes_ -= last->size + kHeldChunkOverhead;
    set_bit(last->tsn, false);
    while (highest_ > cumulative_ && !bit(highest_)) highest_ = highest_ - 1u;
    give_chunk(env.blocks, last);
    return true;
}

void Inbound::watch(const Environment& env, Tsn tsn) {
    if (env.profile.reassembly_limit == Duration::zero()) return;
    watching_ = true;
    watched_ = tsn;
    stall_deadline_ = env.now + env.profile.reassembly_limit;
}

bool Inbound::is_stalled(const Environment& env) {
    watching_ = false;
    const InChunk* oldest = pending_.head;
    bool waits = false;
    for (const InChunk* c = pending_.head; c != nullptr; c = c->next) {
        waits |= c->tsn == watched_;
        if (c->tsn < oldest->tsn) oldest = c;
    }
    if (waits && !env.short_of_pages) return true;  // without pages it may be our own doing
    if (oldest != nullptr) watch(env, oldest->tsn);
    return false;
}

void Inbound::packet_done(const Environment& env) {
    if (sack_now_) return;
    if (++packets_ >= 2 || env.profile.sack_delay == Duration::zero())
        sack_now_ = true;
    else if (sack_deadline_ == kNever)
        sack_deadline_ = env.now + env.profile.sack_delay;
}

std::uint32_t Inbound::window() const {
    const std::uint32_t left = held_bytes_ < capacity_ ? capacity_ - held_bytes_ : 0;
    // Silly window avoidance (RFC 1122 4.2.3.3): less than a packet is not worth advertising.
    return left < least_window_ ? 0 : left;
}

std::size_t Inbound::gap_blocks(std::span<wire::GapBlock> out) const {
    if (map_ == nullptr) return 0;
    const auto distance = static_cast<std::uint32_t>(highest_ - cumulative_);
    std::size_t count = 0;
    for (std::uint32_t i = 2;
         i <= distance && count < out.size();) {  // 1 is missing, or it would be cumulative
        const std::uint32_t at = (cumulative_.value + i) % kTsnMapBits;
        const std::uint64_t word = map_[at / 64] >> (at % 64);
        if (word == 0) {
            i += 64 - at % 64;
            continue;
        }
        i += static_cast<std::uint32_t>(std::countr_zero(word));
        if (i > distance) break;
        const std::uint32_t start = i;
        while (i < distance && bit(cumulative_ + (i + 1))) ++i;
        out[count++] = {static_cast<std::uint16_t>(start), static_cast<std::uint16_t>(i)};
        ++i;
    }
    return count;
}

bool Inbound::write_sack(wire::PacketWriter& out) {
    constexpr std::size_t kFixed = wire::kTlvHeader + wire::Sack::kFixed;
    if (out.room() < kFixed) return false;
    const std::size_t units = (out.room() - kFixed) / 4;
    advertised_ = window();
    const auto write = [&](std::span<const wire::GapBlock> gaps) {
        const std::size_t room = std::min<std::size_t>(units - gaps.size(), duplicate_count_);
        wire::write_sack(out, cumulative_, advertised_, gaps, std::span{duplicates_}.first(room));
    };
    if (map_ == nullptr) {
        write({});
    } else {
        std::array<wire::GapBlock, kMaxGapBlocks> gaps;
        write(std::span{gaps}.first(
            gap_blocks(std::span{gaps}.first(std::min(units, kMaxGapBlocks)))));
    }
    sack_now_ = false;
    sack_deadline_ = kNever;
    packets_ = 0;
    duplicate_count_ = 0;
    return true;
}

std::size_t Inbound::release(Environment& env, std::size_t max_blocks) {
    std::size_t freed = 0;
    for (InList* list : {&pending_, &ready_, &held_})
        while (list->head != nullptr && freed < max_blocks) {
            InChunk* chunk = list->head;
            list->remove(chunk);
            give_chunk(env.blocks, chunk);
            ++freed;
        }
    if (map_ != nullptr && freed < max_blocks) {
        env.blocks.give(map_, kMapBytes);
        map_ = nullptr;
        ++freed;
    }
    if (freed < max_blocks) {
        const std::size_t pages = paged_.pages();
        if (pages != 0) paged_.release(env.pages, max_blocks - freed);
        freed += pages - paged_.pages();
    }
    if (!holds_memory()) {
        held_bytes_ = ready_bytes_ = 0;
        highest_ = cumulative_;
    }
    return freed;
}

bool Inbound::is_consistent() const {
    std::uint32_t charged = 0;
    std::uint32_t ready = 0;
    for (const InChunk* c = pending_.head; c != nullptr; c = c->next) {
        charged += c->size + kHeldChunkOverhead;
        if (c->next != nullptr && !before(*c, *c->next)) return false;
        if (c->tsn > cumulative_ && !bit(c->tsn)) return false;
    }
    for (const InList* list : {&ready_, &held_})
        for (const InChunk* c = list->head; c != nullptr; c = c->next) {
            charged += c->size + kHeldChunkOverhead;
            ready += c->size;
        }
    return charged == held_bytes_ && ready == ready_bytes_ &&
           (map_ != nullptr) == (highest_ != cumulative_) && cumulative_ <= highest_ &&
           !bit(cumulative_ + 1u);
}

}  // namespace signalbox::sctp
