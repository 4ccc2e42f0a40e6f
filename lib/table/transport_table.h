// SPDX-License-Identifier: Apache-2.0
// The sharded transport hash, (network id, local port, remote port, peer address) -> node. Shared by all workers:
// readers take no lock; writers take a shard by try-lock; growth is the control thread's. See lib/README.md.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/reclaimer.h"

namespace signalbox::table {

struct Key {
    std::uint16_t network = 0;
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0;
    IpAddress remote;
    friend bool operator==(const Key&, const Key&) = default;
};

/// One cache line, embedded in the association's slot, which lies in the arena given to the table: the table refers to
/// it by its 32-bit line number. Immutable while inserted (TAB-1); its memory is reused only after a grace period.
struct alignas(64) Node {
    Key key;                      // 22 bytes
    std::uint8_t worker = 0;      // owner
    std::uint8_t path = 0;        // index of the path in its association
    std::uint32_t slot = 0;       // association slot number
    VerificationTag local_tag;    // decides among equal keys after local
    IpAddress local;              // decides among equal keys
    std::uint64_t hash = 0;       // written by insert()
};
static_assert(sizeof(Node) == 64);

enum class InsertResult : std::uint8_t { inserted, busy, duplicate, full };

class TransportTable {
 public:
    struct HashKey { std::array<std::uint64_t, 2> words; };
    struct Settings {
        unsigned shards = 64;               // power of two
        std::size_t initial_entries = 4096;  // over all shards
        std::size_t max_entries = 1u << 24;
    };
    /// `arena`: start of the memory region (64-byte aligned, at most 2^32 lines) in which all nodes live.
    TransportTable(const Settings& settings, const HashKey& key, void* arena, Reclaimer& reclaimer);
    ~TransportTable();

    /// Burst lookup in passes, any thread that reports quiescence. out[i] = first node with keys[i], preferring the one whose
    /// local address is locals[i]; nullptr when absent. Valid until the caller's next quiescent report.
    static constexpr std::size_t kMaxBurst = 64;
    void lookup(std::span<const Key> keys, std::span<const IpAddress> locals, std::span<Node*> out) const;
    Node* lookup(const Key& key, const IpAddress& local) const;

    /// Worker: try-lock; busy = not now. duplicate: same key, local and tag. Duplicate check and insert are one critical
    /// section (TAB-2). full: max_entries.
    InsertResult insert(Node& node);
    /// Worker: false = busy, try again next turn. After true the node's memory may be reused once a grace period has passed.
    bool remove(Node& node);

    /// Control thread: grows or shrinks at most one shard by a bounded number of buckets per call; true when work is left.
    bool maintain();
    /// Control thread: visits every node once (nodes inserted or removed meanwhile may be missed); Fn(const Node&).
    template <class Fn> void walk(Fn&& fn) const;

    struct Statistics { std::size_t entries = 0, buckets = 0, max_depth = 0; std::uint64_t growths = 0, busy = 0; };
    Statistics statistics() const;
    std::uint64_t hash(const Key& key) const;

 private:
    struct Shard;
    std::unique_ptr<Shard[]> shards_;
};

}  // namespace signalbox::table
