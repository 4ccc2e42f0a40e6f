// SPDX-License-Identifier: Apache-2.0
// Stream reconfiguration, RFC 6525: what one end remembers of its own request and of the peer's.
//
//   none --API or the peer's wish--> waiting --queues of the streams empty--> sent --response-->
//   none
//                                                        '--RTO, "in progress"--> sent again
#pragma once
#include <array>
#include <cstdint>

#include "base/time.h"
#include "sctp/outbound.h"
#include "sctp/stored_data.h"
#include "wire/re_config.h"

namespace signalbox::sctp {

enum class ReconfigStatus : std::uint8_t {
    ok,
    not_open,
    not_negotiated,
    busy,  // one request at a time (RFC 6525 5.1.1)
    bad_stream,
    too_many,
    no_memory,
};

/// Of one request of ours; more at a time: several requests, or all streams.
inline constexpr std::size_t kMaxResetStreams = 256;

struct Reconfig {
    enum class Phase : std::uint8_t { none, waiting, sent };

    void start(Tsn ours, Tsn peers) {
        *this = Reconfig{};
        next_out = {ours.value};  // 4.1: the first number is the initial TSN
        next_in = {peers.value};
    }
    struct Answer {
        wire::RequestNumber number;
        wire::ReconfigResult result{};
        bool has_tsns = false;
    };
    /// One that finds no room is not sent; the peer asks again.
    void answer(const Answer& response) {
        if (response_count < responses.size()) responses[response_count++] = response;
    }

    Held held;
    wire::RequestNumber next_out;
    wire::RequestNumber next_in;
    wire::RequestNumber answers;  // the peer's request that ours fulfils
    Tsn last_tsn;                 // as our request said the first time
    Tsn reset_sender_next;        // what a repeated SSN/TSN reset request is told again
    Tsn reset_receiver_next;
    Time timer = kNever;             // waiting: look now; sent: ask again
    StoredPiece* streams = nullptr;  // listed in our request; nullptr: all
    wire::ParameterType type{};
    std::uint16_t count = 0;  // of streams to add
    Phase phase = Phase::none;
    bool answering = false;
    bool asked = false;       // the request leaves with the next flush
    bool reset_tsns = false;  // the last response had TSNs
    std::uint8_t response_count = 0;
    std::array<wire::ReconfigResult, 2> last_results{};  // of next_in - 1 and next_in - 2
    std::array<Answer, 2> responses{};                   // leave with the next flush
};

}  // namespace signalbox::sctp
