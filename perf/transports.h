// SPDX-License-Identifier: Apache-2.0
// Transports that the benchmarks of the table look up: keys, the line behind each, a plain chain.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "measure.h"
#include "table/transport_table.h"

namespace signalbox::perf {

using table::Key;
using table::Node;
using table::TransportTable;

inline constexpr TransportTable::HashKey kSecret{{0x243f6a8885a308d3u, 0x13198a2e03707344u}};

/// Half IPv4, half IPv6; peers from `size` on are the ones that miss.
inline Key key_of(std::size_t peer) {
    Key key{.network = 0, .local_port = 2905, .remote_port = 2905, .remote = {}};
    key.remote = IpAddress::v4(0x0a000000u + static_cast<std::uint32_t>(peer));
    if (peer % 2 == 0) {
        key.remote.bytes[0] = 0x20;
        key.remote.bytes[1] = 0x01;
        key.remote.bytes[10] = key.remote.bytes[11] = 0;
    }
    return key;
}

inline constexpr IpAddress kLocal = IpAddress::v4(0xc0000201);

/// Associations lie in huge pages in the product; here the kernel is asked for them.
struct Arena {
    explicit Arena(std::size_t count) : nodes(nullptr) {
        constexpr std::size_t kHuge = std::size_t{2} << 20;
        const auto bytes = (count * sizeof(Node) + kHuge - 1) / kHuge * kHuge;
        void* memory = std::aligned_alloc(kHuge, bytes);
        if (memory == nullptr) std::abort();
        madvise(memory, bytes, MADV_HUGEPAGE);
        nodes = static_cast<Node*>(memory);
        for (std::size_t i = 0; i < count; ++i) new (nodes + i) Node{};
    }
    ~Arena() { std::free(nodes); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    Node* nodes;
};

}  // namespace signalbox::perf
