// SPDX-License-Identifier: Apache-2.0
// Records from the control thread and from other workers.
#include <algorithm>

#include "core/worker_state.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kRecordsPerTurn = 256;  // of one ring: bounds a turn

}  // namespace

bool Worker::State::take_commands(Time now) {
    std::size_t n = 0;
    for (; n < kRecordsPerTurn; ++n) {
        const std::span<const std::uint8_t> raw = mine.from_control.front();
        if (raw.empty()) break;
        take_snapshot();  // a reload's news may be older than this record and newer than ours
        if (!obey(view_record(raw), now)) break;
        mine.from_control.pop();
    }
    return n > 0;
}

bool Worker::State::obey(const Record& record, Time now) {
    const RecordHeader& h = record.header;
    if (h.kind == RecordKind::connect) return connect(h.peer, now);
    if (h.kind == RecordKind::fence) return fence(record);
    if (h.kind == RecordKind::drain) return answer_drain(record);
    if (h.kind == RecordKind::describe) return describe(h, now), true;
    Slot* slot = find(h.ref);
    if (slot == nullptr) {
        if (h.kind == RecordKind::send) counters.drop(Drop::association_lost);
        return true;
    }
    if (h.kind == RecordKind::send) {
        if (!send_management(*slot, record, now)) return false;
    } else if (h.kind == RecordKind::shutdown) {
        sctp::Environment env = environment(*slot, now);
        slot->association.shutdown(env);
    } else if (h.kind == RecordKind::abort) {
        abort(*slot, now);
    }
    mark_dirty(*slot);
    return true;
}

/// Of the send buffer DATA leaves a part to management. A peer that does not even read that is
/// closed, alone (sigtran.md decision 8). So is one whose messages find no memory for too long:
/// what control wants of others waits behind them.
bool Worker::State::send_management(Slot& slot, const Record& record, Time now) {
    constexpr Duration kWaitForMemory = std::chrono::seconds{1};
    sctp::Environment env = environment(slot, now);
    const std::span<const std::uint8_t> pieces[] = {record.bytes};
    const auto status = send(Site::send_management, slot, env, record.header.stream, pieces);
    if (status == sctp::SendStatus::no_memory) {
        management_waits = std::min(management_waits, now);
        if (now - management_waits < kWaitForMemory) return false;
    }
    management_waits = kNever;
    if (status == sctp::SendStatus::buffer_full || status == sctp::SendStatus::no_memory) {
        counters.drop(Drop::m3ua_management_overflow);
        abort(slot, now);
    } else if (status != sctp::SendStatus::ok) {
        counters.drop(Drop::association_lost);  // not open: it is closing
    }
    return true;
}

void Worker::State::abort(Slot& slot, Time now) {
    constexpr std::uint16_t kUserInitiatedAbort = 12;  // RFC 9260 3.3.10.12
    sctp::Environment env = environment(slot, now);
    effects.clear();
    slot.association.abort(env, kUserInitiatedAbort, effects);
    apply_effects(slot, now);
}

/// What waited in a queue counts there until it has arrived: nothing newer overtakes it.
bool Worker::State::message_for(const Record& record, Time now) {
    if (!hand_in(record, now)) return false;
    if (record.header.waited_for != kNoAs)
        arrived(record.header.waited_for, record.header.returned);
    return true;
}

/// A message that another worker routed to an association of ours. The sender looked at `congested`
/// (half of the send buffer) before it wrote; when the buffer is full all the same the message
/// waits in its server's queue.
bool Worker::State::hand_in(const Record& record, Time now) {
    Slot* slot = find(record.header.ref);
    if (slot == nullptr) {
        // Older messages of the ended association come first, a slice a turn.
        const AssociationRef& ref = record.header.ref;
        if (ref.slot < shared.slot_count && shared.slots[ref.slot].generation == ref.generation &&
            !salvage(shared.slots[ref.slot], now))
            return false;
        return wait_for_other(record);
    }
    // Behind what already waits: it may be of its flow, when the association had no room for it. A
    // copy of a broadcast waits for nobody.
    const AsIndex as = record.header.as;
    if (!pending[as.value].empty() &&
        snapshot->distribution.servers[as.value].mode != sigtran::TrafficMode::broadcast)
        return wait_for_other(record);
    sctp::Environment env = environment_for_data(*slot, now);
    const std::span<const std::uint8_t> pieces[] = {record.bytes};
    switch (send(Site::send_handed, *slot, env, record.header.stream, pieces)) {
        case sctp::SendStatus::ok:
            enter(as, AsEntry::accepted);
            break;
        case sctp::SendStatus::bad_stream:
            lose(as, Drop::data_invalid_stream);
            break;
        case sctp::SendStatus::too_long:
            lose(as, Drop::data_too_long);
            break;
        case sctp::SendStatus::buffer_full:
        case sctp::SendStatus::no_memory:
        case sctp::SendStatus::not_open:
            return wait_for_other(record);
    }
    mark_dirty(*slot);
    return true;
}

bool Worker::State::wait_for_other(const Record& record) {
    if (!prepare_room()) return false;
    reroute(record.header.peer, record.bytes);
    give_room();
    return true;
}

bool Worker::State::take_handed(Time now, sctp::TransmitSink& sink) {
    bool worked = false;
    for (unsigned from = 0; from < shared.workers; ++from) {
        if (from == index.value) continue;
        ByteRing& ring = shared.ring(from, index.value);
        for (std::size_t n = 0; n < kRecordsPerTurn; ++n) {
            const std::span<const std::uint8_t> raw = ring.front();
            if (raw.empty()) break;
            take_snapshot();  // the other worker may know of peers and servers that ours lacks
            const Record record = view_record(raw);
            if (record.header.kind == RecordKind::message) {
                if (!message_for(record, now)) break;
            } else {
                // Judged by the first worker, checksum too; judged again without it, for the views.
                Arrival arrival;
                const PacketView view{.ip = record.bytes, .checksum = Checksum::good};
                const bool good = judge(view, arrival);
                if (good && arrival.icmp) icmp_received(arrival, now, true);
                if (good && !arrival.icmp) take_burst({&arrival, 1}, now, sink, true);
            }
            ring.pop();
            worked = true;
        }
    }
    return worked;
}

}  // namespace signalbox::core
