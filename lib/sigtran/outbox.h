// SPDX-License-Identifier: Apache-2.0
// What management has to say: messages in order, and the NTFYs of one event, which come last and
// together.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sigtran/signaling_gateway.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

class Outbox {
 public:
    void send(PeerIndex peer, std::vector<std::uint8_t> message);
    /// RFC 4666 3.8.2. Sent at settle(): one message for all AS of the peer about which the same is
    /// said.
    void notify(PeerIndex peer, wire::m3ua::Status status,
                std::optional<std::uint32_t> asp_identifier,
                std::optional<std::uint32_t> routing_context);
    /// The event is over and its acknowledgement stands: NTFYs follow (4.3.4.5).
    void settle();
    /// The event concerns nobody else: its NTFYs are not sent.
    void settle_silently() { notices_.clear(); }
    std::vector<Outgoing> take();

 private:
    struct Notice {
        PeerIndex peer;
        wire::m3ua::Status status;
        std::optional<std::uint32_t> asp_identifier;
        std::vector<std::uint32_t> routing_contexts;  // empty: an AS without one
    };
    std::vector<Outgoing> messages_;
    std::vector<Notice> notices_;
};

}  // namespace signalbox::sigtran
