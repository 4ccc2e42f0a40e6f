// SPDX-License-Identifier: Apache-2.0
// COOKIE ECHO and COOKIE ACK, RFC 9260 3.3.11 and 3.3.12. The value of COOKIE ECHO is the cookie,
// nothing else.
#pragma once
#include "wire/chunk_writer.h"

namespace signalbox::wire {

constexpr void write_cookie_echo(PacketWriter& out, Bytes cookie) {
    out.chunk(ChunkType::cookie_echo, 0, cookie);
}
constexpr void write_cookie_ack(PacketWriter& out) {
    out.chunk(ChunkType::cookie_ack);
}

}  // namespace signalbox::wire
