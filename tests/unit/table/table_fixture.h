// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "qsbr_double.h"
#include "table/transport_table.h"

namespace signalbox::table {

inline constexpr TransportTable::HashKey kTestKey{{0x0123456789abcdefu, 0xfedcba9876543210u}};

inline Key key_of(std::uint32_t peer, std::uint16_t remote_port = 2905) {
    Key key{.network = 1, .local_port = 2905, .remote_port = remote_port, .remote = {}};
    key.remote = IpAddress::v4(0x0a000000u + peer);
    if (peer % 3 == 0) {  // every third is IPv6
        key.remote.bytes[0] = 0x20;
        key.remote.bytes[1] = 0x01;
        key.remote.bytes[10] = 0;
    }
    return key;
}

/// The arena, the reclaimer with one reader, and the table.
struct Fixture {
    explicit Fixture(std::size_t nodes, TransportTable::Settings settings = {})
        : arena(nodes), table(settings, kTestKey, arena.data(), qsbr) {}

    Node& prepare(std::size_t index, const Key& key, std::uint32_t local = 1,
                  std::uint32_t tag = 1) {
        auto& node = arena[index];
        node.key = key;
        node.local = IpAddress::v4(0xc0000200u + local);
        node.local_tag = VerificationTag{tag};
        node.slot = static_cast<std::uint32_t>(index);
        return node;
    }
    /// Maintains until there is nothing more to do, reporting quiescence between the calls.
    void settle() {
        for (int idle = 0; idle < 2;) {
            idle = table.maintain() ? 0 : idle + 1;
            qsbr.report(0);
        }
    }

    std::vector<Node> arena;
    QsbrDouble qsbr{1};
    TransportTable table;
};

inline IpAddress local_of(std::uint32_t local) {
    return IpAddress::v4(0xc0000200u + local);
}

}  // namespace signalbox::table
