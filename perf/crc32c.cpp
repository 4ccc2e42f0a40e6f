// SPDX-License-Identifier: Apache-2.0
// CRC32c of signaling packets: sizes drawn from 72 to 268 bytes, as the wire pads them, each
// implementation in turn, over packets drawn anew for each. Fixed sizes as well: there the branch
// predictor knows the length.
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
    explicit Packets(std::size_t fixed_size)
        : memory_(kPackets * kSlotBytes), list_(kPackets), fixed_size_(fixed_size) {
        perf::Random random{kSeed};
        for (auto& byte : memory_) byte = static_cast<std::uint8_t>(random.next());
        draw(kSeed);
    }
    const std::vector<Packet>& list() const { return list_; }
    /// Sizes and places anew: a predictor that has learnt the sizes by heart measures nothing, and
    /// it learns 4,096 of them within a hundred rounds.
    void draw(std::uint64_t seed) {
        perf::Random random{seed};
        for (std::size_t i = 0; i < kPackets; ++i) {
            const std::size_t drawn = kMinBytes + 4 * random.below((kMaxBytes - kMinBytes) / 4 + 1);
            const std::size_t offset = 2 + 4 * random.below(12);  // behind Ethernet and IPv4: 34
            list_[i] = {memory_.data() + i * kSlotBytes + offset,
                        fixed_size_ != 0 ? fixed_size_ : drawn};
        }
    }

 private:
    std::vector<std::uint8_t> memory_;
    std::vector<Packet> list_;
    std::size_t fixed_size_;
};

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

/// One way to judge a packet, and what it cost in each segment.
struct Candidate {
    std::string name;
    const Implementation* implementation = nullptr;  // null: the check of a whole packet
    Segments cycles;

    void run(const Packets& packets) {
        for (std::size_t from = 0; from < kPackets; from += 256) {
            const auto start = perf::cycles();
            if (implementation != nullptr) {
                for (std::size_t i = from; i < from + 256; ++i)
                    perf::keep(
                        implementation->update(~0u, packets.list()[i].at, packets.list()[i].size));
            } else {
                for (std::size_t i = from; i < from + 256; ++i)
                    perf::keep(sctp_checksum_ok({packets.list()[i].at, packets.list()[i].size}));
            }
            cycles.add(static_cast<double>(perf::cycles() - start) / 256);
        }
    }
};

std::size_t measure(const perf::Report& report, std::size_t fixed_size, int rounds) {
    Packets packets{fixed_size};
    const auto implementations = crc32c_detail::implementations();
    std::size_t wrong = 0;
    std::vector<Candidate> candidates;
    for (auto it = implementations.rbegin(); it != implementations.rend(); ++it) {
        if (!it->available()) continue;
        wrong += wrong_results(packets, *it);
        candidates.push_back({.name = "crc32c." + std::string{it->name}, .implementation = &*it});
    }
    candidates.push_back({.name = "crc32c.sctp_checksum_ok"});
    std::uint64_t seed = kSeed;
    for (int round = 0; round < rounds; ++round)
        for (Candidate& candidate : candidates) {
            packets.draw(++seed);
            candidate.run(packets);
        }
    const double table = candidates.front().cycles.median();
    const std::string sizes = fixed_size != 0 ? std::to_string(fixed_size) : "72 to 268 mixed";
    for (Candidate& candidate : candidates) {
        const double cost = candidate.cycles.median();
        report.add({.name = candidate.name,
                    .value = report.ns(cost),
                    .unit = "ns/packet",
                    .parameters = {{"bytes", sizes}, {"seed", kSeed}, {"counts", cost}},
                    .comparison = "table",
                    .ratio = table / cost});
    }
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = perf::Options::parse(argc, argv);
    const perf::Report report{"crc32c", options};
    const int rounds = options.quick ? 3 : 60;
    std::size_t wrong = measure(report, 0, rounds);
    for (const std::size_t size : {72u, 140u, 268u}) wrong += measure(report, size, rounds);
    if (wrong != 0) std::fprintf(stderr, "crc32c: %zu results are wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
