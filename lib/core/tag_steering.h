// SPDX-License-Identifier: Apache-2.0
// Our verification tags hint at the worker that owns the association: a tag is drawn until a keyed
// hash of it names that worker, so it stays random to everyone without the key (design 6). Never
// trusted: the table decides.
//
//     counter --keyed permutation of 32 bits--> tag --keyed hash--> worker
//
// The counter, one for all workers, makes no tag come again before 2^32 draws: RFC 9260 5.3.1 wants
// none reused for the same ports while packets of the old association may be about. At 50,000
// handshakes a second on each of 32 workers, 32 draws for each, that is 83 s.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "base/numbers.h"
#include "base/random.h"
#include "sctp/environment.h"
#include "table/keyed_hash.h"

namespace signalbox::core {

class TagHint {
 public:
    TagHint(std::uint64_t key, unsigned workers) : key_(key), workers_(workers) {}

    WorkerIndex worker_of(VerificationTag tag) const {
        // 128-bit multiply with a secret odd factor, halves folded: cheap, and its low bits say
        // nothing without the key.
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(tag.value ^ (key_ >> 32)) * (key_ | 1);
        const auto folded =
            static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        return WorkerIndex{static_cast<std::uint8_t>((folded >> 17) % workers_)};
    }

 private:
    std::uint64_t key_;
    unsigned workers_;
};

/// All numbers of 32 bits but zero, each once in 2^32 draws, in an order that the key makes.
class TagSequence {
 public:
    explicit TagSequence(RandomSource& random)
        : key_{{random.u64(), random.u64()}}, counter_(random.u32()) {}

    /// Any worker.
    VerificationTag next() {
        for (;;)
            if (const auto tag = permute(counter_.fetch_add(1, std::memory_order_relaxed)))
                return VerificationTag{tag};
    }

 private:
    // A Feistel network over two halves of 16 bits, its rounds keyed by SipHash: a permutation,
    // whatever the rounds do. Eight of them are twice what makes it pseudo-random to someone who
    // chooses inputs (Luby and Rackoff), and nobody can choose the counter.
    std::uint32_t permute(std::uint32_t value) const {
        std::uint32_t left = value >> 16;
        std::uint32_t right = value & 0xffff;
        for (std::uint64_t round = 0; round < 8; ++round) {
            const auto mixed = table::siphash13(key_, round, right, 0);
            const std::uint32_t next = left ^ (static_cast<std::uint32_t>(mixed) & 0xffff);
            left = right;
            right = next;
        }
        return left << 16 | right;
    }

    table::HashKey key_;
    std::atomic<std::uint32_t> counter_;  // workers: rw
};

/// Draws tags for one worker's handshakes; `target` is set before each call into sctp.
class SteeredTags final : public sctp::TagSource {
 public:
    SteeredTags(const TagHint& hint, TagSequence& sequence) : hint_(hint), sequence_(sequence) {}
    WorkerIndex target;

    VerificationTag draw() override {
        // A draw names the target with chance 1/workers; 64 x workers draws fail with chance below
        // 1e-27, and then the hint is merely wrong.
        VerificationTag tag;
        for (unsigned tries = 0; tries < 64 * 64; ++tries) {
            tag = sequence_.next();
            if (hint_.worker_of(tag) == target) return tag;
        }
        return tag;
    }

 private:
    const TagHint& hint_;
    TagSequence& sequence_;
};

}  // namespace signalbox::core
