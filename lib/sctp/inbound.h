// SPDX-License-Identifier: Apache-2.0
// The receiving half: which TSNs came (6.7), reassembly (6.9), order within streams (6.5), window
// and SACK (6.2).
//
//   packet --in order, whole--> effects.messages
//      '--else--> pending_ --whole and next of its stream--> ready_ (after held_, what core gave
//      back)
//
// pending_ is in TSN order; with I-DATA (RFC 8260) in order of stream, kind, MID and FSN. Either
// way the fragments of a message are neighbours. Inside, an SSN is the low half of a 32-bit number.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/prefetch.h"
#include "mem/paged_array.h"
#include "sctp/effects.h"
#include "sctp/environment.h"
#include "sctp/extensions.h"
#include "sctp/stored_data.h"
#include "wire/data.h"
#include "wire/forward_tsn.h"
#include "wire/sack.h"

namespace signalbox::sctp {

inline constexpr std::uint32_t kTsnMapBits =
    16384;  // farthest TSN ahead of the cumulative one that is taken
inline constexpr std::uint32_t kHeldChunkOverhead =
    64;  // charged to the window for each chunk held (D06)

enum class DataOutcome : std::uint8_t {
    accepted,
    duplicate,
    no_memory,
    window_full,
    out_of_range,
    violation,
    too_long,
    invalid_stream,
    skipped,  // of a message that a FORWARD TSN passed over
};

enum class ForwardOutcome : std::uint8_t { applied, old, out_of_range, no_memory };

class Inbound {
 public:
    /// Takes no memory. release() comes first when it was started before.
    void start(Environment& env, Tsn initial, std::uint16_t streams, Extensions extensions);

    DataOutcome receive(Environment& env, const Fragment& data, Effects& effects);
    /// FORWARD TSN or I-FORWARD-TSN: what the peer gave up counts as received (RFC 3758 3.6).
    ForwardOutcome forward(Environment& env, const wire::ForwardTsn& skip);
    /// A packet with DATA has been processed: SACK at once or delayed (6.2).
    void packet_done(const Environment& env);
    void sack_at_once() { sack_now_ = true; }

    bool hold(Environment& env, const Message& message);
    std::optional<Message> front_ready(Environment& env) const;
    void pop_ready(Environment& env);
    // RFC 6525: inbound_reset.cpp
    void reset_streams(Environment& env, std::span<const std::uint8_t> streams);  // none: all
    void set_streams(Environment& env, std::uint16_t streams);
    /// TSNs and all streams begin anew; fragments that wait are discarded.
    void restart_at(Environment& env, Tsn next);
    bool has_gap() const { return highest_ != cumulative_; }
    bool continue_stream(Environment& env, StreamId id, Mid next);
    bool nothing_ready() const { return held_.empty() && ready_.empty(); }

    /// D03, D07: then the chunk that waited longest is looked at.
    Time stall_deadline() const { return watching_ ? stall_deadline_ : kNever; }
    /// It waits still. False: the next one is watched, if there is one.
    bool is_stalled(const Environment& env);

    bool sack_due() const { return sack_now_; }
    bool sack_waits() const { return sack_now_ || sack_deadline_ != kNever; }
    Time sack_deadline() const { return sack_deadline_; }
    /// Appends the SACK; false when not even its fixed part fits. Clears the need for it when
    /// written.
    bool write_sack(wire::PacketWriter& out);

    Tsn cumulative_tsn() const { return cumulative_; }
    bool received_anything() const { return received_; }
    std::uint16_t streams() const { return streams_; }
    std::uint32_t window() const;
    std::uint32_t ready_bytes() const { return ready_bytes_; }
    std::uint32_t held_bytes() const { return held_bytes_; }

    std::size_t release(Environment& env, std::size_t max_blocks);  // blocks given back
    bool holds_memory() const {
        return !pending_.empty() || !nothing_ready() || map_ != nullptr || paged_.pages() != 0;
    }
    bool is_consistent() const;

    /// What a packet touches, a page of streams aside.
    SIGNALBOX_ALWAYS_INLINE void prefetch() const { prefetch_lines(this, &paged_); }

    std::uint8_t sack_path = 0;  // where the last DATA came from (6.4)

 private:
    /// With DATA `next` is an SSN and the upper half counts the ordered chunks that wait; a MID
    /// needs all of it. 4 bytes: 16 of them are in the association.
    struct Stream {
        std::uint32_t bits = 0;
    };
    static constexpr std::size_t kMapBytes = kTsnMapBits / 8;
    static constexpr std::size_t kMaxDuplicates = 16;
    static constexpr std::size_t kMaxGapBlocks = 300;

    Stream* stream(Environment& env, StreamId id);
    Stream* find_stream(StreamId id);
    template <class Function>
    void each_of(std::span<const std::uint8_t> streams, Function function);
    bool bit(Tsn tsn) const;
    void set_bit(Tsn tsn, bool on);
    bool take_map(Environment& env);
    void mark_received(Environment& env, Tsn tsn);
    bool give_up_highest(Environment& env, Tsn wanted);
    DataOutcome judge(Tsn tsn) const;
    bool before(const InChunk& a, const InChunk& b) const;    // in pending_
    bool adjacent(const InChunk& a, const InChunk& b) const;  // b goes on where a ends
    bool contradicts(const Fragment& data) const;
    bool contradicts_interleaved(const Fragment& data) const;
    // The number of the ordered message that is delivered next, and how many chunks wait.
    Mid next_of(const Stream& s) const { return {interleaved_ ? s.bits : s.bits & 0xffffu}; }
    void set_next(Stream& s, Mid next) const {
        s.bits = interleaved_ ? next.value : (s.bits & 0xffff0000u) | (next.value & 0xffffu);
    }
    /// With I-DATA they are counted together, in waiting_.
    bool anything_waits(const Stream& s) const {
        return interleaved_ ? waiting_ != 0 : s.bits >> 16 != 0;
    }
    void count_waiting(Stream& s, bool comes);
    /// In the arithmetic of the number's width.
    bool earlier(Mid a, Mid b) const {
        if (interleaved_) return a < b;
        return Ssn{static_cast<std::uint16_t>(a.value)} < Ssn{static_cast<std::uint16_t>(b.value)};
    }
    DataOutcome take(Environment& env, const Fragment& data, Stream& stream, Effects& effects);
    DataOutcome keep(Environment& env, const Fragment& data, Stream& stream);
    void advance_to(Environment& env, Tsn cumulative);
    void resettle(Environment& env, const wire::ForwardTsn& skip);
    bool given_up(const InChunk& first, const wire::ForwardTsn& skip, const Stream& stream) const;
    void discard(Environment& env, InChunk* first, InChunk* last, Stream& stream);
    bool complete(InChunk* chunk, InChunk*& first, InChunk*& last, std::uint32_t& bytes) const;
    void make_ready(InChunk* first, InChunk* last, Stream& stream);
    void drain(Stream& stream, StreamId id);
    void note_duplicate(Tsn tsn);
    void watch(const Environment& env, Tsn tsn);
    std::size_t gap_blocks(std::span<wire::GapBlock> out) const;

    Tsn cumulative_;
    Tsn highest_;
    std::uint64_t* map_ = nullptr;  // bit per TSN modulo kTsnMapBits, only while there is a gap
    InList pending_;
    InList ready_;
    InList held_;
    Time sack_deadline_ = kNever;
    std::uint32_t held_bytes_ = 0;  // charged to the window
    std::uint32_t ready_bytes_ = 0;
    std::uint32_t waiting_ = 0;  // ordered chunks in pending_, with I-DATA
    std::uint32_t advertised_ = 0;
    std::uint32_t capacity_ = 0;      // the window when nothing is held
    std::uint32_t least_window_ = 0;  // what is not worth advertising
    std::uint16_t streams_ = 0;
    std::uint8_t packets_ = 0;  // with DATA, since the last SACK
    std::uint8_t duplicate_count_ = 0;
    bool sack_now_ = false;
    bool received_ = false;
    bool interleaved_ = false;  // I-DATA in place of DATA
    bool forwarded_ = false;    // the peer gave up messages
    bool watching_ = false;     // something waits in pending_, or did
    std::array<Stream, kInlineStreams> inline_;
    mem::PagedArray<Stream> paged_;
    std::array<Tsn, kMaxDuplicates> duplicates_;
    Time stall_deadline_{};  // of watched_
    Tsn watched_;            // a chunk of pending_ that no other was older than
};

}  // namespace signalbox::sctp
