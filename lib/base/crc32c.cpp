// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <climits>

#include "base/bytes.h"
#include "base/crc32c_implementations.h"

namespace signalbox {
namespace crc32c_detail {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        const auto byte = static_cast<std::uint8_t>(i);
        table[i] = update_bitwise(0, &byte, 1);
    }
    return table;
}
constexpr auto kTable = make_table();

bool always() {
    return true;
}

#if defined(__x86_64__)
// Reads a word that the compiler's start-up code has filled: cheap enough for each packet, and no
// state of ours.
bool has_sse42() {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}
constexpr std::array kImplementations{
    Implementation{"sse4.2 x3", has_sse42, update_sse42},
    Implementation{"isa-l", always, update_isal},
    Implementation{"table", always, update_table},
};
#else
constexpr std::array kImplementations{
    Implementation{"isa-l", always, update_isal},
    Implementation{"table", always, update_table},
};
#endif

}  // namespace

std::uint32_t update_table(std::uint32_t state, const std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) state = (state >> 8) ^ kTable[(state ^ bytes[i]) & 0xff];
    return state;
}

std::uint32_t update_isal(std::uint32_t state, const std::uint8_t* bytes, std::size_t size) {
    while (size > 0) {
        const int piece = static_cast<int>(std::min<std::size_t>(size, INT_MAX / 2));
        // It only reads, but its declaration is not const-correct.
        state = crc32_iscsi(const_cast<std::uint8_t*>(bytes), piece, state);
        bytes += piece;
        size -= static_cast<std::size_t>(piece);
    }
    return state;
}

std::span<const Implementation> implementations() {
    return kImplementations;
}

}  // namespace crc32c_detail

namespace {

constexpr std::size_t kCommonHeaderBytes = 12;
constexpr std::size_t kChecksumOffset = 8;
constexpr std::uint32_t kInverted = 0xffffffff;

std::uint32_t update(std::uint32_t state, const std::uint8_t* bytes, std::size_t size) {
#if defined(__x86_64__)
    // Fastest by perf/crc32c on packets of 72 to 268 bytes.
    if (crc32c_detail::has_sse42()) [[likely]]
        return crc32c_detail::update_sse42(state, bytes, size);
#endif
    return crc32c_detail::update_isal(state, bytes, size);
}

/// RFC 9260 6.8: over the whole packet, with the checksum field taken as zero.
std::uint32_t sctp_checksum(const std::uint8_t* packet, std::size_t size) {
#if defined(__x86_64__)
    if (crc32c_detail::has_sse42()) [[likely]]
        return crc32c_detail::update_packet_sse42(kInverted, packet, size) ^ kInverted;
#endif
    using crc32c_detail::update_isal;
    std::array<std::uint8_t, kCommonHeaderBytes> header{};
    std::copy_n(packet, kChecksumOffset, header.begin());
    const std::uint32_t state = update_isal(kInverted, header.data(), header.size());
    return update_isal(state, packet + kCommonHeaderBytes, size - kCommonHeaderBytes) ^ kInverted;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
    return update(kInverted, bytes.data(), bytes.size()) ^ kInverted;
}

bool sctp_checksum_ok(std::span<const std::uint8_t> sctp_packet) {
    if (sctp_packet.size() < kCommonHeaderBytes) return false;
    return sctp_checksum(sctp_packet.data(), sctp_packet.size()) ==
           load_le32(sctp_packet.data() + kChecksumOffset);
}

void sctp_checksum_store(std::span<std::uint8_t> sctp_packet) {
    assert(sctp_packet.size() >= kCommonHeaderBytes);
    if (sctp_packet.size() < kCommonHeaderBytes) return;
    store_le32(sctp_packet.data() + kChecksumOffset,
               sctp_checksum(sctp_packet.data(), sctp_packet.size()));
}

std::string_view crc32c_implementation() {
    for (const auto& implementation : crc32c_detail::implementations())
        if (implementation.available()) return implementation.name;
    return {};
}

}  // namespace signalbox
