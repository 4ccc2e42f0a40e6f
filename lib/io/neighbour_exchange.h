// SPDX-License-Identifier: Apache-2.0
// An answer to ARP or neighbour discovery comes to whichever worker's queue the device chose; this
// tells the others. One ring for each pair of workers. A full ring loses the news: who needs it
// asks again.
#pragma once
#include <cstring>
#include <memory>
#include <vector>

#include "base/byte_ring.h"
#include "io/frame.h"

namespace signalbox::io {

class NeighbourExchange {
 public:
    explicit NeighbourExchange(std::size_t workers);

    /// worker `from`: to all others.
    void tell(std::size_t from, const Learned& learned);
    /// worker `to`: what the others told; bounded.
    template <class Fn>
    void hear(std::size_t to, Fn&& fn) {
        for (std::size_t from = 0; from < workers_; ++from) {
            if (from == to) continue;
            ByteRing& ring = ring_of(from, to);
            for (unsigned n = 0; n < kHeardMax; ++n) {
                const auto record = ring.front();
                if (record.size() != sizeof(Learned)) break;
                Learned learned;
                std::memcpy(&learned, record.data(), sizeof learned);
                ring.pop();
                fn(learned);
            }
        }
    }

 private:
    static constexpr std::size_t kRingBytes = 4096;  // about 100 records
    static constexpr unsigned kHeardMax = 32;        // bounds a turn
    ByteRing& ring_of(std::size_t from, std::size_t to) { return *rings_[from * workers_ + to]; }

    std::size_t workers_;
    std::vector<std::unique_ptr<ByteRing>> rings_;  // [from][to]; from: producer, to: consumer
};

}  // namespace signalbox::io
