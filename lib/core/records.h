// SPDX-License-Identifier: Apache-2.0
// Records of the rings between workers and control: a fixed header, then bytes. Written and read in
// place.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/byte_ring.h"
#include "base/drop.h"
#include "base/numbers.h"
#include "core/node.h"

namespace signalbox::core {

/// Names one association of one worker; the generation tells a reused slot from the one that was
/// meant.
struct AssociationRef {
    WorkerIndex worker;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    friend bool operator==(const AssociationRef&, const AssociationRef&) = default;
};

enum class RecordKind : std::uint8_t {
    // worker -> worker
    packet,   // an IP packet for an association of the receiver; bytes = the packet
    message,  // an encoded M3UA DATA for `ref`; bytes = the message
    // worker -> control
    association_up,
    association_restarted,
    association_ended,
    management,    // an M3UA message that is not DATA
    refused_data,  // a DATA that the worker refused because of `why`
    congestion,    // `level` of the send queue towards `peer` changed
    event,         // `event`
    fence,         // both ways, see handover.h: bytes = HandoverRecord
    drain,         // both ways, about `ref`
    described,     // the answer to `describe`; no bytes: `ref` is gone
    // control -> worker
    send,      // bytes = an M3UA message for `ref` on `stream`
    shutdown,  // SHUTDOWN the association
    abort,     // ABORT it (replaced by a newer one of the same peer)
    describe,  // tell control about `ref`
    connect,   // open an association to `peer`
};

struct RecordHeader {
    RecordKind kind{};
    Drop why{};
    StreamId stream;
    std::uint16_t streams_out = 0;
    std::uint16_t level = 0;     // congestion
    AsIndex as = kNoAs;          // message: for which AS
    AsIndex waited_for = kNoAs;  // message: it waited in this one's queue, and counts there still
    bool returned = false;       // message: among those that came back
    AssociationRef ref;
    PeerIndex peer = kNoPeer;
    EventRecord event;
};
static_assert(std::is_trivially_copyable_v<RecordHeader>);

/// False when the ring is too full: nothing was written.
inline bool push_record(ByteRing& ring, const RecordHeader& header,
                        std::span<const std::span<const std::uint8_t>> pieces) {
    std::size_t bytes = sizeof(RecordHeader);
    for (const auto piece : pieces) bytes += piece.size();
    const std::span<std::uint8_t> room = ring.reserve(bytes);
    if (room.empty()) return false;
    std::memcpy(room.data(), &header, sizeof header);
    std::size_t at = sizeof header;
    for (const auto piece : pieces) {
        if (!piece.empty()) std::memcpy(room.data() + at, piece.data(), piece.size());
        at += piece.size();
    }
    ring.commit(bytes);
    return true;
}

inline bool push_record(ByteRing& ring, const RecordHeader& header,
                        std::span<const std::uint8_t> bytes = {}) {
    const std::span<const std::uint8_t> pieces[] = {bytes};
    return push_record(ring, header, pieces);
}

struct Record {
    RecordHeader header;
    std::span<const std::uint8_t> bytes;
};

/// The view of one record; `raw` comes from ByteRing::front() and was written by push_record().
inline Record view_record(std::span<const std::uint8_t> raw) {
    Record r;
    std::memcpy(&r.header, raw.data(), sizeof r.header);
    r.bytes = raw.subspan(sizeof r.header);
    return r;
}

}  // namespace signalbox::core
