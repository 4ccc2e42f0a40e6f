// SPDX-License-Identifier: Apache-2.0
// The sharded transport hash, (network id, local port, remote port, peer address) -> node. Shared
// by all workers: readers take no lock; writers take a shard by try-lock; growth is the control
// thread's. See lib/README.md.
//
//     hash of the key:  | shard (high bits) | ... | tag (low 16 bits) |
//     bucket          :  high bits of (hash * the array's salt)
//     shard --current--> BucketArray --previous--> BucketArray (only while it is copied)
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/reclaimer.h"
#include "mem/fault_point.h"
#include "table/bucket_array.h"
#include "table/key.h"
#include "table/keyed_hash.h"

namespace signalbox::table {

enum class InsertResult : std::uint8_t { inserted, busy, duplicate, full };

class TransportTable {
 public:
    using HashKey = table::HashKey;
    struct Settings {
        unsigned shards = 64;                // power of two
        std::size_t initial_entries = 4096;  // over all shards
        std::size_t max_entries = 1u << 24;
    };
    /// `arena`: start of the memory region (64-byte aligned, at most 2^32 - 1 lines) in which all
    /// nodes live.
    TransportTable(const Settings& settings, const HashKey& key, void* arena, Reclaimer& reclaimer);
    ~TransportTable();

    /// Burst lookup in passes, any thread that reports quiescence. out[i] = first node with
    /// keys[i], preferring the one whose local address is locals[i]; nullptr when absent. Valid
    /// until the caller's next quiescent report. At most kMaxBurst keys; all three spans are of one
    /// size.
    static constexpr std::size_t kMaxBurst = 64;
    void lookup(std::span<const Key> keys, std::span<const IpAddress> locals,
                std::span<Node*> out) const;
    Node* lookup(const Key& key, const IpAddress& local) const;
    /// Among nodes of one key and local address, the one with this tag (TAB-1); else as above.
    Node* lookup(const Key& key, const IpAddress& local, VerificationTag tag) const;

    /// Worker: try-lock; busy = not now. duplicate: same key, local and tag. Duplicate check and
    /// insert are one critical section (TAB-2). full: max_entries, or the shard's pool is used up
    /// before the control thread came to grow it, or kMaxEqualKeys are equal.
    InsertResult insert(Node& node);
    /// Worker: false = busy, try again next turn. After true the node's memory may be reused once a
    /// grace period has passed. The node must be inserted.
    bool remove(Node& node);

    /// Control thread: grows or shrinks at most one shard by a bounded number of buckets per call;
    /// true when work is left (waiting for a grace period is not work).
    bool maintain();
    static constexpr std::size_t kBucketsPerCall = 32;  // and so the longest that a shard is held
    /// Control thread, which must be a reader for the Reclaimer: visits every node once (nodes
    /// inserted or removed meanwhile may be missed); Fn(const Node&). Fn must not call maintain().
    template <class Fn>
    void walk(Fn&& fn) const {
        for (WalkPosition position; const Node* node = walk_next(position);) fn(*node);
    }

    static constexpr unsigned kDepthAlarm = 4;
    static constexpr unsigned kGroups = 8;
    struct Statistics {
        std::size_t entries = 0, buckets = 0, homes = 0, max_depth = 0;
        /// Chains by depth: of 1, 2, 3, 4 buckets and of more.
        std::array<std::size_t, kDepthAlarm + 1> chains{};
        std::uint64_t growths = 0, busy = 0;
        std::uint64_t shrinks = 0, rekeys = 0;
        std::uint64_t resting = 0;  // calls of maintain() in which the new array took no chain
        std::uint64_t growths_refused = 0;  // no memory for the new array
        /// Neighbouring shards, so that what is wrong with some is not lost in the sum.
        struct Group {
            std::size_t entries = 0, homes = 0, max_depth = 0;
            std::array<std::size_t, kDepthAlarm + 1> chains{};  // as above
            std::uint64_t growths = 0, shrinks = 0, rekeys = 0;
        };
        std::vector<Group> groups;  // kGroups, or as many as there are shards
        std::size_t shards_in_group = 0;
        /// Something is wrong with keys or room, and a new salt did not mend it.
        bool alarm() const { return max_depth > kDepthAlarm; }
    };
    /// Control thread.
    Statistics statistics() const;
    std::uint64_t hash(const Key& key) const { return hash_(key); }
    /// Control thread: memory for new arrays.
    mem::FaultPoint& growth_faults() { return growth_faults_; }

 private:
    struct Shard;
    struct Wanted;
    static Statistics::Group describe(const Shard& shard);
    struct WalkPosition {
        std::size_t shard = 0;
        bool in_previous = false;
        std::size_t position = 0;
        unsigned slot = 0;
    };
    enum class Reason : std::uint8_t { none, growth, shrinking, rekeying };

    Shard& shard_of(std::uint64_t hash) const;
    Node* node_at(std::uint32_t line) const;
    std::uint32_t line_of(const Node& node) const;
    Node* find(std::uint64_t hash, const Wanted& wanted) const;
    void find_in(const BucketArray& array, std::uint64_t hash, Wanted wanted, Node*& best,
                 unsigned& best_rank) const;
    InsertResult insert_locked(Shard& shard, Node& node);
    bool has_room(const Shard& shard) const;
    bool is_duplicate(const Shard& shard, const Node& node) const;

    void free_retired();
    Reason reason_to_move(const Shard& shard) const;
    bool start_move();
    void begin_move(Shard& shard, Reason reason);
    bool continue_move(Shard& shard);
    void prefetch_nodes(const BucketArray& array, std::size_t from, std::size_t to) const;
    bool copy_chain(const BucketArray& from, std::size_t home, BucketArray& to) const;
    const Node* walk_next(WalkPosition& position) const;
    const Node* walk_array(const Shard& shard, const BucketArray& array,
                           WalkPosition& position) const;

    Settings settings_;
    KeyedHash hash_;
    std::uint8_t* arena_;
    Reclaimer& reclaimer_;
    unsigned shard_shift_;
    std::size_t homes_min_;
    std::unique_ptr<Shard[]> shards_;
    alignas(64) std::atomic<std::size_t> entries_{0};  // all workers: rw

    // control: rw
    alignas(64) HashKey salt_key_;
    std::uint64_t salts_drawn_ = 0;
    std::size_t next_shard_ = 0;
    Shard* moving_ = nullptr;
    std::uint64_t resting_ = 0, growths_refused_ = 0;
    mem::FaultPoint growth_faults_;
};

}  // namespace signalbox::table
