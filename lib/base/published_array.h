// SPDX-License-Identifier: Apache-2.0
// An array whose copies share what did not change: blocks of `Block` elements, cloned by the first
// write after a copy. One writer edits its own copy; readers of an older copy see it unchanged.
// Publishing 1,000 elements of a kilobyte costs 1,000 pointers, not a megabyte.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace signalbox {

template <class T, std::size_t Block>
class PublishedArray {
    static_assert(Block > 0);

 public:
    void resize(std::size_t count) {
        size_ = count;
        while (blocks_.size() * Block < count) blocks_.push_back(std::make_shared<Elements>());
        blocks_.resize((count + Block - 1) / Block);
    }
    void push_back(T value) {
        resize(size_ + 1);
        edit(size_ - 1) = std::move(value);
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& operator[](std::size_t i) const { return (*blocks_[i / Block])[i % Block]; }

    /// To write: clones the block when a copy shares it.
    T& edit(std::size_t i) {
        std::shared_ptr<Elements>& block = blocks_[i / Block];
        // Copies are given up by the writer's own thread (snapshots after their grace period), so
        // a count of one is certain.
        if (block.use_count() != 1) block = std::make_shared<Elements>(*block);
        return (*block)[i % Block];
    }
    /// Elements that this copy has for itself; for tests of what publication costs.
    std::size_t unshared() const {
        std::size_t n = 0;
        for (const auto& block : blocks_) n += block.use_count() == 1 ? Block : 0;
        return n;
    }

 private:
    using Elements = std::array<T, Block>;
    std::vector<std::shared_ptr<Elements>> blocks_;
    std::size_t size_ = 0;
};

}  // namespace signalbox
