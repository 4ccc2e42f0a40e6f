// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <set>

#include "mem/page_source.h"

namespace signalbox::mem {

/// Pages from the heap, filled with rubbish; refuses after a given number, and knows which are out.
class CountingSource final : public PageSource {
 public:
    explicit CountingSource(std::size_t limit = ~std::size_t{0}) : limit_(limit) {}
    ~CountingSource() override {
        for (void* const page : out_) std::free(page);
    }
    void* take() noexcept override {
        if (out_.size() >= limit_) {
            ++refusals;
            return nullptr;
        }
        void* const page = std::aligned_alloc(kPageBytes, kPageBytes);
        std::memset(page, 0xa5, kPageBytes);
        out_.insert(page);
        return page;
    }
    void give(void* page) noexcept override {
        wrong_gives += out_.erase(page) != 1;
        std::free(page);
        ++gives;
    }
    std::size_t out() const { return out_.size(); }
    void set_limit(std::size_t pages_out) { limit_ = pages_out; }

    std::size_t refusals = 0;
    std::size_t gives = 0;
    std::size_t wrong_gives = 0;

 private:
    std::size_t limit_;
    std::set<void*> out_;
};

}  // namespace signalbox::mem
