// SPDX-License-Identifier: Apache-2.0
// A worker's way out: lends packet buffers to the core, puts IP and Ethernet before what it wrote,
// finds the neighbour, and sends in bursts.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "core/ports.h"
#include "io/frame.h"
#include "io/neighbour_table.h"
#include "io/port.h"

struct rte_mbuf;
struct rte_mempool;

namespace signalbox::io {

Station station_of(const Port& port);

class Transmitter final : public sctp::TransmitSink {
 public:
    Transmitter(std::size_t worker, std::span<const std::unique_ptr<Port>> ports,
                const Addressing& addressing, rte_mempool* pool, std::uint64_t seed);
    ~Transmitter() override;
    Transmitter(const Transmitter&) = delete;
    Transmitter& operator=(const Transmitter&) = delete;

    /// Once, before the first turn: where drops and sent packets are counted.
    void count_in(Counters& counters) { counters_ = &counters; }
    /// The time of this turn.
    void begin(Time now) { now_ = now; }
    /// Once a turn, when the received packets have given their buffers back: what is kept for
    /// acknowledgements is filled up.
    void keep_buffers();

    std::span<std::uint8_t> lend(std::size_t bytes) override;
    std::span<std::uint8_t> lend_kept(std::size_t bytes) override;
    void commit(const sctp::Datagram& datagram, std::size_t bytes) override;

    /// A whole frame of our own making.
    void send_frame(PortIndex port, std::span<const std::uint8_t> frame);
    /// A neighbour's address is known now: what waited for it goes out.
    void learn(const Learned& learned);
    /// Repeats requests to neighbours and gives up on those that do not answer.
    void tick();
    /// Sends what is collected; what a port does not take waits a little, then is dropped by name.
    /// True while some waits.
    bool flush();
    std::span<const Station> stations() const { return stations_; }

 private:
    static constexpr std::size_t kCollectedMax = 128;  // packets for one port: a flush of 4 bursts
    static constexpr std::size_t kKeptBuffers = 32;    // a burst's worth of answers
    static constexpr Duration kStallMax = std::chrono::milliseconds{20};
    struct Collected {
        std::array<rte_mbuf*, kCollectedMax> packets{};
        std::uint16_t count = 0;
        Time stalled_since = kNever;
    };

    std::span<std::uint8_t> lent_room(std::size_t bytes) const;
    void dispatch(const NextHop& hop, rte_mbuf* packet);
    void send_fragments(const NextHop& hop, const sctp::Datagram& datagram, rte_mbuf* whole);
    bool put_ip_header(rte_mbuf& packet, const sctp::Datagram& datagram, std::size_t bytes,
                       const Port& port);
    void send_to(PortIndex port, rte_mbuf* packet, const MacAddress& to);
    void collect(PortIndex port, rte_mbuf* packet);
    void send_collected(PortIndex port);
    void ask(const NeighbourKey& key, std::optional<MacAddress> known);
    void drop(Drop why, rte_mbuf* packet);

    std::size_t worker_;
    std::span<const std::unique_ptr<Port>> ports_;
    const Addressing& addressing_;
    rte_mempool* pool_;
    Counters* counters_ = nullptr;
    NeighbourTable neighbours_;
    std::vector<Station> stations_;
    std::vector<Collected> collected_;
    rte_mbuf* lent_ = nullptr;
    std::array<rte_mbuf*, kKeptBuffers> kept_{};
    std::size_t kept_count_ = 0;
    Time now_{};
    std::uint32_t identification_ = 0;  // of packets that may be fragmented
};

}  // namespace signalbox::io
