// SPDX-License-Identifier: Apache-2.0
// No packet buffer is free for ten seconds (adversarial F04): DPDK's own pool and poll loop, a wire
// of two rings, and one peer on our own SCTP. What comes in brings the buffer of its answer with
// it; what finds none is counted; and all is as before when there are buffers again.
#include <catch2/catch.hpp>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/bytes.h"
#include "core/shared.h"
#include "core/slot.h"
#include "io/poll_loop.h"
#include "support/core_lab.h"
#include "wire/arp.h"
#include "wire/sctp_header.h"

using namespace signalbox;
using namespace signalbox::test;

namespace {

constexpr unsigned kBuffers = 511;
constexpr wire::MacAddress kPeerMac{{2, 0, 0, 0, 0, 9}};

void start_eal() {
    std::vector<std::string> words{
        "buffers", "--no-huge", "--no-pci", "--no-shconf",    "-l",
        "0",       "-m",        "64",       "--no-telemetry", "--log-level=error"};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    static const int rc = rte_eal_init(static_cast<int>(arguments.size()), arguments.data());
    REQUIRE(rc >= 0);
}

core::Settings patient_settings() {
    core::Settings s = one_asp_per_server(1);
    for (core::NamedProfile& p : s.profiles) {
        p.values.path_max_retransmits = p.values.association_max_retransmits = 200;
        p.values.heartbeat_interval = 300ms;
    }
    return s;
}

io::PortSettings port_settings() {
    io::PortSettings s;
    s.name = "wire";
    s.driver = io::Driver::pci;  // a device by its name
    s.device = "net_ring_f04";
    s.addresses = {{IpAddress::v4(0x0a4d0003), 16}};
    return s;
}

struct Region {
    static constexpr std::size_t kBytes = 8u << 20;
    Region() : at(std::aligned_alloc(mem::kPageBytes, kBytes)) {}
    ~Region() { std::free(at); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    void* at;
};

/// The peer: one association and its surroundings.
struct Peer {
    sctp::Environment env(Time now) {
        return {.now = now,
                .profile = profile,
                .local_addresses = addresses,
                .pages = pages,
                .blocks = blocks,
                .random = random,
                .tags = tags,
                .cookies = cookies,
                .counters = counters,
                .scratch = scratch};
    }
    struct Tags final : sctp::TagSource {
        VerificationTag draw() override { return VerificationTag{next += 2}; }
        std::uint32_t next = 77;
    };
    sctp::Profile profile = patient_settings().profiles[1].values;
    std::vector<IpAddress> addresses{IpAddress::v4(0x0a4d1001)};
    HeapPages pages;
    mem::BlockPool blocks{pages};
    RandomSource random{std::uint64_t{4}};
    Tags tags;
    sctp::CookieKeys cookies{random, 0};
    Counters counters;
    std::vector<std::uint8_t> scratch = std::vector<std::uint8_t>(sctp::kMaxMessageBytes);
    sctp::Effects effects;
    sctp::Association association;
    PacketSink sink;
};

class Wire {
 public:
    Wire() {
        start_eal();
        pool_ = rte_pktmbuf_pool_create("f04", kBuffers, 0, 0, 2048, SOCKET_ID_ANY);
        constexpr unsigned kFlags = RING_F_SP_ENQ | RING_F_SC_DEQ;
        in_ = rte_ring_create("f04_in", 256, SOCKET_ID_ANY, kFlags);
        out_ = rte_ring_create("f04_out", 256, SOCKET_ID_ANY, kFlags);
        REQUIRE((pool_ != nullptr && in_ != nullptr && out_ != nullptr));
        REQUIRE(rte_eth_from_rings("f04", &in_, 1, &out_, 1, 0) >= 0);
        auto opened = io::Port::open(port_settings(), 0, 1, pool_);
        auto* port = std::get_if<std::unique_ptr<io::Port>>(&opened);
        REQUIRE(port != nullptr);
        ports_.push_back(std::move(*port));
        const std::vector<io::PortSettings> settings{port_settings()};
        const std::vector<wire::MacAddress> macs{ports_[0]->mac()};
        addressing_.emplace(settings, macs);
        node.emplace(patient_settings(), 1, region_.at, Region::kBytes, quiescence_,
                     RandomSource::Seed{});
        loop_.emplace(0, *node, io::Fabric{ports_, *addressing_, exchange_, quiescence_, pool_}, 5);
        quiescence_.online(0);
        sctp::Environment e = peer.env(now);
        peer.association.connect(e, node->settings().listeners[0].addresses, 2905, 2905);
    }
    ~Wire() {
        quiescence_.offline(0);
        let_go();
        loop_.reset();
        sctp::Environment e = peer.env(now);
        while (!peer.association.release(e, 1000)) {
        }
        node.reset();
    }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// All free buffers are somebody else's, until let_go().
    void hog() {
        hogging_ = true;
        while (rte_mbuf* buffer = rte_pktmbuf_alloc(pool_)) hogged_.push_back(buffer);
    }
    void let_go() {
        hogging_ = false;
        for (rte_mbuf* buffer : hogged_) rte_pktmbuf_free(buffer);
        hogged_.clear();
    }
    unsigned free_buffers() const { return rte_mempool_avail_count(pool_); }

    void turn(bool peer_speaks = true) {
        now += 10ms;
        heard = 0;
        sctp::Environment e = peer.env(now);
        peer.effects.clear();
        if (peer.association.next_deadline() <= now) peer.association.advance(e, peer.effects);
        for (int pass = 0; pass < passes; ++pass) peer.association.flush(e, peer.sink);
        for (const IpBytes& packet : peer.sink.packets)
            if (peer_speaks) give(packet, 0x0800);
        peer.sink.packets.clear();
        loop_->turn(now);
        quiescence_.report(0);
        node->control_turn(now);
        take_all();
        if (hogging_) hog();
    }
    void run(int turns, bool peer_speaks = true) {
        for (; turns > 0; --turns) turn(peer_speaks);
    }
    void send(std::size_t bytes = 50) {
        const std::vector<std::uint8_t> user(bytes, 1);
        const std::span<const std::uint8_t> pieces[] = {user};
        sctp::Environment e = peer.env(now);
        peer.association.send(e, StreamId{1}, Ppid{9}, false, pieces);
    }
    std::uint64_t count(Count what) const {
        return node->worker_counters(WorkerIndex{0}).get(what);
    }
    std::uint64_t drops(Drop why) const { return node->worker_counters(WorkerIndex{0}).drops(why); }

    Time now{1s};
    Peer peer;
    std::optional<core::Node> node;
    int passes = 1;      // of the peer in a turn: each is a burst, and they arrive together
    unsigned heard = 0;  // packets from the gateway in the last turn

 private:
    /// A frame for the gateway, in a buffer that a network card would have kept for it.
    void give(std::span<const std::uint8_t> payload, std::uint16_t type) {
        rte_mbuf* buffer = nullptr;
        if (hogged_.empty()) {
            buffer = rte_pktmbuf_alloc(pool_);
        } else {
            buffer = hogged_.back();
            hogged_.pop_back();
            rte_pktmbuf_reset(buffer);
        }
        REQUIRE(buffer != nullptr);
        char* room = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(14 + payload.size()));
        auto* frame = reinterpret_cast<std::uint8_t*>(room);
        std::copy_n(ports_[0]->mac().bytes.begin(), 6, frame);
        std::copy_n(kPeerMac.bytes.begin(), 6, frame + 6);
        store_be16(frame + 12, type);
        std::copy(payload.begin(), payload.end(), frame + 14);
        REQUIRE(rte_ring_enqueue(in_, buffer) == 0);
    }
    void take_all() {
        void* taken = nullptr;
        while (rte_ring_dequeue(out_, &taken) == 0) {
            auto* buffer = static_cast<rte_mbuf*>(taken);
            const auto* at = rte_pktmbuf_mtod(buffer, const std::uint8_t*);
            const IpBytes frame(at, at + rte_pktmbuf_pkt_len(buffer));
            rte_pktmbuf_free(buffer);
            if (load_be16(frame.data() + 12) == 0x0806)
                hear_arp(std::span{frame}.subspan(14));
            else if (load_be16(frame.data() + 12) == 0x0800)
                hear_ip(std::span{frame}.subspan(14));
        }
    }
    void hear_arp(std::span<const std::uint8_t> bytes) {
        const auto asked = wire::parse_arp(bytes);
        if (!asked || asked->target != peer.addresses[0]) return;
        std::array<std::uint8_t, wire::Arp::kBytes> answer;
        wire::write_arp(answer, {.operation = wire::ArpOperation::reply,
                                 .sender_mac = kPeerMac,
                                 .sender = asked->target,
                                 .target_mac = asked->sender_mac,
                                 .target = asked->sender});
        give(answer, 0x0806);
    }
    void hear_ip(std::span<const std::uint8_t> bytes) {
        const auto parsed = wire::parse_ip(bytes);
        const auto* ip = std::get_if<wire::IpPacket>(&parsed);
        const auto packet = ip != nullptr ? wire::parse_sctp_packet(ip->payload) : std::nullopt;
        if (!packet) return;
        ++heard;
        sctp::Environment e = peer.env(now);
        peer.effects.clear();
        peer.association.receive(e,
                                 {.source = ip->source,
                                  .destination = ip->destination,
                                  .source_port = packet->header.source_port,
                                  .destination_port = packet->header.destination_port,
                                  .tag = packet->header.tag,
                                  .chunks = packet->chunks},
                                 peer.effects);
    }

    Region region_;
    rte_mempool* pool_ = nullptr;
    rte_ring* in_ = nullptr;
    rte_ring* out_ = nullptr;
    std::vector<std::unique_ptr<io::Port>> ports_;
    std::optional<io::Addressing> addressing_;
    io::NeighbourExchange exchange_{1};
    io::Quiescence quiescence_{1};
    std::optional<io::PollLoop> loop_;
    std::vector<rte_mbuf*> hogged_;
    bool hogging_ = false;
};

}  // namespace

TEST_CASE(
    "F04: no packet buffer for ten seconds: acknowledged, counted, and as before afterwards") {
    Wire w;
    const auto up = [&] { return w.peer.association.state() == sctp::State::established; };
    for (int n = 0; n < 500 && !up(); ++n) w.turn();
    REQUIRE(up());
    w.run(50);
    // All that the gateway itself holds now: one in hand, and a burst's worth for answers.
    const unsigned free_before = w.free_buffers();
    REQUIRE(free_before >= kBuffers - 1 - 32);
    const std::uint64_t taken_before = w.count(Count::rx_data_chunks);

    w.hog();
    for (int n = 0; n < 500; ++n) {  // five seconds in which the peer speaks
        w.send();
        w.turn();
    }
    w.run(20);
    CHECK(w.count(Count::rx_data_chunks) - taken_before == 500);
    CHECK(w.peer.association.queued_bytes() == 0);  // and hears that it was heard
    CHECK(w.peer.counters.get(Count::tx_retransmitted_chunks) == 0);

    // A burst is acknowledged by twos while its packets still have their buffers (RFC 9260 6.2).
    const std::uint64_t refused_in_bursts = w.drops(Drop::transmit_no_buffer);
    for (int n = 0; n < 80; ++n) w.send(1200);
    unsigned most_heard = 0;
    w.passes = 4;
    for (int n = 0; n < 80 && w.peer.association.queued_bytes() != 0; ++n) {
        w.turn();
        most_heard = std::max(most_heard, w.heard);
    }
    w.passes = 1;
    CHECK(w.count(Count::rx_data_chunks) - taken_before == 580);
    CHECK(w.peer.association.queued_bytes() == 0);
    CHECK(most_heard >= 6);
    CHECK(w.drops(Drop::transmit_no_buffer) == refused_in_bursts);

    const std::uint64_t refused_before = w.drops(Drop::transmit_no_buffer);
    w.run(500, false);  // five in which it does not: nothing brings a buffer
    CHECK(w.drops(Drop::transmit_no_buffer) > refused_before);
    CHECK(w.count(Count::associations_lost) == 0);

    w.let_go();
    w.run(200);
    const std::uint64_t refused = w.drops(Drop::transmit_no_buffer);
    for (int n = 0; n < 100; ++n) {
        w.send();
        w.turn();
    }
    w.run(50);
    CHECK(up());
    CHECK(w.count(Count::rx_data_chunks) - taken_before == 680);
    CHECK(w.peer.association.queued_bytes() == 0);
    CHECK(w.drops(Drop::transmit_no_buffer) == refused);
    CHECK(w.free_buffers() >= free_before - 1);  // nothing leaked
    CHECK(w.count(Count::associations_lost) == 0);
    CHECK(w.count(Count::associations_aborted) == 0);
}
