// SPDX-License-Identifier: Apache-2.0
// Serialises an SCTP packet in place, into a buffer that someone lent. It never writes past the
// buffer: what does not fit sets a flag that stays, and only discard_chunk() takes back the chunk
// that did not fit.
#pragma once
#include <cassert>

#include "wire/chunk_types.h"
#include "wire/sctp_header.h"
#include "wire/tlv.h"

namespace signalbox::wire {

class PacketWriter {
 public:
    /// Begins with the common header, checksum 0. A buffer shorter than that overflows at once.
    constexpr PacketWriter(std::span<std::uint8_t> buffer, const SctpHeader& header)
        : buffer_(buffer) {
        if (const auto at = claim(SctpHeader::kBytes); !at.empty()) write_sctp_header(at, header);
    }

    constexpr void begin_chunk(ChunkType type, std::uint8_t flags = 0) {
        if (overflowed_) return;
        assert(chunk_at_ == kNone);
        chunk_at_ = size_;
        u8(static_cast<std::uint8_t>(type));
        u8(flags);
        u16(0);
    }
    /// Sets the length, without the padding of a last parameter (RFC 9260 3.2), and pads with
    /// zeros.
    constexpr void end_chunk() {
        if (overflowed_) return;
        assert(chunk_at_ != kNone && parameter_at_ == kNone);
        close(chunk_at_);
        pad();
        if (!overflowed_) chunk_at_ = kNone;
    }
    /// Forgets the open chunk, or the one whose end did not fit, and its overflow.
    constexpr void discard_chunk() {
        if (chunk_at_ == kNone) return;
        size_ = chunk_at_;
        chunk_at_ = parameter_at_ = kNone;
        overflowed_ = false;
    }
    constexpr void chunk(ChunkType type, std::uint8_t flags = 0, Bytes value = {}) {
        begin_chunk(type, flags);
        bytes(value);
        end_chunk();
    }

    /// A parameter or an error cause inside the open chunk; the padding of the one before is
    /// counted now.
    constexpr void begin_parameter(std::uint16_t type) {
        if (overflowed_) return;
        assert(chunk_at_ != kNone && parameter_at_ == kNone);
        pad();
        parameter_at_ = size_;
        u16(type);
        u16(0);
    }
    constexpr void end_parameter() {
        if (overflowed_) return;
        assert(parameter_at_ != kNone);
        close(parameter_at_);
        parameter_at_ = kNone;
    }
    constexpr void parameter(std::uint16_t type, Bytes value = {}) {
        begin_parameter(type);
        bytes(value);
        end_parameter();
    }

    constexpr void u8(std::uint8_t v) {
        if (const auto at = claim(1); !at.empty()) at[0] = v;
    }
    constexpr void u16(std::uint16_t v) {
        if (const auto at = claim(2); !at.empty()) store_u16(at, 0, v);
    }
    constexpr void u32(std::uint32_t v) {
        if (const auto at = claim(4); !at.empty()) store_u32(at, 0, v);
    }
    constexpr void bytes(Bytes from) {
        if (const auto at = claim(from.size()); !at.empty()) store_bytes(at, 0, from);
    }
    /// Room for the caller to fill in; empty when there is none.
    constexpr std::span<std::uint8_t> claim(std::size_t n) {
        if (overflowed_ || n > buffer_.size() - size_) {
            overflowed_ = true;
            return {};
        }
        size_ += n;
        return buffer_.subspan(size_ - n, n);
    }
    /// Overwrites two bytes already written, at an offset into the packet (a count known only at
    /// the end).
    constexpr void patch_u16(std::size_t at, std::uint16_t v) {
        if (at + 2 <= size_) store_u16(buffer_, at, v);
    }

    constexpr std::size_t size() const { return size_; }
    constexpr std::size_t room() const { return overflowed_ ? 0 : buffer_.size() - size_; }
    constexpr bool overflowed() const { return overflowed_; }
    /// Nothing but the common header: not worth sending.
    constexpr bool empty() const { return size_ <= SctpHeader::kBytes; }
    constexpr std::span<std::uint8_t> packet() const { return buffer_.first(size_); }

 private:
    static constexpr std::size_t kNone = ~std::size_t{0};
    static constexpr std::size_t kMaxLength = 0xffff;  // the field has 16 bits

    constexpr void close(std::size_t at) {
        if (size_ - at > kMaxLength) overflowed_ = true;
        if (!overflowed_) store_u16(buffer_, at + 2, static_cast<std::uint16_t>(size_ - at));
    }
    constexpr void pad() {  // the common header and every chunk end on a multiple of 4
        while (!overflowed_ && size_ % 4 != 0) u8(0);
    }

    std::span<std::uint8_t> buffer_;
    std::size_t size_ = 0;
    std::size_t chunk_at_ = kNone;
    std::size_t parameter_at_ = kNone;
    bool overflowed_ = false;
};

}  // namespace signalbox::wire
