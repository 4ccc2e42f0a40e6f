// SPDX-License-Identifier: Apache-2.0
// What waits for its first transmission, and which stream's turn it is: the stream schedulers of
// RFC 8260 3.
//
//   fcfs         one list                            (3.1)
//   round_robin  key 0: behind all others            (3.2)
//   priority     key = priority, 0 goes first        (3.4), equal ones take turns
//   fair         key = bytes sent                    (3.5)
//   weighted     key = bytes sent / weight           (3.6)
//
// All but the first keep one queue for each stream that has something to send, in a list in order
// of their keys; the served queue goes behind those with the same key. With DATA the turn lasts for
// a message (RFC 9260 6.9: no other message between its fragments), with I-DATA for a chunk.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "mem/paged_array.h"
#include "sctp/environment.h"
#include "sctp/settings.h"

namespace signalbox::sctp {

struct OutChunk;

class SendQueue {
 public:
    /// Takes no memory; nothing is queued.
    /// A scheduler that finds no memory for its state serves first come, first served.
    void start(Environment& env, Scheduler scheduler, bool interleaved);
    void resize(Environment& env, std::uint16_t streams);

    /// Takes what append() needs; false: no memory.
    bool prepare(Environment& env, StreamId stream);
    /// One message, after prepare() of its stream.
    void append(const Environment& env, OutChunk* first, OutChunk* last);
    bool empty() const {
        return fcfs_.head == nullptr && (turns_ == nullptr || turns_->first == nullptr);
    }
    /// How many chunks wait, when they leave in the order in which they came and are at most
    /// `limit`.
    std::optional<std::uint32_t> count(std::uint32_t limit) const;
    OutChunk* front() const;  // the chunk whose turn it is
    OutChunk* pop(Environment& env);
    /// A message of which something was popped: its next chunk; nullptr: none.
    OutChunk* unfinished() const;
    bool is_last(const OutChunk& chunk) const;
    /// What is left of the message of the stream whose first chunks were popped; nullptr: nothing.
    OutChunk* rest_of(StreamId stream) const;
    /// The next chunk of the stream, which has one, out of turn.
    OutChunk* pop_of(Environment& env, StreamId stream);

    /// Priority (0 first) or weight (1 and more) of one stream; false: no such stream, no page.
    bool set_value(Environment& env, StreamId stream, std::uint16_t value);

    template <class Function>
    void each(Function function) const {
        for (OutChunk* c = fcfs_.head; c != nullptr; c = next_of(c)) function(*c);
        if (turns_ == nullptr) return;
        for (const Line* line = turns_->first; line != nullptr; line = line->next)
            for (OutChunk* c = line->chunks.head; c != nullptr; c = next_of(c)) function(*c);
    }
    /// After everything was popped: pages, at most `max_pages`; returns how many.
    std::size_t release(Environment& env, std::size_t max_pages);
    bool holds_memory() const { return turns_ != nullptr; }
    bool is_consistent() const;

 private:
    struct Chunks {
        OutChunk* head = nullptr;
        OutChunk* tail = nullptr;
    };
    struct Line {  // one stream that has something to send, in a block of its own
        Line* next = nullptr;
        Line* prev = nullptr;
        Chunks chunks;
        std::uint64_t key = 0;
        StreamId stream;
        std::uint16_t value = 0;
    };
    struct Turns {
        Line* first = nullptr;
        Line* last = nullptr;
        Line* locked = nullptr;        // a message of it is half sent, and it must go on
        std::uint64_t clock = 0;       // key of the line served last: where a new one begins
        mem::PagedArray<Line*> lines;  // by stream
        mem::PagedArray<std::uint16_t> values;
        Scheduler scheduler = Scheduler::fcfs;
        bool interleaved = false;
    };
    static OutChunk* next_of(const OutChunk* chunk);
    static OutChunk* take(Chunks& chunks);
    std::uint16_t value_of(const Environment& env, StreamId stream) const;
    Line* line_of(StreamId stream) const;
    Line* source_of(StreamId stream) const;
    void insert(Line* line);
    void unlink(Line* line);
    void served(Line* line, std::uint32_t bytes);
    OutChunk* pop_from(Environment& env, Line* line);
    void retire(Environment& env, Line* line);

    Chunks fcfs_;
    Turns* turns_ = nullptr;  // in a block; nullptr: fcfs
};

}  // namespace signalbox::sctp
