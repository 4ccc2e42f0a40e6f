// SPDX-License-Identifier: Apache-2.0
// Two endpoints and a bad network between them, in virtual time, under one seed. The invariants of
// the protocol are checked after every step: is_consistent() (DAT-2 among them), every message once
// and in order, nothing from nowhere.
#pragma once
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sctp/association.h"
#include "support/core_lab.h"

namespace signalbox::sim {

using namespace std::chrono_literals;

struct Impairment {
    unsigned loss_percent = 0;
    unsigned reorder_percent = 0;  // these take up to 30 ms longer
    unsigned duplicate_percent = 0;
    Duration delay = 5ms;
    Duration jitter = 1ms;
};

struct Endpoint {
    std::vector<IpAddress> addresses;
    std::uint16_t port = 0;
    std::unique_ptr<sctp::Association> association;
    test::HeapPages pages;
    std::unique_ptr<mem::BlockPool> blocks;
    std::unique_ptr<RandomSource> random;
    std::unique_ptr<sctp::CookieKeys> cookies;
    Counters counters;
    test::PacketSink sink;
    std::vector<sctp::EventRecord> events;
    // the ledger of what this endpoint's user gave and got
    std::map<std::uint16_t, std::uint32_t> next_ordered;  // stream -> next number to send
    std::map<std::uint16_t, std::uint32_t> expected;  // stream -> next number to be delivered here
    std::map<std::uint32_t, bool> unordered_seen;
    std::uint32_t unordered_sent = 0;
    std::uint64_t limited_sent = 0;  // of those accepted: may be given up (RFC 3758)
    std::uint64_t limited_delivered = 0;
    std::uint64_t given_up_before = 0;  // in an earlier life
    Time paused_until{};                // takes no packet and no timer before
    std::uint64_t accepted = 0;         // messages that send() took
    std::uint64_t delivered = 0;        // messages delivered here
    bool ended() const {
        for (const auto& e : events)
            if (e.event == sctp::Event::closed || e.event == sctp::Event::aborted ||
                e.event == sctp::Event::lost)
                return true;
        return false;
    }
};

class World {
 public:
    World(std::uint64_t seed, const Impairment& impairment, const sctp::Profile& profile,
          unsigned paths = 1);
    ~World();
    World(const World&) = delete;

    /// Client a opens the association to z; true when both are ESTABLISHED.
    bool connect(Duration limit = 60s);
    /// Both ends are ESTABLISHED without a handshake on the wire, and their TSNs begin here.
    bool begin_at(Tsn tsn_a, Tsn tsn_z, sctp::Extensions extensions);
    /// a's process dies and comes back with a new tag; what was under way is forgotten.
    bool restart_a(Duration limit = 60s);
    /// Everything reliable arrived, what was given up is accounted for, nothing is left anywhere.
    bool quiet();
    /// One random message from `from`: ordered on a random stream or unordered, 1 to max_bytes.
    /// False: the buffer is full.
    bool send_random(Endpoint& from, std::size_t max_bytes, sctp::Reliability limits = {});
    /// Steps to the next event, at most to `limit`. False: nothing happens before it.
    bool step(Time limit);
    void run(Duration how_long);
    bool run_until_delivered(Duration limit);
    sctp::Environment environment(Endpoint& e);
    /// Takes what is ready, sends what may be sent: after a direct call on an association.
    void settle(Endpoint& e);
    Endpoint& other(Endpoint& e) { return &e == &a ? z : a; }
    /// The first broken invariant, empty while all hold.
    const std::string& broken() const { return broken_; }

    Time now{1s};
    Endpoint a;
    Endpoint z;
    Impairment impairment;
    sctp::Profile profile;
    std::uint64_t lost_packets = 0;
    unsigned cut_path = ~0u;  // nothing passes on this one

 private:
    struct Flight {
        bool to_a;
        test::IpBytes bytes;
    };
    void transmit(Endpoint& from);
    void arrive(const Flight& flight);
    void to_association(Endpoint& e, const sctp::Packet& packet);
    void take_ready(Endpoint& e, sctp::Environment& env, std::size_t most = ~std::size_t{0});
    void took(Endpoint& e, const sctp::Message& message);
    void fail(std::string what) {
        if (broken_.empty()) broken_ = std::move(what);
    }

    RandomSource dice_;
    struct Tags final : sctp::TagSource {
        explicit Tags(RandomSource& r) : random(r) {}
        VerificationTag draw() override { return VerificationTag{random.u32() | 1}; }
        RandomSource& random;
    } tags_;
    std::multimap<Time, Flight> in_flight_;
    std::vector<std::uint8_t> scratch_;
    sctp::Effects effects_;
    std::string broken_;
};

}  // namespace signalbox::sim
