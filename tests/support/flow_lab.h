// SPDX-License-Identifier: Apache-2.0
// Numbered flows through a CoreLab: every source numbers the messages of each SLS, and what arrives
// at the servers' ASPs is written down with its time. So a test can say what is missing, what came
// twice and what overtook.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "support/core_lab.h"

namespace signalbox::test {

class FlowLab {
 public:
    struct Arrival {
        const Asp* at;
        Time when;
        std::uint8_t source;
        std::uint8_t sls;
        std::uint32_t number;
    };

    FlowLab(core::Settings settings, const CoreLab::Options& options, std::uint32_t dpc = 1001,
            unsigned sls_values = 16)
        : lab(std::move(settings), options), dpc_(dpc), sls_values_(sls_values) {}

    Asp& source(PeerIndex peer, std::uint32_t routing_context);
    Asp& server(PeerIndex peer, std::uint32_t routing_context);
    /// A new process of an ASP that was lost comes up while `per_source` messages a turn flow.
    Asp& restart(PeerIndex peer, std::uint32_t routing_context, unsigned per_source,
                 std::optional<std::uint16_t> port = {});
    /// Each source sends `per_source` messages, then one turn.
    void turn(unsigned per_source, Duration step = std::chrono::milliseconds{1});
    /// No more messages; what is under way arrives within `limit`.
    void finish(Duration limit);

    /// Of what was sent, what never arrived.
    std::size_t missing() const;
    /// Arrivals of a number that is not above all before it of its flow and not one of those.
    std::size_t out_of_order() const;
    std::size_t duplicates() const;
    /// A source has a message of this class and type.
    bool was_told(std::uint8_t message_class, std::uint8_t type) const;

    CoreLab lab;
    std::vector<Arrival> arrivals;
    std::uint64_t sent = 0;

 private:
    struct Source {
        Asp* asp;
        std::uint32_t routing_context;
        std::uint8_t next_sls = 0;
        std::array<std::uint32_t, 256> next_number{};
    };
    void take_arrivals();
    std::size_t flow_of(const Arrival& a) const { return a.source * 256u + a.sls; }

    std::uint32_t dpc_;
    unsigned sls_values_;
    std::deque<Source> sources_;
    std::vector<Asp*> servers_;
};

}  // namespace signalbox::test
