// SPDX-License-Identifier: Apache-2.0
// A gateway in this process (core::Node with one worker) and as many peers as are asked for, each
// a few bytes that know how to write the packets of a client: INIT, COOKIE ECHO, DATA, HEARTBEAT
// ACK. What the worker costs is counted; what the peers cost is not.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "base/reclaimer.h"
#include "core/node.h"
#include "core/worker.h"
#include "measure.h"
#include "sctp/transmit_sink.h"
#include "wire/chunk_writer.h"
#include "wire/ip.h"
#include "wire/sctp_header.h"

namespace signalbox::perf {

inline constexpr std::uint16_t kPort = 2905;
inline constexpr std::uint32_t kFirstContext = 100;       // of the first application server
inline constexpr std::uint32_t kFirstPointCode = 0x1000;  // its routing key

/// Fills checksums in and keeps the packets until clear(), in memory that is gone through in turn
/// as a port's buffers are.
class PacketLog final : public sctp::TransmitSink {
 public:
    struct Entry {
        sctp::Datagram datagram;
        std::span<std::uint8_t> sctp;
    };
    PacketLog() : memory_(kBytes) { entries_.reserve(8192); }
    std::span<std::uint8_t> lend(std::size_t bytes) override;
    void commit(const sctp::Datagram& datagram, std::size_t bytes) override;
    void clear();
    const std::vector<Entry>& entries() const { return entries_; }

 private:
    static constexpr std::size_t kBytes = std::size_t{2} << 20;
    std::vector<std::uint8_t> memory_;
    std::size_t used_ = 0;
    std::vector<Entry> entries_;
};

class Population {
 public:
    struct Options {
        std::size_t associations = 1;
        bool ipv6 = false;
        std::uint16_t streams = 10;  // asked for by the peers, each way
        bool two_paths = false;
        Duration heartbeat_interval = std::chrono::hours(1);
        Duration sack_delay = std::chrono::milliseconds(200);
        bool hugepages = true;                           // asked of the kernel, which may have none
        std::size_t page_bytes = std::size_t{64} << 20;  // for what is not association slots
        /// Application servers, 0: any address may connect and says nothing in M3UA. The peers are
        /// their ASPs in loadshare, peer i of server i modulo servers.
        std::size_t servers = 0;
    };
    explicit Population(const Options& options);
    virtual ~Population();
    Population(const Population&) = delete;
    Population& operator=(const Population&) = delete;

    /// The handshakes of the peers [from, to), in bursts. False: not all came up.
    bool connect(std::size_t from, std::size_t to);
    bool connect_all() { return connect(0, options_.associations); }

    /// The handshake of one peer that is not connected. Returns counts of the time stamp that the
    /// worker took; 0: it did not come up.
    std::uint64_t connect_one(std::size_t peer, std::uint16_t streams);

    /// The next DATA of a peer, one byte, into the burst that pass() takes.
    void add_data(std::size_t peer) { add_data(peer, 0, peers_[peer].next_ssn++); }
    void add_data(std::size_t peer, std::uint16_t stream, std::uint16_t ssn);
    /// The peer's ABORT: the association is taken down within the next turns.
    void add_abort(std::size_t peer);
    std::size_t burst_size() const { return burst_.size(); }
    /// The burst through the worker: receive, timers, flush. Time goes on by what it took, or by
    /// `step` when that is given. Returns counts of the time stamp.
    std::uint64_t pass(Duration step = Duration{-1});
    /// Answers the HEARTBEATs that the last pass() sent; the next one takes the answers.
    std::size_t answer_heartbeats();
    void control_turn();

    const std::vector<PacketLog::Entry>& sent() const { return sent_.entries(); }
    std::uint64_t count(Count what) const;
    std::uint64_t drops(Drop why) const;
    std::uint64_t setup_counts() const { return setup_counts_; }
    std::size_t established() const;
    core::Node& node() { return *node_; }
    core::Worker& worker() { return *worker_; }
    IpAddress address(std::size_t peer, unsigned path = 0) const;
    IpAddress gateway() const;
    std::size_t region_bytes() const { return region_bytes_; }
    std::size_t size() const { return options_.associations; }

    Time now{std::chrono::seconds(1)};
    double counts_per_ns = 2.6;  // set by the caller: pass() turns counts into time

 protected:
    template <class Write>
    void build(std::size_t peer, Write&& write) {
        build(peer, peers_[peer].gateway_tag, write);
    }
    template <class Write>
    void build(std::size_t peer, std::uint32_t tag, Write&& write);
    std::uint32_t draw_tsn(std::size_t peer) { return peers_[peer].next_tsn++; }
    std::size_t peer_of(const IpAddress& address) const;
    const Options& options() const { return options_; }

 private:
    struct Peer {
        std::uint32_t gateway_tag = 0;
        std::uint32_t next_tsn = 1;
        std::uint16_t next_ssn = 0;
    };
    struct Built {
        std::array<std::uint8_t, 1536> bytes;
        std::size_t size = 0;
    };
    struct Turns final : Reclaimer {
        std::uint64_t begin() override { return turn; }
        bool done(std::uint64_t token) override { return turn > token + 1; }
        std::uint64_t turn = 1;
    };
    void add_init(std::size_t peer);
    void add_cookie_echo(const PacketLog::Entry& init_ack);

    Options options_;
    std::size_t region_bytes_;
    void* region_;
    Turns reclaimer_;
    std::unique_ptr<core::Node> node_;
    std::unique_ptr<core::Worker> worker_;
    std::vector<Peer> peers_;
    std::vector<Built> built_;
    std::vector<core::PacketView> burst_;
    PacketLog sent_;
    std::uint64_t setup_counts_ = 0;
};

template <class Write>
void Population::build(std::size_t peer, std::uint32_t tag, Write&& write) {
    Built& packet = built_[burst_.size()];
    const wire::IpHeader header{.source = address(peer), .destination = gateway()};
    const std::size_t ip = wire::ip_header_bytes(header.source);
    wire::PacketWriter out(std::span(packet.bytes).subspan(ip),
                           {kPort, kPort, VerificationTag{tag}});
    write(out);
    if (out.overflowed()) std::abort();
    sctp_checksum_store(out.packet());
    wire::write_ip_header(packet.bytes, header, out.size());
    packet.size = ip + out.size();
    burst_.push_back({.ip = std::span<const std::uint8_t>(packet.bytes).first(packet.size)});
}

/// Peers in an order that no prefetcher or predictor foretells, each once before any comes again.
class RandomOrder {
 public:
    RandomOrder(std::size_t count, std::uint64_t seed);
    std::size_t next() {
        if (at_ == order_.size()) shuffle();
        return order_[at_++];
    }

 private:
    void shuffle();
    Random random_;
    std::vector<std::uint32_t> order_;
    std::size_t at_ = 0;
};

}  // namespace signalbox::perf
