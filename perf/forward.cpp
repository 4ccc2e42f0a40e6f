// SPDX-License-Identifier: Apache-2.0
// What one forwarded message costs the gateway, from a burst of received IP packets to the packets
// that leave it, with 1, 2,500 and 100,000 associations: parse, CRC in, lookup, SCTP, M3UA, route,
// SCTP, CRC out, and the SACKs of both sides. The ASPs are our own client side in the same process;
// only the worker's calls are timed (rdtsc per burst). Interleaved: the populations take turns,
// segment by segment. Negative control: the same messages with a payload ten times as long must
// cost more, or the timer sees nothing.
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

struct Population {
    std::size_t associations;
    std::size_t servers;
    std::unique_ptr<CoreLab> lab;
    std::vector<double> ns_per_message;
    std::vector<double> control_ns;
    std::uint64_t ticks = 0;
    std::uint64_t entered = 0;
};

double ns_per_tick() {
    const auto t0 = std::chrono::steady_clock::now();
    const std::uint64_t c0 = __rdtsc();
    while (std::chrono::steady_clock::now() - t0 < std::chrono::milliseconds(50)) {
    }
    const auto ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - t0).count();
    return ns / static_cast<double>(__rdtsc() - c0);
}

bool set_up(Population& p) {
    core::Settings settings = asps_over_servers(p.associations, p.servers);
    settings.profiles[1].values.heartbeat_interval = std::chrono::hours(1);
    settings.init_per_second = 100'000'000;
    const std::size_t memory = (std::size_t{64} << 20) + p.associations * 10'000;
    p.lab =
        std::make_unique<CoreLab>(settings, CoreLab::Options{.memory_bytes = memory / 4096 * 4096});
    p.lab->around_workers = [&p](bool entering) {
        if (entering)
            p.entered = __rdtsc();
        else
            p.ticks += __rdtsc() - p.entered;
    };
    for (std::uint32_t i = 0; i < p.associations; ++i) p.lab->start(PeerIndex{i});
    if (!p.lab->run_until([&] { return p.lab->count(Count::associations_up) == p.associations; },
                          20s))
        return false;
    for (std::uint32_t i = 0; i < p.associations; ++i) {
        p.lab->send(p.lab->asps[i], StreamId{0}, m3ua::aspup(i + 1));
        p.lab->send(p.lab->asps[i], StreamId{0},
                    m3ua::aspac(static_cast<std::uint32_t>(100 + i % p.servers)));
    }
    p.lab->run(500ms);
    for (Asp& asp : p.lab->asps) asp.received.clear();
    return true;
}

/// One segment: `messages` DATA from random ASPs, one per packet, to the next server. Returns ns
/// per routed message.
double segment(Population& p, RandomSource& random, std::size_t messages, std::size_t payload,
               double ns_tick) {
    CoreLab& lab = *p.lab;
    const std::vector<std::uint8_t> user(payload, 0x55);
    const std::uint64_t routed = lab.count(Count::routed_messages);
    p.ticks = 0;
    for (std::size_t n = 0; n < messages; ++n) {
        const auto i = static_cast<std::uint32_t>(random.below(p.associations));
        const auto server = static_cast<std::uint32_t>(i % p.servers);
        const auto to = static_cast<std::uint32_t>((server + 1) % p.servers);
        lab.send(lab.asps[i], StreamId{static_cast<std::uint16_t>(1 + n % 15)},
                 m3ua::data(100 + server, 1000 + server, 1000 + to,
                            static_cast<std::uint8_t>(n % 16), user));
        lab.flush(lab.asps[i]);  // one message per packet
        if (n % 32 == 31) lab.turn();
    }
    lab.run_until([&] { return lab.count(Count::routed_messages) - routed == messages; }, 2s);
    lab.run(60ms, 10ms);  // the delayed SACKs are part of the price
    for (Asp& asp : lab.asps) {
        asp.received.clear();
        asp.received_on.clear();
    }
    const std::uint64_t done = lab.count(Count::routed_messages) - routed;
    if (done != messages) {
        std::fprintf(stderr, "forward: %zu sent, %llu routed\n", messages,
                     static_cast<unsigned long long>(done));
        return -1;
    }
    return static_cast<double>(p.ticks) * ns_tick / static_cast<double>(done);
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    bool quick = false;
    bool json = false;
    for (int i = 1; i < argc; ++i) {
        quick |= std::strcmp(argv[i], "--quick") == 0;
        json |= std::strcmp(argv[i], "--json") == 0;
    }
    const double ns_tick = ns_per_tick();
    std::vector<Population> populations;
    populations.push_back({.associations = 2, .servers = 2});
    populations.push_back({.associations = 2500, .servers = 100});
    if (!quick) populations.push_back({.associations = 100'000, .servers = 100});
    for (Population& p : populations)
        if (!set_up(p))
            return std::fprintf(stderr, "forward: %zu associations did not come up\n",
                                p.associations),
                   1;
    RandomSource random(7);
    const std::size_t segments = quick ? 5 : 31;
    const std::size_t messages = quick ? 640 : 2048;
    for (std::size_t s = 0; s < segments; ++s) {
        for (Population& p : populations) {
            const double ns = segment(p, random, messages, 100, ns_tick);
            const double control = segment(p, random, messages, 1000, ns_tick);
            if (ns < 0 || control < 0) return 1;
            p.ns_per_message.push_back(ns);
            p.control_ns.push_back(control);
        }
    }
    const double base = median(populations[0].ns_per_message);
    for (Population& p : populations) {
        const double ns = median(p.ns_per_message);
        const double control = median(p.control_ns);
        if (json)
            std::printf(
                "{\"name\":\"forward\",\"value\":%.1f,\"unit\":\"ns/"
                "message\",\"parameters\":{\"associations\":%zu,"
                "\"payload\":100,\"messages_per_packet\":1,\"segments\":%zu,\"seed\":7},"
                "\"comparison\":\"2 associations\","
                "\"ratio\":%.3f,\"machine\":\"crc %s, %.4f ns/tick\"}\n",
                ns, p.associations, segments, ns / base,
                std::string(crc32c_implementation()).c_str(), ns_tick);
        else
            std::printf(
                "%7zu associations: %7.1f ns/message (%.2f M/s), %.2fx of 2; 1,000 B: %7.1f ns\n",
                p.associations, ns, 1000 / ns, ns / base, control);
        // In --quick beside a suite's other work a median of five segments is no measurement.
        if (!quick && control <= ns)
            return std::fprintf(stderr,
                                "forward: ten times the payload costs nothing: not measuring\n"),
                   1;
    }
    return 0;
}
