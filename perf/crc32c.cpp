// SPDX-License-Identifier: Apache-2.0
// CRC32c of signaling packets: sizes drawn from 72 to 268 bytes, as the wire pads them, each
// implementation over the same packets in an order that is new for each round. Fixed sizes as well:
// there the branch predictor knows the length.
#include "base/crc32c.h"

#include <cstddef>
#include <string>

#include "base/crc32c_implementations.h"
#include "measure.h"

namespace {

using namespace signalbox;
using crc32c_detail::Implementation;
using perf::Segments;

constexpr std::size_t kPackets = 4096;
constexpr std::size_t kMinBytes = 72;
constexpr std::size_t kMaxBytes = 268;
constexpr std::size_t kSlotBytes = 320;  // a packet's place, at any alignment of 4
constexpr std::uint64_t kSeed = 1;

struct Packet {
    std::uint8_t* at;
    std::size_t size;
};

class Packets {
 public:
    explicit Packets(std::size_t fixed_size) : memory_(kPackets * kSlotBytes) {
        perf::Random random{kSeed};
        for (auto& byte : memory_) byte = static_cast<std::uint8_t>(random.next());
        for (std::size_t i = 0; i < kPackets; ++i) {
            const std::size_t drawn = kMinBytes + 4 * random.below((kMaxBytes - kMinBytes) / 4 + 1);
            const std::size_t offset = 2 + 4 * random.below(12);  // behind Ethernet and IPv4: 34
            list_.push_back(
                {memory_.data() + i * kSlotBytes + offset, fixed_size != 0 ? fixed_size : drawn});
        }
    }
    const std::vector<Packet>& list() const { return list_; }
    /// Another order for each round: a predictor that has learnt the sizes by heart measures
    /// nothing.
    void shuffle(std::uint64_t seed) {
        perf::Random random{seed};
        for (std::size_t i = list_.size(); i > 1; --i)
            std::swap(list_[i - 1], list_[random.below(i)]);
    }

 private:
    std::vector<std::uint8_t> memory_;
    std::vector<Packet> list_;
};

template <class Fn>
double cycles_per_packet(Packets& packets, int rounds, Fn&& crc) {
    Segments segments;
    for (int round = 0; round < rounds; ++round) {
        packets.shuffle(static_cast<std::uint64_t>(round));
        for (std::size_t from = 0; from < kPackets; from += 256) {
            const auto start = perf::cycles();
            for (std::size_t i = from; i < from + 256; ++i) perf::keep(crc(packets.list()[i]));
            segments.add(static_cast<double>(perf::cycles() - start) / 256);
        }
    }
    return segments.median();
}

/// Packets on which an implementation differs from the polynomial taken bit by bit.
std::size_t wrong_results(const Packets& packets, const Implementation& implementation) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 64; ++i) {
        const Packet& p = packets.list()[i];
        wrong += implementation.update(~0u, p.at, p.size) !=
                 crc32c_detail::update_bitwise(~0u, p.at, p.size);
    }
    return wrong;
}

std::size_t measure(const perf::Report& report, const std::string& sizes, Packets packets,
                    int rounds) {
    const auto implementations = crc32c_detail::implementations();
    std::size_t wrong = 0;
    double table = 0;
    for (auto it = implementations.rbegin(); it != implementations.rend(); ++it) {
        if (!it->available()) continue;
        wrong += wrong_results(packets, *it);
        const double cost = cycles_per_packet(
            packets, rounds, [&](const Packet& p) { return it->update(~0u, p.at, p.size); });
        if (table == 0) table = cost;
        report.add({.name = std::string{it->name},
                    .value = report.ns(cost),
                    .unit = "ns/packet",
                    .parameters = sizes,
                    .comparison = "table",
                    .ratio = table / cost});
    }
    const double check = cycles_per_packet(packets, rounds, [](const Packet& p) {
        return sctp_checksum_ok({p.at, p.size});
    });
    report.add({.name = "sctp_checksum_ok",
                .value = report.ns(check),
                .unit = "ns/packet",
                .parameters = sizes,
                .comparison = "table",
                .ratio = table / check});
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = perf::Options::parse(argc, argv);
    const perf::Report report{"crc32c", options};
    const int rounds = options.quick ? 3 : 100;
    std::size_t wrong = measure(report, "72..268 bytes mixed, seed 1", Packets{0}, rounds);
    for (const std::size_t size : {72u, 140u, 268u})
        wrong += measure(report, std::to_string(size) + " bytes", Packets{size}, rounds);
    if (wrong != 0) std::fprintf(stderr, "crc32c: %zu results are wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
