// SPDX-License-Identifier: Apache-2.0
#include "io/quiescence.h"

#include <rte_rcu_qsbr.h>

#include <cstdlib>
#include <new>

namespace signalbox::io {

Quiescence::Quiescence(std::size_t workers) {
    const auto threads = static_cast<std::uint32_t>(workers);
    const std::size_t bytes = (rte_rcu_qsbr_get_memsize(threads) + RTE_CACHE_LINE_SIZE - 1) /
                              RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
    state_ = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes));
    if (state_ == nullptr) throw std::bad_alloc();
    rte_rcu_qsbr_init(state_, threads);
    // Registered but off-line until the worker runs: no grace period waits for it.
    for (std::uint32_t i = 0; i < threads; ++i) rte_rcu_qsbr_thread_register(state_, i);
}

Quiescence::~Quiescence() {
    std::free(state_);
}

std::uint64_t Quiescence::begin() {
    return rte_rcu_qsbr_start(state_);
}
bool Quiescence::done(std::uint64_t token) {
    return rte_rcu_qsbr_check(state_, token, false) == 1;
}

void Quiescence::online(std::size_t worker) {
    rte_rcu_qsbr_thread_online(state_, static_cast<unsigned>(worker));
}
void Quiescence::offline(std::size_t worker) {
    rte_rcu_qsbr_thread_offline(state_, static_cast<unsigned>(worker));
}
void Quiescence::report(std::size_t worker) {
    rte_rcu_qsbr_quiescent(state_, static_cast<unsigned>(worker));
}

}  // namespace signalbox::io
