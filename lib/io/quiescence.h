// SPDX-License-Identifier: Apache-2.0
// The reclaimer over DPDK's quiescent-state RCU: each worker reports once a turn, a sleeping worker
// is off-line.
#pragma once
#include <memory>

#include "base/reclaimer.h"

struct rte_rcu_qsbr;

namespace signalbox::io {

class Quiescence final : public Reclaimer {
 public:
    explicit Quiescence(std::size_t workers);
    ~Quiescence() override;
    Quiescence(const Quiescence&) = delete;
    Quiescence& operator=(const Quiescence&) = delete;

    // control thread
    std::uint64_t begin() override;
    bool done(std::uint64_t token) override;

    // worker: its own number
    void online(std::size_t worker);
    void offline(std::size_t worker);
    void report(std::size_t worker);

 private:
    rte_rcu_qsbr* state_;
};

}  // namespace signalbox::io
