// SPDX-License-Identifier: Apache-2.0
// AS-PENDING (RFC 4666 4.3.2): messages wait until an ASP becomes active or T(r) is over, bounded
// by messages and bytes over all workers; newest discarded, flushed in order before new traffic.
#include <algorithm>
#include <utility>

#include "core/worker_state.h"

namespace signalbox::core {

/// `bytes`: asked for, then what the block has.
void* Worker::State::take_for_pending(std::size_t& bytes, bool bounded) {
    if (bounded) return faults.refuse(Site::pending_message) ? nullptr : blocks.take(bytes);
    const KeptBack use(blocks);
    if (void* const block = blocks.take(bytes)) return block;
    bytes = mem::BlockPool::kMaxBytes;
    return std::exchange(waiting_room, nullptr);
}

bool Worker::State::prepare_room() {
    if (waiting_room != nullptr) return true;
    const KeptBack use(blocks);
    if (!faults.refuse(Site::waiting_room)) waiting_room = blocks.take(mem::BlockPool::kMaxBytes);
    return waiting_room != nullptr;
}

void Worker::State::give_room() {
    if (waiting_room != nullptr) blocks.give(waiting_room, mem::BlockPool::kMaxBytes);
    waiting_room = nullptr;
}

Routed Worker::State::enqueue_pending(AsIndex as, const sigtran::ProtocolData& data, Place place) {
    const bool bounded = place == Place::fresh;
    const sigtran::AsView& server = snapshot->distribution.servers[as.value];
    std::atomic<std::uint32_t>& messages = shared.pending_messages[as.value];
    std::atomic<std::uint32_t>& bytes = shared.pending_bytes[as.value];
    const auto length = static_cast<std::uint32_t>(data.user_data.size());
    std::size_t room = sizeof(PendingMessage) + length;
    if (room > mem::BlockPool::kMaxBytes) return lose(as, Drop::data_too_long), Routed::done;
    if (bounded && (messages.load(std::memory_order_relaxed) >= server.recovery_queue_messages ||
                    bytes.load(std::memory_order_relaxed) + length > server.recovery_queue_bytes))
        return refuse_at(as, Drop::as_pending_full);
    void* block = take_for_pending(room, bounded);
    if (block == nullptr) {
        // A new message stays with the association that brought it.
        if (bounded) return Routed::again;
        return lose(as, Drop::data_no_memory), Routed::done;
    }
    auto* m = ::new (block) PendingMessage{.length = length,
                                           .opc = data.opc,
                                           .dpc = data.dpc,
                                           .si = data.si,
                                           .ni = data.ni,
                                           .mp = data.mp,
                                           .sls = data.sls,
                                           .from = routing_from};
    std::copy(data.user_data.begin(), data.user_data.end(), reinterpret_cast<std::uint8_t*>(m + 1));
    m->routed_before = !bounded;
    m->room = static_cast<std::uint16_t>(room);
    join(pending[as.value], m, place);
    ++pending_here;
    if (!bounded) shared.returned_messages[as.value].fetch_add(1, std::memory_order_release);
    messages.fetch_add(1, std::memory_order_release);
    bytes.fetch_add(length, std::memory_order_relaxed);
    return Routed::done;
}

void Worker::State::arrived(AsIndex as, bool returned) {
    if (returned) shared.returned_messages[as.value].fetch_sub(1, std::memory_order_release);
    shared.pending_messages[as.value].fetch_sub(1, std::memory_order_release);
}

/// What an association gives back had been sent before everything that came back earlier and waits
/// for the same flows: that was to follow it.
void Worker::State::join(Waiting& waiting, PendingMessage* m, Place place) {
    PendingQueue& queue = place == Place::fresh ? waiting.fresh : waiting.returned;
    if (place != Place::taken_back) {
        (queue.last != nullptr ? queue.last->next : queue.first) = m;
        queue.last = m;
        return;
    }
    if (waiting.batch != salvages) waiting.behind = nullptr;
    waiting.batch = salvages;
    PendingMessage*& link = waiting.behind != nullptr ? waiting.behind->next : queue.first;
    m->next = link;
    link = m;
    if (m->next == nullptr) queue.last = m;
    waiting.behind = m;
}

/// Removes the oldest; `why` names the discard when it is one.
void Worker::State::give_pending(AsIndex as, Drop* why) {
    PendingQueue& queue = pending[as.value].older();
    PendingMessage* m = queue.first;
    --pending_here;
    queue.first = m->next;
    if (queue.first == nullptr) queue.last = nullptr;
    if (pending[as.value].behind == m) pending[as.value].behind = nullptr;
    if (!std::exchange(in_transit, false)) arrived(as, m->routed_before);
    shared.pending_bytes[as.value].fetch_sub(m->length, std::memory_order_relaxed);
    if (why != nullptr) lose(as, *why);
    blocks.give(m, m->room);
}

Routed Worker::State::send_pending(AsIndex from, AsIndex as, const PendingMessage& m) {
    first_routing = !m.routed_before;
    // A broadcast has copies: it counts no longer once they are made.
    const auto mode = snapshot->distribution.servers[as.value].mode;
    sent_from_queue = mode == sigtran::TrafficMode::broadcast ? kNoAs : from;
    sent_returned = m.routed_before;
    const Routed routed = to_server(as, data_of(m));
    first_routing = true;
    sent_from_queue = kNoAs;
    sent_returned = false;
    return routed;
}

/// While the AS is away another route may have come up: what waits goes there, and behind it what
/// comes new (route() holds that back until nothing waits).
AsIndex Worker::State::alternative(AsIndex as, const PendingMessage& m) const {
    bool ignored = false;
    const auto& servers = snapshot->distribution.servers;
    const mtp3::Decision decision =
        find_route(servers[as.value].instance, label_of(data_of(m)), ignored);
    const bool good = !decision.refused && decision.as != as && decision.as != m.from &&
                      servers[decision.as.value].state == sigtran::AsState::active;
    return good ? decision.as : kNoAs;
}

sigtran::ProtocolData Worker::State::data_of(const PendingMessage& m) {
    return {.opc = m.opc,
            .dpc = m.dpc,
            .si = m.si,
            .ni = m.ni,
            .mp = m.mp,
            .sls = m.sls,
            .user_data = {reinterpret_cast<const std::uint8_t*>(&m + 1), m.length}};
}

/// What came back goes before all that is new, whichever worker has it.
bool Worker::State::settle_oldest(AsIndex as) {
    Waiting& waiting = pending[as.value];
    if (waiting.empty()) return false;
    const bool returned = !waiting.returned.empty();
    if (!returned && shared.returned_messages[as.value].load(std::memory_order_acquire) != 0)
        return false;
    const PendingMessage& oldest = *waiting.older().first;
    const sigtran::AsState state = snapshot->distribution.servers[as.value].state;
    const AsIndex to = state == sigtran::AsState::active ? as : alternative(as, oldest);
    if (to != kNoAs) {
        if (send_pending(as, to, oldest) == Routed::again) return false;
        give_pending(as, nullptr);
        if (to != as) {
            enter(as, AsEntry::rerouted);
            enter(to, AsEntry::offered);
        }
        return true;
    }
    if (state == sigtran::AsState::pending) return false;
    Drop why = Drop::as_pending_expired;
    give_pending(as, &why);
    return true;
}

bool Worker::State::settle_pending() {
    constexpr std::size_t kPerTurn = 1024;  // of one AS
    bool worked = false;
    // Room for those of later reloads is there; what the snapshot does not know is empty.
    const std::size_t known = snapshot->distribution.servers.size();
    for (std::uint32_t i = 0; i < known; ++i) {
        std::size_t n = 0;
        while (n < kPerTurn && settle_oldest(AsIndex{i})) ++n;
        worked |= n > 0;
    }
    return worked;
}

}  // namespace signalbox::core
