// SPDX-License-Identifier: Apache-2.0
#include "io/memory_region.h"

#include <sys/mman.h>

#include <new>

namespace signalbox::io {

namespace {

constexpr std::size_t kRound = std::size_t{2} << 20;  // the usual hugepage

}  // namespace

MemoryRegion::MemoryRegion(std::size_t bytes, bool hugepages)
    : bytes_((bytes + kRound - 1) / kRound * kRound) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (hugepages ? MAP_HUGETLB : MAP_NORESERVE);
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    // Keys, cookies and subscribers' messages are no business of a core dump's reader.
    madvise(data_, bytes_, MADV_DONTDUMP);
}

MemoryRegion::~MemoryRegion() {
    munmap(data_, bytes_);
}

}  // namespace signalbox::io
