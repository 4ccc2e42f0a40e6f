// SPDX-License-Identifier: Apache-2.0
#include "io/neighbour_exchange.h"

#include <type_traits>

namespace signalbox::io {

static_assert(std::is_trivially_copyable_v<Learned>);

NeighbourExchange::NeighbourExchange(std::size_t workers) : workers_(workers) {
    for (std::size_t i = 0; i < workers * workers; ++i)
        rings_.push_back(workers > 1 ? std::make_unique<ByteRing>(kRingBytes) : nullptr);
}

void NeighbourExchange::tell(std::size_t from, const Learned& learned) {
    for (std::size_t to = 0; to < workers_; ++to) {
        if (to == from) continue;
        const auto room = ring_of(from, to).reserve(sizeof learned);
        if (room.size() < sizeof learned) continue;
        std::memcpy(room.data(), &learned, sizeof learned);
        ring_of(from, to).commit(sizeof learned);
    }
}

}  // namespace signalbox::io
