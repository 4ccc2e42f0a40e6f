// SPDX-License-Identifier: Apache-2.0
// ICMP errors: the association is found by the addresses and ports of the packet that they quote
// (RFC 9260 section 10, ICMP5). Whether they are believed is the association's matter.
#include "wire/icmp.h"
#include "core/worker_state.h"
#include "wire/ip.h"

namespace signalbox::core {

void Worker::State::icmp_received(const Arrival& arrival, Time now, bool handed_off) {
    if (!handed_off && !icmp_budget.take(now)) return counters.drop(Drop::icmp_limited);
    const auto parsed = wire::parse_ip(arrival.ip);
    const auto* ip = std::get_if<wire::IpPacket>(&parsed);
    const auto icmp = ip != nullptr ? wire::parse_icmp(*ip) : std::nullopt;
    if (!icmp) return counters.drop(Drop::icmp_malformed);
    if (!wire::is_error(icmp->kind)) return counters.drop(Drop::icmp_not_served);
    const auto quoted = wire::parse_quoted_sctp(icmp->quoted);
    // The error comes to whom it is about.
    if (!quoted || quoted->source != ip->destination) return counters.drop(Drop::icmp_unmatched);
    const table::Node* node = shared.table->lookup({.network = 0,
                                                    .local_port = quoted->source_port,
                                                    .remote_port = quoted->destination_port,
                                                    .remote = quoted->destination},
                                                   quoted->source);
    if (node == nullptr) return counters.drop(Drop::icmp_unmatched);
    if (node->worker != index.value) {
        hand_off(WorkerIndex{node->worker}, arrival);
        return;
    }
    Slot& slot = shared.slots[node->slot];
    if (slot.ended) return counters.drop(Drop::after_close);
    sctp::Environment env = environment(slot, now);
    effects.clear();
    slot.association.network_error(env,
                                   {.kind = icmp->kind,
                                    .remote = quoted->destination,
                                    .mtu_bytes = icmp->mtu_bytes,
                                    .tag = quoted->tag,
                                    .initiate_tag = quoted->initiate_tag},
                                   effects);
    apply_effects(slot, now);
    mark_dirty(slot);
}

}  // namespace signalbox::core
