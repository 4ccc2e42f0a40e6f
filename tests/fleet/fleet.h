// SPDX-License-Identifier: Apache-2.0
// Thousands of application server processes in one program, each with an address and an association
// of its own: process 2k exchanges numbered messages with process 2k + 1 through the gateway.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/core_lab.h"

namespace signalbox::fleet {

struct Process {
    IpAddress address;
    std::uint32_t number = 0;
    sctp::Association association;
    std::vector<IpAddress> addresses;
    bool begun = false;
    bool told_up = false;
    bool active = false;
    bool closed = false;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    std::map<std::uint8_t, std::uint32_t> next;  // by SLS: the number that comes next
};

struct Totals {
    std::size_t associated = 0, active = 0, closed = 0;
    std::uint64_t sent = 0, received = 0;
    std::uint64_t faults = 0;  // out of order, doubled, from elsewhere, or an association that fell
    std::string first_fault;
};

class Fleet {
 public:
    struct Options {
        std::size_t processes = 2500;
        std::uint32_t messages = 40;      // that each sends
        std::size_t opened_at_once = 64;  // handshakes under way
        IpAddress gateway;
        std::uint16_t port = 2905;
    };
    using Transmit = std::function<bool(std::span<const std::uint8_t> ip)>;
    Fleet(const Options& options, std::uint64_t seed);
    ~Fleet();

    /// The address, ASP identifier, routing context and point code of process `i`.
    static IpAddress address_of(std::size_t i);
    static std::uint32_t routing_context_of(std::size_t i) {
        return static_cast<std::uint32_t>(100 + i);
    }
    static std::uint32_t point_code_of(std::size_t i) {
        return static_cast<std::uint32_t>(3000 + i);
    }

    void receive(std::span<const std::uint8_t> ip, Time now);
    /// Opens what is not open yet, sends what is due, runs timers.
    void advance(Time now);
    /// What waits to leave; what `transmit` refuses stays.
    void flush(const Transmit& transmit);
    void shut_down(Time now);
    Totals totals() const;

 private:
    sctp::Environment environment(const Process& process, Time now);
    void take(Process& process, std::span<const std::uint8_t> message, Time now);
    void take_data(Process& process, const test::m3ua::Data& data);
    void took_events(Process& process, const sctp::Effects& effects);
    void send(Process& process, StreamId stream, std::span<const std::uint8_t> message, Time now);
    void send_due(Process& process, Time now);
    void fault(const Process& process, const std::string& what);

    Options options_;
    RandomSource random_;
    test::HeapPages pages_;
    mem::BlockPool blocks_;
    sctp::CookieKeys cookies_;
    Counters counters_;
    struct Tags final : sctp::TagSource {
        explicit Tags(RandomSource& r) : random(r) {}
        VerificationTag draw() override { return VerificationTag{random.u32() | 1}; }
        RandomSource& random;
    } tags_;
    std::vector<std::uint8_t> scratch_;
    sctp::Effects effects_;
    test::PacketSink sink_;
    std::deque<test::IpBytes> waiting_;
    std::deque<Process> processes_;
    std::size_t opened_ = 0;
    Totals totals_;
};

}  // namespace signalbox::fleet
