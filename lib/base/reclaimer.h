// SPDX-License-Identifier: Apache-2.0
// Seam: deferred freeing by quiescence. `io` supplies one over rte_rcu_qsbr, tests a double.
#pragma once
#include <cstdint>

namespace signalbox {

/// A grace period is over when every worker has reported a quiescent state since it began.
class Reclaimer {
 public:
    virtual ~Reclaimer() = default;
    /// Begins a grace period; the token is passed to done(). Never blocks.
    virtual std::uint64_t begin() = 0;
    /// True once no reader can still hold what was unpublished before begin(token). Never blocks.
    virtual bool done(std::uint64_t token) = 0;
};

}  // namespace signalbox
