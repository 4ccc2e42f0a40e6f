// SPDX-License-Identifier: Apache-2.0
// ASPs of a population: they come up in M3UA, send DATA from server to server, and acknowledge what
// the gateway sends them, every second packet as RFC 9260 6.2 has it. A few bytes each, so that
// they leave the caches to the worker whose cost is measured.
#pragma once
#include "population.h"

namespace signalbox::perf {

/// Wanted messages: `count` of them in one packet, all with one SLS.
struct Messages {
    std::size_t from = 0;  // peer
    std::size_t to = 0;    // application server
    std::uint8_t sls = 0;
    std::size_t payload_bytes = 100;
    std::size_t count = 1;
};

class M3uaPopulation : public Population {
 public:
    explicit M3uaPopulation(const Options& options)
        : Population(options), asps_(options.associations) {}

    /// ASPUP and ASPAC of everybody. False: not all became active.
    bool activate();
    std::size_t servers() const { return options().servers; }
    std::size_t server_of(std::size_t peer) const { return peer % servers(); }
    void add(const Messages& messages);
    /// Reads what the last pass() sent and puts the SACKs for it into the next burst. Returns the
    /// number of M3UA DATA messages among it.
    std::size_t acknowledge();
    /// Passes without new messages until nothing is sent any more, the last SACKs included.
    std::size_t drain();

 private:
    struct Asp {
        std::uint32_t received = 0;  // the gateway's highest TSN
        std::uint16_t management_ssn = 0;
        std::uint16_t ssn = 0;
        std::uint8_t unanswered = 0;  // packets with DATA
        bool active = false;
    };
    void add_management(std::size_t peer, std::uint8_t message_class, std::uint8_t type,
                        std::uint16_t tag, std::uint32_t value);
    std::size_t take(std::size_t peer, const wire::SctpPacketView& packet);
    void add_sack(std::size_t peer);
    std::vector<Asp> asps_;
};

}  // namespace signalbox::perf
