// SPDX-License-Identifier: Apache-2.0
// asp_fleet SOCKET PROCESSES MESSAGES SECONDS [VLAN]: brings up that many application server
// processes over memif, lets each send and receive that many messages, closes them, and prints one
// JSON object. Exit code 0: all came, once and in order.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "fleet/fleet.h"
#include "fleet/memif_port.h"

namespace {

using namespace signalbox;
using namespace std::chrono_literals;

Time clock_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return Time{std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec)};
}

/// One after the other: the port is there, all are active, all have everything, all are closed.
class Run {
 public:
    Run(const fleet::Fleet::Options& options, const std::string& socket, std::uint16_t vlan)
        : port_(socket, vlan), fleet_(options, std::random_device{}()), options_(options) {
        port_.serve(fleet::Fleet::address_of(0), options.gateway);
    }

    bool until(bool (Run::*holds)(const fleet::Totals&) const, Time limit) {
        while (clock_now() < limit) {
            const Time now = clock_now();
            if (!port_.ready() && now >= ask_at_) {
                port_.ask_for_gateway();
                ask_at_ = now + 100ms;
            }
            for (const auto& packet : port_.receive()) fleet_.receive(packet, now);
            if (port_.ready() && now >= advance_at_) {
                fleet_.advance(now);
                advance_at_ = now + 2ms;
                if ((this->*holds)(fleet_.totals())) return true;
            }
            fleet_.flush([&](std::span<const std::uint8_t> ip) { return port_.transmit(ip); });
        }
        return false;
    }
    bool all_active(const fleet::Totals& t) const { return t.active == options_.processes; }
    bool all_received(const fleet::Totals& t) const {
        return t.received >= options_.processes * options_.messages;
    }
    bool all_closed(const fleet::Totals& t) const { return t.closed == options_.processes; }
    fleet::Fleet& fleet() { return fleet_; }

 private:
    fleet::MemifPort port_;
    fleet::Fleet fleet_;
    fleet::Fleet::Options options_;
    Time ask_at_{};
    Time advance_at_{};
};

int run(const std::string& socket, std::uint16_t vlan, const fleet::Fleet::Options& options,
        Duration limit) {
    Run r(options, socket, vlan);
    const Time begin = clock_now();
    const bool active = r.until(&Run::all_active, begin + limit);
    const Time up = clock_now();
    const bool received = active && r.until(&Run::all_received, begin + limit);
    const Time done = clock_now();
    const fleet::Totals open = r.fleet().totals();
    r.fleet().shut_down(clock_now());
    const bool closed = r.until(&Run::all_closed, begin + limit);
    const fleet::Totals t = r.fleet().totals();
    const bool ok = active && received && closed && t.faults == 0 && t.received == t.sent;
    const auto ms = [](Duration d) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    };
    std::printf(
        "{\"ok\":%s,\"active\":%zu,\"associated\":%zu,\"closed\":%zu,\"sent\":%llu,"
        "\"received\":%llu,\"faults\":%llu,\"first_fault\":\"%s\",\"up_ms\":%lld,"
        "\"traffic_ms\":%lld}\n",
        ok ? "true" : "false", open.active, open.associated, t.closed,
        static_cast<unsigned long long>(t.sent), static_cast<unsigned long long>(t.received),
        static_cast<unsigned long long>(t.faults), t.first_fault.c_str(),
        static_cast<long long>(ms(up - begin)), static_cast<long long>(ms(done - up)));
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5 && argc != 6)
        return std::fputs("usage: asp_fleet SOCKET PROCESSES MESSAGES SECONDS [VLAN]\n", stderr),
               64;
    const auto vlan = argc == 6 ? std::strtoul(argv[5], nullptr, 10) : 0;
    fleet::Fleet::Options options;
    options.processes = std::strtoul(argv[2], nullptr, 10);
    options.messages = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
    options.gateway = IpAddress::v4(0x0a4d0003);
    try {
        return run(argv[1], static_cast<std::uint16_t>(vlan), options,
                   std::chrono::seconds(std::strtoul(argv[4], nullptr, 10)));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "asp_fleet: %s\n", error.what());
        return 1;
    }
}
