// SPDX-License-Identifier: Apache-2.0
// The configured memory in one piece, from hugepages where they are used.
#pragma once
#include <cstddef>

namespace signalbox::io {

class MemoryRegion {
 public:
    /// Throws std::bad_alloc when the kernel gives none.
    MemoryRegion(std::size_t bytes, bool hugepages);
    ~MemoryRegion();
    MemoryRegion(const MemoryRegion&) = delete;
    MemoryRegion& operator=(const MemoryRegion&) = delete;
    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

 private:
    void* data_ = nullptr;
    std::size_t bytes_;
};

}  // namespace signalbox::io
