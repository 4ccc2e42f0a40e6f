// SPDX-License-Identifier: Apache-2.0
// Writing DATA or I-DATA: what is to be sent again, then what was never sent (RFC 9260 6.1).
#include <algorithm>
#include <cstring>

#include "sctp/flush_pass.h"
#include "wire/data.h"

namespace signalbox::sctp {

namespace {
constexpr std::uint32_t kMaxBurstPackets = 4;  // RFC 9260 16: Max.Burst, for each path and flush
}

/// RFC 7053 4: a delayed SACK would hold something up. SHUTDOWN or a stream reset waits for the
/// last acknowledgement; or this chunk closes a window of hardly more than itself, and more waits.
bool Association::FlushPass::wants_ack_at_once(const OutChunk& chunk) const {
    const bool last = a_.out_.is_last(chunk);
    if (last && (a_.state_ != State::established ||
                 (a_.reconfig_ != nullptr && a_.reconfig_->phase == Reconfig::Phase::waiting)))
        return true;
    const Path& path = a_.paths_[path_];
    const bool closes =
        path.flight_bytes + chunk.size >= path.cwnd_bytes || chunk.size >= a_.out_.peer_window();
    return closes && !last && path.flight_bytes < path.packet_bytes();
}

/// False: it does not fit the packet being written.
bool Association::FlushPass::append(OutChunk& chunk) {
    if (a_.out_.wire_bytes(chunk) > out_->room()) return false;
    const bool at_once = wants_ack_at_once(chunk);
    if (!chunk.marked) a_.out_.number(env_, chunk);
    const auto flags =
        static_cast<std::uint8_t>(chunk.flags | (at_once ? wire::Data::kImmediate : 0));
    if (a_.out_.interleaved())
        wire::begin_i_data(*out_, {.flags = flags,
                                   .tsn = chunk.tsn,
                                   .stream = chunk.stream,
                                   .mid = chunk.mid,
                                   .ppid_or_fsn = chunk.begin() ? chunk.ppid.value : chunk.fsn,
                                   .payload = {}});
    else
        wire::begin_data(*out_, {.flags = flags,
                                 .tsn = chunk.tsn,
                                 .stream = chunk.stream,
                                 .ssn = Ssn{static_cast<std::uint16_t>(chunk.mid.value)},
                                 .ppid = chunk.ppid,
                                 .payload = {}});
    const auto room = out_->claim(chunk.size);
    std::memcpy(room.data(), chunk.bytes(), chunk.size);
    out_->end_chunk();
    return true;
}

/// One chunk that is to be sent again; false: none may go now. `from`: the last one looked at.
bool Association::FlushPass::retransmit(OutChunk*& from) {
    OutChunk* chunk = a_.out_.marked_after(from);
    if (chunk == nullptr) return false;
    const std::size_t target = chunk->timed_out ? a_.paths_.for_retransmission(chunk->path)
                               : a_.paths_[chunk->path].usable_for_data() ? chunk->path
                                                                          : a_.paths_.for_data();
    Path& path = a_.paths_[target];
    const bool fits_window =
        path.flight_bytes < path.cwnd_bytes && a_.out_.window_allows(*chunk, a_.paths_);
    const bool fast =
        a_.out_.fast_retransmit_waits();  // 7.2.4: its first packet goes whatever cwnd says
    if (!fits_window && !fast) return false;
    if (!open(target)) return false;
    if (!append(*chunk)) {
        a_.out_.fast_retransmit_done();
        if (fast && !fits_window) return false;
        if (!open_for(target, *chunk) || !append(*chunk)) return false;
    }
    from = chunk;
    a_.out_.sent(env_, a_.paths_, target, chunk);
    return true;
}

/// One chunk never sent before; false: none may go now.
bool Association::FlushPass::fresh() {
    OutChunk* chunk = a_.out_.first_new();
    if (chunk != nullptr && chunk->over_limit(env_.now)) {
        a_.out_.give_up_due(env_, a_.paths_);
        chunk = a_.out_.first_new();
    }
    if (chunk == nullptr || a_.out_.anything_marked()) return false;
    const std::size_t target = a_.paths_.for_data();
    Path& path = a_.paths_[target];
    if (!path.confirmed) return false;  // PATH-1
    if (path.flight_bytes >= path.cwnd_bytes || !a_.out_.window_allows(*chunk, a_.paths_))
        return false;
    if (burst_[target] >= kMaxBurstPackets) {
        blocked_ = true;
        return false;
    }
    if (!open(target)) return false;
    if (!append(*chunk)) {
        close();
        if (burst_[target] >= kMaxBurstPackets) {
            blocked_ = true;
            return false;
        }
        if (!open_for(target, *chunk) || !append(*chunk)) return false;
    }
    packet_has_new_ = true;
    a_.out_.sent(env_, a_.paths_, target, chunk);
    return true;
}

void Association::FlushPass::forward_tsn() {
    if (!a_.out_.forward_wanted() || !open(a_.paths_.for_data())) return;
    if (a_.out_.write_forward(env_, *out_, a_.paths_)) return;
    close();
    if (open(a_.paths_.for_data())) a_.out_.write_forward(env_, *out_, a_.paths_);
}

void Association::FlushPass::data() {
    switch (a_.state_) {
        case State::established:
        case State::shutdown_pending:
        case State::shutdown_received:
            break;
        default:
            return;
    }
    if (a_.out_.nothing_to_say()) return;
    a_.out_.give_up_due(env_, a_.paths_);
    forward_tsn();
    a_.paths_[a_.paths_.for_data()].decay_window(env_.now);
    OutChunk* from = nullptr;
    while (retransmit(from)) {
    }
    a_.out_.fast_retransmit_done();
    while (fresh()) {
    }
    forward_tsn();  // for what came to its turn too late
    a_.out_.arm_probe(env_, a_.paths_);
}

}  // namespace signalbox::sctp
