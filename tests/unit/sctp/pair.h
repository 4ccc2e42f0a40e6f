// SPDX-License-Identifier: Apache-2.0
// Two endpoints, a fake clock and a wire in memory between them.
#pragma once
#include "endpoint.h"

namespace signalbox::sctp::test {

inline constexpr IpAddress kA1 = IpAddress::v4(0x0a000001);
inline constexpr IpAddress kA2 = IpAddress::v4(0x0a000101);
inline constexpr IpAddress kZ1 = IpAddress::v4(0x0a000002);
inline constexpr IpAddress kZ2 = IpAddress::v4(0x0a000102);
inline constexpr std::uint16_t kPortA = 5001;
inline constexpr std::uint16_t kPortZ = 2905;

class Pair {
 public:
    explicit Pair(std::uint64_t seed = 1, Profile profile = {}, std::vector<IpAddress> at_a = {kA1},
                  std::vector<IpAddress> at_z = {kZ1})
        : a(seed * 2, std::move(at_a), profile), z(seed * 2 + 1, std::move(at_z), profile) {
        set_time(now);
    }

    /// a asks, z listens; both are up afterwards.
    void connect() {
        a.connect({z.local.front()}, kPortA, kPortZ);
        exchange();
    }
    /// Until nothing is on the wire; timers that fall due meanwhile run.
    void exchange() {
        flush();
        for (int packets = 0; !wire.empty() && packets < 100000; ++packets) {
            step_to(wire.front().arrival);
            flush();
        }
    }
    void advance(Duration time) {
        const Time end = now + time;
        flush();
        for (int steps = 0; steps < 1000000; ++steps) {
            const Time next = next_event();
            if (next > end) break;
            step_to(next);
            flush();
        }
        set_time(end);
    }
    /// Takes everything off the wire without delivering it.
    std::vector<InFlight> capture() {
        flush();
        std::vector<InFlight> all;
        for (auto& w : wire) all.push_back(std::move(w.packet));
        wire.clear();
        return all;
    }
    void flush() {
        for (Endpoint* e : {&a, &z}) {
            e->flush();
            while (!e->sink.sent.empty()) {
                InFlight packet = std::move(e->sink.sent.front());
                e->sink.sent.pop_front();
                ++sent;
                if (!lose || !lose(packet)) wire.push_back({now + latency, std::move(packet)});
            }
        }
    }
    void deliver(const InFlight& packet) { receiver(packet).input(packet); }
    Endpoint& receiver(const InFlight& packet) {
        for (const IpAddress& address : a.local)
            if (address == packet.destination) return a;
        return z;
    }

    struct OnWire {
        Time arrival;
        InFlight packet;
    };
    Endpoint a;
    Endpoint z;
    Time now{std::chrono::seconds{100}};
    Duration latency = std::chrono::milliseconds{5};
    std::deque<OnWire> wire;
    std::function<bool(const InFlight&)> lose;  // true: the packet never arrives
    std::uint64_t sent = 0;

 private:
    void set_time(Time t) { now = a.now = z.now = t; }
    Time next_event() const {
        Time next = wire.empty() ? kNever : wire.front().arrival;
        for (const Endpoint* e : {&a, &z})
            if (e->association)
                next = std::min(next, std::max(now, e->association->next_deadline()));
        return next;
    }
    void step_to(Time t) {
        set_time(std::max(now, t));
        while (!wire.empty() && wire.front().arrival <= now) {
            const InFlight packet = std::move(wire.front().packet);
            wire.pop_front();
            deliver(packet);
        }
        for (Endpoint* e : {&a, &z})
            if (e->association && e->association->next_deadline() <= now) e->advance();
    }
};

}  // namespace signalbox::sctp::test
