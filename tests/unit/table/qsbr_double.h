// SPDX-License-Identifier: Apache-2.0
// A Reclaimer with explicit reports of quiescence, for one or several readers.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/reclaimer.h"

namespace signalbox::table {

class QsbrDouble : public Reclaimer {
 public:
    static constexpr std::size_t kReadersMax = 8;
    explicit QsbrDouble(std::size_t readers) : readers_(readers) {}

    std::uint64_t begin() override {
        if (on_begin) on_begin();
        return token_.fetch_add(1, std::memory_order_acq_rel) + 1;
    }
    bool done(std::uint64_t token) override {
        for (std::size_t i = 0; i < readers_; ++i)
            if (seen_[i].load(std::memory_order_acquire) < token) return false;
        return true;
    }
    void report(std::size_t reader) {
        seen_[reader].store(token_.load(std::memory_order_acquire), std::memory_order_release);
    }
    void leave(std::size_t reader) { seen_[reader].store(~0ull, std::memory_order_release); }

    std::function<void()> on_begin;  // runs while the table holds a shard

 private:
    std::size_t readers_;
    std::atomic<std::uint64_t> token_{0};
    std::array<std::atomic<std::uint64_t>, kReadersMax> seen_{};
};

}  // namespace signalbox::table
