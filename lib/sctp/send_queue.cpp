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

void SendQueue::start(Environment& env, Scheduler scheduler, bool interleaved,
                      std::uint16_t streams) {
    scheduler_ = scheduler;
    interleaved_ = interleaved;
    resize(env, streams);
}

void SendQueue::resize(Environment& env, std::uint16_t streams) {
    lines_.resize(env.pages, streams);
    values_.resize(env.pages, streams);
}

SendQueue::Line* SendQueue::line_of(StreamId stream) const {
    Line* const* slot = lines_.find(stream.value);
    return slot != nullptr ? *slot : nullptr;
}

std::uint16_t SendQueue::value_of(const Environment& env, StreamId stream) const {
    const std::uint16_t* own = values_.find(stream.value);
    if (own != nullptr && *own != 0) return static_cast<std::uint16_t>(*own - 1);
    const auto& values = env.profile.scheduler_values;
    return stream.value < values.size() ? values[stream.value] : std::uint16_t{0};
}

bool SendQueue::set_value(Environment& env, StreamId stream, std::uint16_t value) {
    if (value == 0xffff) return false;
    std::uint16_t* own = values_.at(env.pages, stream.value);
    if (own == nullptr) return false;
    *own = static_cast<std::uint16_t>(value + 1);  // 0: not set
    return true;
}

bool SendQueue::prepare(Environment& env, StreamId stream) {
    if (scheduler_ == Scheduler::fcfs) return true;
    Line** slot = lines_.at(env.pages, stream.value);
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
    Line* at = last_;
    while (at != nullptr && at->key > line->key) at = at->prev;
    line->prev = at;
    line->next = at != nullptr ? at->next : first_;
    (line->next != nullptr ? line->next->prev : last_) = line;
    (at != nullptr ? at->next : first_) = line;
}

void SendQueue::unlink(Line* line) {
    (line->prev != nullptr ? line->prev->next : first_) = line->next;
    (line->next != nullptr ? line->next->prev : last_) = line->prev;
    line->next = line->prev = nullptr;
}

void SendQueue::append(const Environment&, OutChunk* first, OutChunk* last) {
    Line* line = scheduler_ == Scheduler::fcfs ? nullptr : line_of(first->stream);
    Chunks& chunks = line != nullptr ? line->chunks : fcfs_;
    const bool was_empty = chunks.head == nullptr;
    (chunks.tail != nullptr ? chunks.tail->next : chunks.head) = first;
    chunks.tail = last;
    if (line == nullptr || !was_empty) return;
    // A stream that was silent gets no credit for it: it begins where the others are.
    const bool by_bytes = scheduler_ == Scheduler::fair || scheduler_ == Scheduler::weighted;
    line->key = scheduler_ == Scheduler::priority ? line->value : by_bytes ? clock_ : 0;
    insert(line);
}

OutChunk* SendQueue::front() const {
    if (fcfs_.head != nullptr) return fcfs_.head;
    if (locked_ != nullptr) return locked_->chunks.head;
    return first_ != nullptr ? first_->chunks.head : nullptr;
}

std::optional<std::uint32_t> SendQueue::count(std::uint32_t limit) const {
    if (first_ != nullptr) return std::nullopt;
    std::uint32_t n = 0;
    for (const OutChunk* c = fcfs_.head; c != nullptr; c = next_of(c))
        if (++n > limit) return std::nullopt;
    return n;
}

/// Its turn is over: it goes behind the others of its key.
void SendQueue::served(Line* line, std::uint32_t bytes) {
    clock_ = line->key;
    unlink(line);
    if (scheduler_ == Scheduler::fair) line->key += bytes * kScale;
    if (scheduler_ == Scheduler::weighted)
        line->key += bytes * kScale / std::max<std::uint16_t>(line->value, 1);
    insert(line);
}

void SendQueue::retire(Environment& env, Line* line) {
    if (locked_ == line) locked_ = nullptr;
    unlink(line);
    *lines_.at(env.pages, line->stream.value) = nullptr;  // its page is there
    env.blocks.give(line, sizeof(Line));
}

OutChunk* SendQueue::pop_from(Environment& env, Line* line) {
    OutChunk* chunk = take(line->chunks);
    if (!interleaved_) locked_ = chunk->end() ? nullptr : line;
    if (line->chunks.head == nullptr) {
        clock_ = line->key;
        retire(env, line);
    } else {
        served(line, chunk->size);
    }
    return chunk;
}

OutChunk* SendQueue::pop(Environment& env) {
    if (fcfs_.head != nullptr) return take(fcfs_);
    Line* line = locked_ != nullptr ? locked_ : first_;
    return line != nullptr ? pop_from(env, line) : nullptr;
}

OutChunk* SendQueue::rest_of(StreamId stream) const {
    const Line* line = scheduler_ == Scheduler::fcfs ? nullptr : line_of(stream);
    OutChunk* chunk = line != nullptr ? line->chunks.head : fcfs_.head;
    return chunk != nullptr && chunk->stream == stream && !chunk->begin() ? chunk : nullptr;
}

OutChunk* SendQueue::pop_of(Environment& env, StreamId stream) {
    Line* line = scheduler_ == Scheduler::fcfs ? nullptr : line_of(stream);
    return line != nullptr ? pop_from(env, line) : take(fcfs_);
}

std::size_t SendQueue::release(Environment& env, std::size_t max_pages) {
    std::size_t freed = 0;
    const auto give = [&](auto& array) {
        if (freed >= max_pages || array.pages() == 0) return;
        const std::size_t before = array.pages();
        array.release(env.pages, max_pages - freed);
        freed += before - array.pages();
    };
    give(lines_);
    give(values_);
    return freed;
}

bool SendQueue::is_consistent() const {
    bool locked_found = locked_ == nullptr;
    for (const Line* line = first_; line != nullptr; line = line->next) {
        if (line->chunks.head == nullptr || line_of(line->stream) != line) return false;
        if (line->next != nullptr && line->next->key < line->key) return false;
        locked_found |= line == locked_;
    }
    return locked_found;
}

}  // namespace signalbox::sctp
