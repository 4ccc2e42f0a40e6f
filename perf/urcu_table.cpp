// SPDX-License-Identifier: Apache-2.0
#include "urcu_table.h"

#include <urcu/rculfhash.h>
#include <urcu/urcu-qsbr.h>

#include <bit>
#include <cstdlib>

namespace signalbox::perf {

struct UrcuTable::Entry {
    cds_lfht_node link{};
    table::Node* node = nullptr;
};

UrcuTable::UrcuTable(const table::HashKey& secret, std::size_t capacity, bool resizing)
    : hash_(secret),
      table_(cds_lfht_new_flavor(resizing ? 64 : std::bit_ceil(capacity), 64, 0,
                                 resizing ? CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING : 0,
                                 &urcu_qsbr_flavor, nullptr)),
      entries_(capacity) {
    if (table_ == nullptr) std::abort();
}

UrcuTable::~UrcuTable() {
    urcu_qsbr_read_lock();
    for (std::size_t i = 0; i < used_; ++i) cds_lfht_del(table_, &entries_[i].link);
    urcu_qsbr_read_unlock();
    urcu_qsbr_synchronize_rcu();
    // A growth under way waits for this thread, and destroying waits for the growth.
    urcu_qsbr_thread_offline();
    cds_lfht_destroy(table_, nullptr);
    urcu_qsbr_thread_online();
}

void UrcuTable::insert(table::Node& node) {
    Entry& entry = entries_[used_++];
    cds_lfht_node_init(&entry.link);
    entry.node = &node;
    urcu_qsbr_read_lock();
    cds_lfht_add(table_, hash_(node.key), &entry.link);
    urcu_qsbr_read_unlock();
}

table::Node* UrcuTable::find(const table::Key& key) const {
    cds_lfht_iter iter;
    const auto match = [](cds_lfht_node* link, const void* wanted) -> int {
        const auto* entry = reinterpret_cast<const Entry*>(link);
        return table::same(entry->node->key, *static_cast<const table::Key*>(wanted)) ? 1 : 0;
    };
    cds_lfht_lookup(table_, hash_(key), match, &key, &iter);
    auto* link = cds_lfht_iter_get_node(&iter);
    return link == nullptr ? nullptr : reinterpret_cast<Entry*>(link)->node;
}

void UrcuTable::enter() {
    urcu_qsbr_register_thread();
}
void UrcuTable::leave() {
    urcu_qsbr_unregister_thread();
}
void UrcuTable::quiescent() {
    urcu_qsbr_quiescent_state();
}

}  // namespace signalbox::perf
