// SPDX-License-Identifier: Apache-2.0
// Answers that must go to where the question came from (HS-8): HEARTBEAT ACK, ERROR, INIT ACK, and
// SHUTDOWN COMPLETE with a reflected tag. At most one packet for each received packet (PKT-3, X03).
#pragma once
#include "sctp/association.h"
#include "wire/chunk_writer.h"

namespace signalbox::sctp {

inline constexpr std::uint8_t kMaxReplies = 8;  // waiting at a time; a flood gets no more

/// The whole packet follows in the block, common header first.
struct Association::Reply {
    Reply* next = nullptr;
    IpAddress source;
    IpAddress destination;
    std::uint16_t size = 0;
    std::uint16_t capacity = 0;
    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    std::span<const std::uint8_t> view() const {
        return {reinterpret_cast<const std::uint8_t*>(this + 1), size};
    }
    std::span<std::uint8_t> room() {
        return std::span{bytes() + size, std::size_t{capacity} - size};
    }
};

/// What is known about the packet being processed.
struct Association::ReceivePass {
    const Packet& packet;
    Effects& effects;
    std::size_t path = 0;      // index of the source's path, path count when it is none
    Reply* reply = nullptr;    // begun for this packet
    std::size_t error_at = 0;  // where the ERROR begins that ends the reply; 0: none
    bool duplicate = false;    // the packet held DATA that came before
    bool stop = false;         // the rest of the packet is not looked at
    bool data = false;         // the packet held DATA
};

}  // namespace signalbox::sctp
