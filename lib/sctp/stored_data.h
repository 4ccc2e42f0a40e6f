// SPDX-License-Identifier: Apache-2.0
// User data kept in blocks: received chunks (longer than a block: a chain of pieces) and any other
// bytes that must outlive a packet (cookie, replies).
#pragma once
#include <cstdint>
#include <span>

#include "base/numbers.h"
#include "mem/block_pool.h"
#include "wire/i_data.h"

namespace signalbox::sctp {

/// Bytes follow the header in the same block.
struct StoredPiece {
    StoredPiece* next = nullptr;
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    std::span<const std::uint8_t> view() const {
        return {reinterpret_cast<const std::uint8_t*>(this + 1), size};
    }
};
inline constexpr std::size_t kMaxPieceBytes = mem::BlockPool::kMaxBytes - sizeof(StoredPiece);

/// nullptr: no memory, or more than one piece can hold.
StoredPiece* take_piece(mem::BlockPool& blocks, std::size_t capacity);
void give_piece(mem::BlockPool& blocks, StoredPiece* piece);
/// A copy of the bytes in one piece; nullptr: no memory.
StoredPiece* keep_piece(mem::BlockPool& blocks, std::span<const std::uint8_t> bytes);

/// One DATA or I-DATA chunk as it came. `mid`: a DATA chunk's SSN until its stream is looked up.
struct Fragment {
    std::uint8_t flags = wire::Data::kBegin | wire::Data::kEnd;
    Tsn tsn;
    StreamId stream;
    Mid mid;
    std::uint32_t fsn = 0;
    Ppid ppid;
    std::span<const std::uint8_t> payload;

    bool begin() const { return (flags & wire::Data::kBegin) != 0; }
    bool end() const { return (flags & wire::Data::kEnd) != 0; }
    bool unordered() const { return (flags & wire::Data::kUnordered) != 0; }
    bool immediate() const { return (flags & wire::Data::kImmediate) != 0; }
    static Fragment of(const wire::Data& d) {
        return {d.flags, d.tsn, d.stream, {d.ssn.value}, 0, d.ppid, d.payload};
    }
    static Fragment of(const wire::IData& d) {
        return {d.flags, d.tsn, d.stream, d.mid, d.fsn(), d.ppid(), d.payload};
    }
};

/// A received DATA or I-DATA chunk that waits: its user data follows in the block, what does not
/// fit is in `rest`.
struct InChunk {
    InChunk* next = nullptr;
    InChunk* prev = nullptr;
    StoredPiece* rest = nullptr;
    std::uint32_t size = 0;  // all user data
    Tsn tsn;
    Ppid ppid;
    StreamId stream;
    Mid mid;
    std::uint32_t fsn = 0;
    std::uint16_t here = 0;  // user data in this block
    std::uint8_t flags = 0;

    bool begin() const { return (flags & wire::Data::kBegin) != 0; }
    bool end() const { return (flags & wire::Data::kEnd) != 0; }
    bool unordered() const { return (flags & wire::Data::kUnordered) != 0; }
    const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};
inline constexpr std::size_t kInChunkRoom = mem::BlockPool::kMaxBytes - sizeof(InChunk);

InChunk* keep_chunk(mem::BlockPool& blocks, const Fragment& data);  // nullptr: no memory
void give_chunk(mem::BlockPool& blocks, InChunk* chunk);
/// Copies the user data to `out`, which has room for chunk.size bytes.
void copy_out(const InChunk& chunk, std::uint8_t* out);

/// Doubly linked: sorted, or in order of arrival.
struct InList {
    InChunk* head = nullptr;
    InChunk* tail = nullptr;
    bool empty() const { return head == nullptr; }
    void append(InChunk* chunk);
    /// Behind the last one that is not after it; most belong at an end.
    template <class Less>
    void insert(InChunk* chunk, Less before) {
        InChunk* at = tail;
        if (head != nullptr && before(*chunk, *head)) at = nullptr;
        while (at != nullptr && before(*chunk, *at)) at = at->prev;
        link_behind(at, chunk);
    }
    void link_behind(InChunk* at, InChunk* chunk);
    void remove(InChunk* chunk);
};

}  // namespace signalbox::sctp
