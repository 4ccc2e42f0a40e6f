// SPDX-License-Identifier: Apache-2.0
#include "sctp/stored_data.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace signalbox::sctp {

StoredPiece* take_piece(mem::BlockPool& blocks, std::size_t capacity) {
    if (capacity > kMaxPieceBytes) return nullptr;
    void* block = blocks.take(sizeof(StoredPiece) + capacity);
    if (block == nullptr) return nullptr;
    auto* piece = new (block) StoredPiece;
    piece->capacity = static_cast<std::uint32_t>(capacity);
    return piece;
}

void give_piece(mem::BlockPool& blocks, StoredPiece* piece) {
    blocks.give(piece, sizeof(StoredPiece) + piece->capacity);
}

StoredPiece* keep_piece(mem::BlockPool& blocks, std::span<const std::uint8_t> bytes) {
    StoredPiece* piece = take_piece(blocks, bytes.size());
    if (piece == nullptr) return nullptr;
    if (!bytes.empty()) std::memcpy(piece->bytes(), bytes.data(), bytes.size());
    piece->size = static_cast<std::uint32_t>(bytes.size());
    return piece;
}

InChunk* keep_chunk(mem::BlockPool& blocks, const Fragment& data) {
    const std::size_t here = std::min(data.payload.size(), kInChunkRoom);
    void* block = blocks.take(sizeof(InChunk) + here);
    if (block == nullptr) return nullptr;
    auto* chunk = new (block) InChunk;
    chunk->here = static_cast<std::uint16_t>(here);
    chunk->size = static_cast<std::uint32_t>(data.payload.size());
    chunk->tsn = data.tsn;
    chunk->ppid = data.ppid;
    chunk->stream = data.stream;
    chunk->mid = data.mid;
    chunk->fsn = data.fsn;
    chunk->flags = data.flags;
    if (here != 0) std::memcpy(chunk->bytes(), data.payload.data(), here);
    StoredPiece** link = &chunk->rest;
    for (std::size_t at = here; at < data.payload.size();) {
        const std::size_t n = std::min(data.payload.size() - at, kMaxPieceBytes);
        *link = keep_piece(blocks, data.payload.subspan(at, n));
        if (*link == nullptr) {
            give_chunk(blocks, chunk);
            return nullptr;
        }
        link = &(*link)->next;
        at += n;
    }
    return chunk;
}

void give_chunk(mem::BlockPool& blocks, InChunk* chunk) {
    for (StoredPiece* piece = chunk->rest; piece != nullptr;) {
        StoredPiece* next = piece->next;
        give_piece(blocks, piece);
        piece = next;
    }
    blocks.give(chunk, sizeof(InChunk) + chunk->here);
}

void copy_out(const InChunk& chunk, std::uint8_t* out) {
    if (chunk.here != 0) std::memcpy(out, chunk.bytes(), chunk.here);
    out += chunk.here;
    for (const StoredPiece* piece = chunk.rest; piece != nullptr; piece = piece->next) {
        std::memcpy(out, piece->view().data(), piece->size);
        out += piece->size;
    }
}

void InList::append(InChunk* chunk) {
    chunk->prev = tail;
    chunk->next = nullptr;
    (tail != nullptr ? tail->next : head) = chunk;
    tail = chunk;
}

void InList::link_behind(InChunk* at, InChunk* chunk) {
    chunk->prev = at;
    chunk->next = at != nullptr ? at->next : head;
    (chunk->next != nullptr ? chunk->next->prev : tail) = chunk;
    (at != nullptr ? at->next : head) = chunk;
}

void InList::remove(InChunk* chunk) {
    (chunk->prev != nullptr ? chunk->prev->next : head) = chunk->next;
    (chunk->next != nullptr ? chunk->next->prev : tail) = chunk->prev;
    chunk->next = chunk->prev = nullptr;
}

}  // namespace signalbox::sctp
