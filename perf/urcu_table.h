// SPDX-License-Identifier: Apache-2.0
// liburcu's resizable lock-free hash as a transport table: the rival that grows while it is read.
// Keyed with our hash; one lookup at a time is all that it offers.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "table/key.h"
#include "table/keyed_hash.h"

struct cds_lfht;  // urcu/rculfhash.h

namespace signalbox::perf {

class UrcuTable {
 public:
    /// `resizing`: it grows by a thread of its own from a few buckets on; else it has its size at
    /// once.
    UrcuTable(const table::HashKey& secret, std::size_t capacity, bool resizing);
    ~UrcuTable();
    UrcuTable(const UrcuTable&) = delete;
    UrcuTable& operator=(const UrcuTable&) = delete;

    void insert(table::Node& node);
    table::Node* find(const table::Key& key) const;

    /// Each thread that uses the table, once before and once after.
    static void enter();
    static void leave();
    static void quiescent();

 private:
    struct Entry;
    table::KeyedHash hash_;
    cds_lfht* table_;
    std::vector<Entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace signalbox::perf
