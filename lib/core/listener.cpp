// SPDX-License-Identifier: Apache-2.0
// Packets for which the table has no association (RFC 9260 5.1, 8.4). Access list first, then
// budgets, then the MAC (HS-3).
#include "core/worker_state.h"
#include "wire/chunk_types.h"
#include "wire/init.h"
#include "wire/parameters.h"

namespace signalbox::core {

bool Worker::State::hand_off(WorkerIndex to, const Arrival& arrival) {
    if (push(Site::ring_packet, shared.ring(index.value, to.value), {.kind = RecordKind::packet},
             arrival.ip)) {
        counters.add(Count::handoff_packets);
        return true;
    }
    counters.drop(Drop::handoff_ring_full);
    return false;
}

std::uint16_t Worker::State::profile_of(std::uint16_t listener, PeerIndex peer) const {
    return peer == kNoPeer ? settings().listeners[listener].profile
                           : settings().peers[peer.value].profile;
}

/// The association of the first address parameter of an INIT or INIT ACK that has one (TAB-6, RFC
/// 4460 2.18): its source may be an address that we do not know yet.
table::Node* Worker::State::listed(const sctp::Packet& packet) const {
    const auto chunk = wire::ChunkWalker{packet.chunks}.next();
    const auto init = chunk ? wire::parse_init(chunk->value) : std::nullopt;
    if (!init) return nullptr;
    wire::ParameterWalker walker{init->parameters};
    for (std::size_t looked = 0; looked < sctp::kMaxRemoteAddresses;) {
        const auto parameter = walker.next();
        if (!parameter) break;
        const auto address = wire::parse_address(*parameter);
        if (!address) continue;
        ++looked;
        const table::Key key{.network = 0,
                             .local_port = packet.destination_port,
                             .remote_port = packet.source_port,
                             .remote = *address};
        if (table::Node* node = shared.table->lookup(key, packet.destination)) return node;
    }
    return nullptr;
}

bool Worker::State::met_by_list(const Arrival& arrival, Time now) {
    table::Node* node = listed(arrival.sctp);
    if (node == nullptr) return false;
    if (node->worker != index.value) return hand_off(WorkerIndex{node->worker}, arrival), true;
    Slot& slot = shared.slots[node->slot];
    if (slot.ended)
        counters.drop(Drop::after_close);
    else
        to_association(slot, arrival.sctp, now);
    return true;
}

/// An association that the table does not yet hold under this address: it is met all the same, and
/// its peer not answered as a stranger (PKT-8).
bool Worker::State::met_by_unindexed(const Arrival& arrival, Time now, bool handed_off) {
    constexpr std::size_t kLooks = 64;
    const sctp::Packet& packet = arrival.sctp;
    if (packet.tag.value == 0) return false;
    const WorkerIndex owner = shared.tag_hint.worker_of(packet.tag);
    if (shared.per_worker[owner.value]->unindexed.load(std::memory_order_relaxed) == 0)
        return false;
    if (owner != index) return !handed_off && (hand_off(owner, arrival), true);
    Slot* slot = unsettled.find(kLooks, [&](const Slot& s) {
        const sctp::Association& a = s.association;
        if (s.ended || a.local_tag() != packet.tag || a.remote_port() != packet.source_port)
            return false;
        for (std::size_t path = s.nodes_inserted; path < a.path_count(); ++path)
            if (a.remote_address(path) == packet.source) return true;
        return false;
    });
    if (slot != nullptr)
        to_association(*slot, packet, now);
    else if (unsettled.size() > kLooks)
        counters.drop(Drop::path_not_indexed);  // perhaps one of those behind
    return slot != nullptr || unsettled.size() > kLooks;
}

void Worker::State::no_association(const Arrival& arrival, Time now, sctp::TransmitSink& sink,
                                   bool handed_off) {
    if (met_by_unindexed(arrival, now, handed_off)) return;
    if (!arrival.listening)
        return out_of_the_blue(arrival, plan().access.knows(arrival.sctp.source), now, sink);
    const PeerIndex peer =
        plan().access.peer(arrival.listener, arrival.sctp.source, arrival.sctp.source_port);
    const bool admitted = plan().access.admits(arrival.listener, peer);
    const bool init = arrival.sctp.chunks[0] == static_cast<std::uint8_t>(wire::ChunkType::init);
    if (init) {
        if (!admitted) return counters.drop(Drop::init_refused_peer);
        if (!init_budget.take(now)) return counters.drop(Drop::init_limited);
        if (met_by_list(arrival, now)) return;  // a restart from a new address (5.2.2)
        return init_received(arrival, peer, now, sink);
    }
    const bool answer =
        arrival.sctp.chunks[0] == static_cast<std::uint8_t>(wire::ChunkType::init_ack);
    if (answer && met_by_list(arrival, now)) return;  // from another address than we asked (HS-8)
    if (!sctp::first_cookie(arrival.sctp).empty()) {
        if (!admitted) return counters.drop(Drop::init_refused_peer);
        // The tag in the packet is ours, drawn to name the worker that shall own the association.
        const WorkerIndex owner = shared.tag_hint.worker_of(arrival.sctp.tag);
        if (owner != index && !handed_off) {
            hand_off(owner, arrival);
            return;
        }
        return cookie_received(arrival, peer, now, sink);
    }
    out_of_the_blue(arrival, peer != kNoPeer, now, sink);
}

void Worker::State::init_received(const Arrival& arrival, PeerIndex peer, Time now,
                                  sctp::TransmitSink& sink) {
    // Spread by the transport's hash: one port queue may feed several workers.
    const table::Key key{.network = 0,
                         .local_port = arrival.sctp.destination_port,
                         .remote_port = arrival.sctp.source_port,
                         .remote = arrival.sctp.source};
    tags.target =
        WorkerIndex{static_cast<std::uint8_t>((shared.table->hash(key) >> 20) % shared.workers)};
    sctp::Environment env = environment(arrival.listener, profile_of(arrival.listener, peer), now);
    sctp::answer_init(env, arrival.sctp, sink);
}

void Worker::State::cookie_received(const Arrival& arrival, PeerIndex peer, Time now,
                                    sctp::TransmitSink& sink) {
    if (!init_budget.take(now)) return counters.drop(Drop::cookie_limited);
    sctp::CookieContents contents;
    switch (cookies.open(sctp::first_cookie(arrival.sctp), arrival.sctp, now, contents)) {
        case sctp::CookieVerdict::good:
            break;
        case sctp::CookieVerdict::stale:
            counters.drop(Drop::cookie_stale);
            return stale_cookie(arrival, contents, now, sink);
        case sctp::CookieVerdict::bad_mac:
            return counters.drop(Drop::cookie_bad_mac);
        case sctp::CookieVerdict::malformed:
            return counters.drop(Drop::cookie_malformed);
        case sctp::CookieVerdict::mismatch:
            return counters.drop(Drop::cookie_mismatch);
    }
    Slot* slot = new_slot(arrival.listener, peer);
    if (slot == nullptr) return counters.drop(Drop::init_refused_resources);
    sctp::Environment env = environment(*slot, now);
    tags.target = index;
    // A refusal leaves nothing behind: the peer sends its COOKIE ECHO again.
    Indexed indexed = Indexed::no_memory;
    if (!faults.refuse(Site::accept) && slot->association.accept(env, contents))
        indexed = index_paths(*slot);
    if (indexed != Indexed::all) {
        count_refusal(indexed);
        end(*slot, EventKind::association_lost, 0);
        return;
    }
    to_association(*slot, arrival.sctp, now);
}

/// ERROR "stale cookie" tells the peer how late it was (RFC 9260 5.2.6); budgeted like every answer
/// without an association.
void Worker::State::stale_cookie(const Arrival& arrival, const sctp::CookieContents& cookie,
                                 Time now, sctp::TransmitSink& sink) {
    if (!out_of_the_blue_budget.take(now)) return counters.drop(Drop::out_of_the_blue_limited);
    const std::uint16_t profile = settings().listeners[arrival.listener].profile;
    sctp::Environment env = environment(arrival.listener, profile, now);
    sctp::answer_stale_cookie(env, arrival.sctp, cookie, sink);
}

void Worker::State::out_of_the_blue(const Arrival& arrival, bool known_peer, Time now,
                                    sctp::TransmitSink& sink) {
    // END-2: silence towards sources that the access list does not hold.
    if (!known_peer) {
        counters.drop(arrival.listening ? Drop::out_of_the_blue : Drop::not_listening);
        return;
    }
    if (!out_of_the_blue_budget.take(now)) return counters.drop(Drop::out_of_the_blue_limited);
    if (settings().listeners.empty()) return counters.drop(Drop::out_of_the_blue);
    sctp::Environment env =
        environment(arrival.listener, settings().listeners[arrival.listener].profile, now);
    sctp::answer_out_of_the_blue(env, arrival.sctp, sink);
}

}  // namespace signalbox::core
