// SPDX-License-Identifier: Apache-2.0
// CRC32c (Castagnoli) of an SCTP packet, RFC 9260 6.8 and appendix A. Run-time choice of the
// fastest implementation.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace signalbox {

/// CRC32c of the bytes, in the byte order in which it is stored: write it with memcpy /
/// little-endian store.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);
/// True when the SCTP packet's checksum field (offset 8) is right. Packets under 12 bytes: false.
bool sctp_checksum_ok(std::span<const std::uint8_t> sctp_packet);
/// Computes and stores the checksum field of a whole SCTP packet of at least 12 bytes.
void sctp_checksum_store(std::span<std::uint8_t> sctp_packet);
/// Name of the implementation in use, for the log and benchmarks.
std::string_view crc32c_implementation();

}  // namespace signalbox
