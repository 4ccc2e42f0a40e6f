// SPDX-License-Identifier: Apache-2.0
// One shard's array of buckets. Readers take no lock; all writers hold the shard's lock.
//
//     bucket = one cache line     | 10 tags x 16 bit | next 32 bit | 10 lines x 32 bit |
//
// A tag is 16 bits of the hash, a line is the node's place in the arena plus one (0: free). An
// entry is published by one release store of its line; it never moves inside an array, so that a
// reader cannot miss it while it stays inserted. A bucket that is full is continued (`next`) by one
// from the array's own pool, taken in advance.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace signalbox::table {

inline constexpr unsigned kSlots = 10;
/// Lines that one lookup may read in an array: the hard bound of TAB-4. At the highest load that
/// the pool allows, a secret hash makes no chain of more than 5; so only equal keys can meet it
/// (TAB-2). An insert goes no deeper than half of it, so that chains which meet in a new array fit.
inline constexpr unsigned kMaxDepth = 32;
inline constexpr unsigned kMaxInsertDepth = kMaxDepth / 2;
/// Equal keys share a chain, whatever the salt, and a lookup's work has a bound: so they have one.
/// An endpoint has at most one association for each of its addresses (RFC 9260 1.3), so eight keys
/// of one peer's address and port, and those that ended and wait to leave.
inline constexpr unsigned kMaxEqualKeys = kMaxInsertDepth * kSlots;

struct alignas(64) Bucket {
    // all: shard writer: rw, readers: ro
    std::array<std::atomic<std::uint64_t>, 2> tags{};  // slots 0 to 3, 4 to 7
    std::atomic<std::uint32_t> tags_tail{};            // slots 8 and 9
    std::atomic<std::uint32_t> next{};                 // position in the array; 0: none
    std::array<std::atomic<std::uint32_t>, kSlots> lines{};

    /// The slots that may hold a tag, in one word, so that finding one takes no branch that cannot
    /// be foretold: slot 4 * g + n is bit 16 * n + 15 - g. (A borrow may add one above a true
    /// match: the key decides anyway.)
    class Matches {
     public:
        explicit Matches(std::uint64_t bits) : bits_(bits) {}
        bool none() const { return bits_ == 0; }
        /// Any slot, which is then taken out; only if not none().
        unsigned take() {
            const auto bit = static_cast<unsigned>(std::countr_zero(bits_));
            bits_ &= bits_ - 1;
            return bit / 16 + 4 * (15 - bit % 16);
        }

     private:
        std::uint64_t bits_;
    };
    Matches match(std::uint16_t tag) const {
        const auto wanted = 0x0001000100010001u * std::uint64_t{tag};
        const auto low = zero_lanes(tags[0].load(std::memory_order_relaxed) ^ wanted);
        const auto middle = zero_lanes(tags[1].load(std::memory_order_relaxed) ^ wanted);
        const auto tail = zero_lanes(tags_tail.load(std::memory_order_relaxed) ^ wanted);
        return Matches(low | middle >> 1 | (tail & 0xffffffffu) >> 2);
    }
    void set_tag(unsigned slot, std::uint16_t tag);
    bool empty() const;

 private:
    static constexpr std::uint64_t zero_lanes(std::uint64_t word) {
        return (word - 0x0001000100010001u) & ~word & 0x8000800080008000u;
    }
};
static_assert(sizeof(Bucket) == 64);

class BucketArray {
 public:
    /// `homes`: 1 to 2^31. `salt` is made odd; it turns a hash into a bucket, so that an array with
    /// another salt is a re-keyed one. nullptr: no memory. Control thread.
    static std::unique_ptr<BucketArray> make(std::size_t homes, std::uint64_t salt);

    static std::uint16_t tag_of(std::uint64_t hash) { return static_cast<std::uint16_t>(hash); }
    std::size_t home_of(std::uint64_t hash) const { return (hash * salt_ >> 32) * homes_ >> 32; }
    const Bucket& home(std::uint64_t hash) const { return buckets_[home_of(hash)]; }
    const Bucket& at(std::size_t position) const { return buckets_[position]; }
    std::size_t homes() const { return homes_; }
    std::size_t size() const { return homes_ + pool_; }  // with the pool

    // Under the shard's lock, from here on.
    /// False when the pool is used up or the chain is at `max_depth`; nothing has changed then.
    bool put(std::uint64_t hash, std::uint32_t line, unsigned max_depth = kMaxDepth);
    /// False when it was not there.
    bool erase(std::uint64_t hash, std::uint32_t line);
    std::size_t pool_free() const { return free_count_.load(std::memory_order_relaxed); }
    std::size_t pool_used() const { return pool_ - pool_free(); }

    // Any thread.
    /// Chains of so many buckets, 2 to kMaxDepth; all others have one.
    std::size_t chains(unsigned depth) const {
        return chains_[depth].load(std::memory_order_relaxed);
    }
    /// Of the deepest chain now, in buckets.
    unsigned max_depth() const;

    /// The array whose entries are being copied into this one; null when all are here. Read BEFORE
    /// looking into this array: null then means that every copy is visible.
    std::atomic<const BucketArray*> previous{};  // control: rw, readers: ro

 private:
    BucketArray(std::size_t homes, std::uint64_t salt);

    struct Place {
        Bucket* bucket;
        unsigned slot;
    };
    Place free_place(std::uint64_t hash, unsigned max_depth);
    Place extend(Bucket& tail, unsigned depth);
    void count_chain(unsigned from_depth, unsigned to_depth);
    void drop_empty_tail(Bucket& home);

    std::unique_ptr<Bucket[]> buckets_;
    std::uint64_t salt_;
    std::size_t homes_;
    std::size_t pool_;
    std::unique_ptr<std::uint32_t[]> free_;  // stack of positions in the pool; shard writer: rw
    std::atomic<std::uint32_t> free_count_;  // shard writer: rw, control: ro
    std::array<std::atomic<std::uint32_t>, kMaxDepth + 1> chains_{};  // shard writer: rw, all: ro
};

}  // namespace signalbox::table
