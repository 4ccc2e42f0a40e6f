// SPDX-License-Identifier: Apache-2.0
// Our verification tags hint at the worker that owns the association: a tag is drawn at random
// until a keyed hash of it names that worker, so it stays random to everyone without the key
// (design 6). Never trusted: the table decides.
#pragma once
#include <cstdint>

#include "base/numbers.h"
#include "base/random.h"
#include "sctp/environment.h"

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

/// Draws tags for one worker's handshakes; `target` is set before each call into sctp.
class SteeredTags final : public sctp::TagSource {
 public:
    SteeredTags(const TagHint& hint, RandomSource& random) : hint_(hint), random_(random) {}
    WorkerIndex target;

    VerificationTag draw() override {
        // A draw names the target with chance 1/workers; 64 x workers draws fail with chance below
        // 1e-27, and then the hint is merely wrong.
        VerificationTag tag;
        for (unsigned tries = 0; tries < 64 * 64; ++tries) {
            tag = VerificationTag{random_.u32()};
            if (tag.value != 0 && hint_.worker_of(tag) == target) return tag;
        }
        return tag.value != 0 ? tag : VerificationTag{1};
    }

 private:
    const TagHint& hint_;
    RandomSource& random_;
};

}  // namespace signalbox::core
