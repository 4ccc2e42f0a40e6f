// SPDX-License-Identifier: Apache-2.0
// What the test peers put into each DATA message and how the receiver judges what comes out of the
// gateway.
//
//   user data: magic(4) sender(4) sls(4) sequence(8) checksum(4) fill...       all big-endian
//
// The sequence counts per sender and SLS, so that loss, duplication and reordering show for each
// flow by itself.
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "m3ua.h"

namespace interop {

struct Stamp {
    std::uint32_t sender = 0;
    std::uint32_t sls = 0;
    std::uint64_t sequence = 0;
};

inline constexpr std::size_t kStampBytes = 24;
inline constexpr std::uint64_t kSequenceMax = 1U
                                              << 28;  // what is above comes from no sender of ours

/// `size_bytes` of user data, at least kStampBytes.
m3ua::Bytes stamped(const Stamp& stamp, std::size_t size_bytes);
/// Nothing where a single bit is not as it was sent.
std::optional<Stamp> read_stamp(m3ua::View user_data);

/// Everything received, judged per flow.
class Ledger {
 public:
    void take(const Stamp& stamp);
    void corrupt() { ++corrupt_; }
    void mislabelled() { ++mislabelled_; }

    std::uint64_t distinct() const { return distinct_; }
    std::uint64_t duplicated() const { return duplicated_; }
    std::uint64_t reordered() const { return reordered_; }
    std::uint64_t corrupted() const { return corrupt_; }
    std::uint64_t mislabels() const { return mislabelled_; }
    /// Sequences below the highest one seen of their flow that never came.
    std::uint64_t gaps() const;
    /// {"sender:sls": [count, first, highest], ...}
    std::string flows_json() const;

 private:
    struct Flow {
        std::vector<bool> seen;
        std::uint64_t count = 0;
        std::uint64_t first = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Flow> flows_;
    std::uint64_t distinct_ = 0;
    std::uint64_t duplicated_ = 0;
    std::uint64_t reordered_ = 0;
    std::uint64_t corrupt_ = 0;
    std::uint64_t mislabelled_ = 0;
};

}  // namespace interop
