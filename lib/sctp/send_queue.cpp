// SPDX-License-Identifier: Apache-2.0
#include "sctp/send_queue.h"

#include <algorithm>
#include <new>

#include "sctp/outbound.h"

namespace signalbox::sctp {

namespace {
constexpr std::uint64_t kScale = 1 << 16;  // so that a byte divided by any weight still counts
}

OutChunk* SendQueue::next_of(const OutChunk* chunk) {
    return chunk->next;
}

OutChunk* SendQueue::take(Chunks& chunks) {
    OutChunk* chunk = chunks.head;
    chunks.head = chunk->next;
    if (chunks.head == nullptr) chunks.tail = nullptr;
    chunk->next = nullptr;
    return chunk;
}

void SendQueue::start(Environment& env, Scheduler scheduler, bool interleaved) {
    if (scheduler == Scheduler::fcfs || turns_ != nullptr) return;
    void* block = env.blocks.take(sizeof(Turns));
    if (block == nullptr) return;
    turns_ = new (block) Turns;
    turns_->scheduler = scheduler;
    turns_->interleaved = interleaved;
}

void SendQueue::resize(Environment& env, std::uint16_t streams) {
    if (turns_ == nullptr) return;
    turns_->lines.resize(env.pages, streams);
    turns_->values.resize(env.pages, streams);
}

SendQueue::Line* SendQueue::line_of(StreamId stream) const {
    Line* const* slot = turns_ != nullptr ? turns_->lines.find(stream.value) : nullptr;
    return slot != nullptr ? *slot : nullptr;
}

std::uint16_t SendQueue::value_of(const Environment& env, StreamId stream) const {
    const std::uint16_t* own = turns_->values.find(stream.value);
    if (own != nullptr && *own != 0) return static_cast<std::uint16_t>(*own - 1);
    const auto& values = env.profile.scheduler_values;
    return stream.value < values.size() ? values[stream.value] : std::uint16_t{0};
}

bool SendQueue::set_value(Environment& env, StreamId stream, std::uint16_t value) {
    if (value == 0xffff || turns_ == nullptr) return false;
    std::uint16_t* own = turns_->values.at(env.pages, stream.value);
    if (own == nullptr) return false;
    *own = static_cast<std::uint16_t>(value + 1);  // 0: not set
    return true;
}

bool SendQueue::prepare(Environment& env, StreamId stream) {
    if (turns_ == nullptr) return true;
    Line** slot = turns_->lines.at(env.pages, stream.value);
    if (slot == nullptr) return false;
    if (*slot != nullptr) return true;
    void* block = env.blocks.take(sizeof(Line));
    if (block == nullptr) return false;
    Line* line = new (block) Line;
    line->stream = stream;
    line->value = value_of(env, stream);
    *slot = line;
    return true;
}

/// Behind all whose key is not greater: equal ones take turns.
void SendQueue::insert(Line* line) {
    Line* at = turns_->last;
    while (at != nullptr && at->key > line->key) at = at->prev;
    line->prev = at;
    line->next = at != nullptr ? at->next : turns_->first;
    (line->next != nullptr ? line->next->prev : turns_->last) = line;
    (at != nullptr ? at->next : turns_->first) = line;
}

void SendQueue::unlink(Line* line) {
    (line->prev != nullptr ? line->prev->next : turns_->first) = line->next;
    (line->next != nullptr ? line->next->prev : turns_->last) = line->prev;
    line->next = line->prev = nullptr;
}

void SendQueue::append(const Environment&, OutChunk* first, OutChunk* last) {
    Line* line = line_of(first->stream);
    Chunks& chunks = line != nullptr ? line->chunks : fcfs_;
    const bool was_empty = chunks.head == nullptr;
    (chunks.tail != nullptr ? chunks.tail->next : chunks.head) = first;
    chunks.tail = last;
    if (line == nullptr || !was_empty) return;
    // A stream that was silent gets no credit for it: it begins where the others are.
    const bool by_bytes =
        turns_->scheduler == Scheduler::fair || turns_->scheduler == Scheduler::weighted;
    line->key = turns_->scheduler == Scheduler::priority ? line->value
                : by_bytes                               ? turns_->clock
                                                         : 0;
    insert(line);
}

OutChunk* SendQueue::front() const {
    if (turns_ == nullptr) return fcfs_.head;
    if (turns_->locked != nullptr) return turns_->locked->chunks.head;
    if (fcfs_.head != nullptr) return fcfs_.head;
    return turns_->first != nullptr ? turns_->first->chunks.head : nullptr;
}

OutChunk* SendQueue::unfinished() const {
    const bool locked = turns_ != nullptr && turns_->locked != nullptr;
    if (locked) return turns_->locked->chunks.head;
    if (fcfs_.head != nullptr && !fcfs_.head->begin()) return fcfs_.head;
    if (turns_ == nullptr || !turns_->interleaved) return nullptr;
    for (const Line* line = turns_->first; line != nullptr; line = line->next)
        if (!line->chunks.head->begin()) return line->chunks.head;
    return nullptr;
}

bool SendQueue::is_last(const OutChunk& chunk) const {
    if (chunk.next != nullptr) return false;
    if (turns_ == nullptr) return fcfs_.head == &chunk;
    if (fcfs_.head != nullptr) return fcfs_.head == &chunk && turns_->first == nullptr;
    return turns_->first != nullptr && turns_->first == turns_->last &&
           turns_->first->chunks.head == &chunk;
}

std::optional<std::uint32_t> SendQueue::count(std::uint32_t limit) const {
    if (turns_ != nullptr && turns_->first != nullptr) return std::nullopt;
    std::uint32_t n = 0;
    for (const OutChunk* c = fcfs_.head; c != nullptr; c = next_of(c))
        if (++n > limit) return std::nullopt;
    return n;
}

/// Its turn is over: it goes behind the others of its key.
void SendQueue::served(Line* line, std::uint32_t bytes) {
    turns_->clock = line->key;
    unlink(line);
    if (turns_->scheduler == Scheduler::fair) line->key += bytes * kScale;
    if (turns_->scheduler == Scheduler::weighted)
        line->key += bytes * kScale / std::max<std::uint16_t>(line->value, 1);
    insert(line);
}

void SendQueue::retire(Environment& env, Line* line) {
    if (turns_->locked == line) turns_->locked = nullptr;
    unlink(line);
    *turns_->lines.at(env.pages, line->stream.value) = nullptr;  // its page is there
    env.blocks.give(line, sizeof(Line));
}

OutChunk* SendQueue::pop_from(Environment& env, Line* line) {
    OutChunk* chunk = take(line->chunks);
    if (!turns_->interleaved) turns_->locked = chunk->end() ? nullptr : line;
    if (line->chunks.head == nullptr) {
        turns_->clock = line->key;
        retire(env, line);
    } else {
        served(line, chunk->size);
    }
    return chunk;
}

OutChunk* SendQueue::pop(Environment& env) {
    const OutChunk* next = front();
    return next != nullptr ? pop_of(env, next->stream) : nullptr;
}

/// Where the next chunk of the stream is; a line of another scheduler, or the one list.
SendQueue::Line* SendQueue::source_of(StreamId stream) const {
    Line* line = line_of(stream);
    const bool listed = fcfs_.head != nullptr && fcfs_.head->stream == stream;
    return line == nullptr || (listed && line != turns_->locked) ? nullptr : line;
}

OutChunk* SendQueue::rest_of(StreamId stream) const {
    const Line* line = source_of(stream);
    OutChunk* chunk = line != nullptr ? line->chunks.head : fcfs_.head;
    return chunk != nullptr && chunk->stream == stream && !chunk->begin() ? chunk : nullptr;
}

OutChunk* SendQueue::pop_of(Environment& env, StreamId stream) {
    Line* line = source_of(stream);
    return line != nullptr ? pop_from(env, line) : take(fcfs_);
}

std::size_t SendQueue::release(Environment& env, std::size_t max_pages) {
    std::size_t freed = 0;
    if (turns_ == nullptr) return freed;
    const auto give = [&](auto& array) {
        if (freed >= max_pages || array.pages() == 0) return;
        const std::size_t before = array.pages();
        array.release(env.pages, max_pages - freed);
        freed += before - array.pages();
    };
    give(turns_->lines);
    give(turns_->values);
    if (freed >= max_pages) return freed;
    env.blocks.give(turns_, sizeof(Turns));
    turns_ = nullptr;
    return freed + 1;
}

bool SendQueue::is_consistent() const {
    if (turns_ == nullptr) return true;
    bool locked_found = turns_->locked == nullptr;
    for (const Line* line = turns_->first; line != nullptr; line = line->next) {
        if (line->chunks.head == nullptr || line_of(line->stream) != line) return false;
        if (line->next != nullptr && line->next->key < line->key) return false;
        locked_found |= line == turns_->locked;
    }
    return locked_found;
}

}  // namespace signalbox::sctp
