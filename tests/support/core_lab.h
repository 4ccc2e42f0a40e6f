// SPDX-License-Identifier: Apache-2.0
// A whole gateway in memory, in virtual time: a core::Node with its workers on one side,
// application servers' processes on our own SCTP client on the other, a wire between them. Used by
// tests of core and by perf/.
#pragma once
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/crc32c.h"
#include "core/node.h"
#include "core/worker.h"
#include "sctp/association.h"
#include "wire/ip.h"

namespace signalbox::test {

using namespace std::chrono_literals;

/// A grace period is over one turn of the lab later: every worker has passed its turn by then.
class TurnReclaimer final : public Reclaimer {
 public:
    std::uint64_t begin() override { return turn; }
    bool done(std::uint64_t token) override { return turn > token + 1; }
    std::uint64_t turn = 1;
};

class HeapPages final : public mem::PageSource {
 public:
    void* take() noexcept override {
        if (refuse) return nullptr;
        ++out;
        return std::aligned_alloc(mem::kPageBytes, mem::kPageBytes);
    }
    void give(void* page) noexcept override {
        --out;
        std::free(page);
    }
    bool refuse = false;
    long out = 0;
};

using IpBytes = std::vector<std::uint8_t>;

/// Turns what an association writes into whole IP packets.
class PacketSink final : public sctp::TransmitSink {
 public:
    std::span<std::uint8_t> lend(std::size_t bytes) override {
        if (bytes > room_.size()) return {};
        return room_;
    }
    void commit(const sctp::Datagram& d, std::size_t bytes) override;
    std::vector<IpBytes> packets;
    /// Committed packets wait in a buffer of fixed size until collect(): commit() does not allocate
    /// then.
    void buffer(std::size_t bytes) { held_.resize(bytes); }
    void collect();

 private:
    void append(const std::uint8_t* packet, std::size_t bytes) {
        packets.emplace_back(packet, packet + bytes);
    }
    std::vector<std::uint8_t> held_;
    std::size_t held_bytes_ = 0;
    std::array<std::uint8_t, 9216> room_{};
};

/// One ASP process of the lab.
struct Asp {
    PeerIndex peer;
    std::vector<IpAddress> addresses;
    std::unique_ptr<sctp::Association> association;
    std::vector<std::vector<std::uint8_t>> received;  // M3UA messages, oldest first
    std::vector<StreamId> received_on;
    std::vector<sctp::EventRecord> events;
    bool silent = false;   // killed: takes and sends nothing any more
    bool listens = false;  // takes the next INIT that comes
};

class CoreLab {
 public:
    struct Options {
        unsigned workers = 1;
        std::size_t memory_bytes = 64u << 20;
        std::uint64_t seed = 1;
        sctp::Profile asp_profile = sctp::kProfileSigtranLan;
    };
    CoreLab(core::Settings settings, const Options& options);
    ~CoreLab();

    /// A process of the configured peer starts and opens its association.
    Asp& start(PeerIndex peer, std::optional<std::uint16_t> port = {});
    /// It waits for the gateway to open the association.
    Asp& listen(PeerIndex peer);
    /// The ASP ends its association by SHUTDOWN.
    void shutdown(Asp& asp);
    void send(Asp& asp, StreamId stream, std::span<const std::uint8_t> m3ua, Ppid ppid = Ppid{3});
    /// The ASP aborts its association with this cause code.
    void abort(Asp& asp, std::uint16_t cause);
    /// What the ASP has queued leaves now, in packets of its own.
    void flush(Asp& asp);
    /// One turn of everything; time goes on by `step`.
    void turn(Duration step = 1ms);
    void run(Duration how_long, Duration step = 1ms) {
        for (Duration t{}; t < how_long; t += step) turn(step);
    }
    bool run_until(const std::function<bool()>& holds, Duration limit, Duration step = 1ms);

    std::uint64_t drops(Drop reason) const;
    std::uint64_t count(Count what) const;
    std::string counters() const;  // all that are not 0, for a failing test's message

    Time now{1s};
    TurnReclaimer reclaimer;
    std::unique_ptr<core::Node> node;
    std::vector<std::unique_ptr<core::Worker>> workers;
    std::deque<Asp> asps;
    HeapPages asp_pages;
    std::function<bool(const IpBytes&, bool to_gateway)> cut;  // true: the wire loses this packet
    std::uint64_t packets_to_gateway = 0;
    bool control_paused = false;  // the control thread does not get to run
    /// The worker does not get to run in this turn; nothing that it may be reading is freed.
    std::function<bool(unsigned worker)> worker_paused;
    bool measure_only_workers =
        false;  // the wire's double does not allocate inside the worker's calls
    std::function<void(bool entering)>
        around_workers;  // perf: time what is the gateway's, not the lab's

 private:
    sctp::Environment asp_environment(const Asp& asp);
    void feed_gateway();
    void edge(bool entering) {
        if (around_workers) around_workers(entering);
    }
    void feed_asps(std::vector<IpBytes>& packets);
    void run_asps();
    Asp& add(PeerIndex peer);
    bool met_by_listener(Asp& asp, const sctp::Packet& packet);

    void* region_;
    Options options_;
    RandomSource random_;
    mem::BlockPool asp_blocks_;
    sctp::CookieKeys asp_cookies_;
    Counters asp_counters_;
    struct PlainTags final : sctp::TagSource {
        explicit PlainTags(RandomSource& r) : random(r) {}
        VerificationTag draw() override { return VerificationTag{random.u32() | 1}; }
        RandomSource& random;
    } asp_tags_;
    std::vector<std::uint8_t> scratch_;
    sctp::Effects effects_;
    PacketSink to_gateway_;
    PacketSink from_gateway_;
    std::map<IpAddress, std::size_t> by_address_;
};

// M3UA as an application server writes it; independent of lib/sigtran.
namespace m3ua {
std::vector<std::uint8_t> aspup(std::uint32_t asp_id);
std::vector<std::uint8_t> aspac(std::uint32_t routing_context);
std::vector<std::uint8_t> aspia(std::uint32_t routing_context);
std::vector<std::uint8_t> data(std::uint32_t routing_context, std::uint32_t opc, std::uint32_t dpc,
                               std::uint8_t sls, std::span<const std::uint8_t> user);
struct Data {
    std::uint32_t routing_context = 0, opc = 0, dpc = 0;
    std::uint8_t si = 0, ni = 0, sls = 0;
    std::vector<std::uint8_t> user;
};
std::optional<Data> parse_data(std::span<const std::uint8_t> message);
bool is(std::span<const std::uint8_t> message, std::uint8_t message_class, std::uint8_t type);
}  // namespace m3ua

/// `servers` application servers with one ASP each: peer i at 10.77.(16 + i / 250).(1 + i % 250),
/// routing context 100 + i, point code 1000 + i; the gateway is 10.77.0.3, port 2905, point code 1.
core::Settings one_asp_per_server(std::size_t servers);
/// The same with `peers` ASPs shared out over `servers` application servers in loadshare.
core::Settings asps_over_servers(std::size_t peers, std::size_t servers);
/// The ASP comes up in M3UA: ASPUP, ASPAC.
void bring_up(CoreLab& lab, Asp& asp, std::uint32_t routing_context);

}  // namespace signalbox::test
