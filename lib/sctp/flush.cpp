// SPDX-License-Identifier: Apache-2.0
// Writing: control first, then SACK, then DATA to be sent again, then new DATA, bundled into as few
// packets as the paths ask for (RFC 9260 6.1, 6.10). There is no Nagle: the caller's burst is the
// bundle (DAT-9).
#include <algorithm>
#include <array>
#include <cstring>

#include "sctp/flush_pass.h"
#include "sctp/replies.h"
#include "wire/cookie_chunks.h"
#include "wire/error_causes.h"
#include "wire/heartbeat.h"
#include "wire/pad.h"
#include "wire/parameters.h"
#include "wire/shutdown.h"

namespace signalbox::sctp {

/// Empty: no packet may be written now.
std::span<std::uint8_t> Association::FlushPass::lend(std::size_t bytes, bool answers) {
    if (left_ != 0) {
        auto room = sink_.lend(bytes);
        if (room.size() < bytes && answers) room = sink_.lend_kept(bytes);
        if (room.size() >= bytes) return room;
        env_.counters.drop(Drop::transmit_no_buffer);
    }
    blocked_ = true;
    return {};
}

/// The packet for `path`: the one being written when it goes there, else a new one.
bool Association::FlushPass::open(std::size_t path, VerificationTag tag, std::size_t bytes) {
    if (out_ && path_ == path) return true;
    close();
    if (blocked_) return false;
    const auto room = lend(bytes, a_.pending_ != 0 || a_.in_.sack_waits());
    if (room.empty()) return false;
    path_ = path;
    out_.emplace(room.first(bytes), wire::SctpHeader{a_.local_port_, a_.remote_port_, tag});
    return true;
}

void Association::FlushPass::close() {
    if (!out_) return;
    const Path& path = a_.paths_[path_];
    if (!out_->empty()) {
        sink_.commit({path.local, path.remote, env_.profile.dscp, !fragment_}, out_->size());
        --left_;
        if (packet_has_new_) ++burst_[path_];
    }
    packet_has_new_ = fragment_ = false;
    out_.reset();
}

/// A packet for one chunk that did not fit: a new one, and a longer one when the chunk was made
/// before the path's MTU fell; IP cuts that into pieces (RFC 9260 7.3).
bool Association::FlushPass::open_for(std::size_t path, const OutChunk& chunk) {
    close();
    const std::size_t needed = kCommonHeaderBytes + a_.out_.wire_bytes(chunk);
    const std::size_t usual = a_.paths_[path].packet_bytes();
    if (!open(path, a_.remote_tag_, std::max(needed, usual))) return false;
    fragment_ = needed > usual;
    return true;
}

/// REL-22: a SACK for the packet that a reply answers goes with it. False: it goes alone, because
/// it is for another association (INIT ACK), goes another way, or does not fit.
bool Association::FlushPass::bundles(const Reply& reply) {
    const std::size_t path = a_.paths_.find(reply.destination);
    const bool open_state = a_.state_ != State::closed && a_.state_ != State::cookie_wait;
    if (!open_state || wants(kCookieEcho) || path == a_.paths_.size() ||
        a_.paths_[path].local != reply.source || reply.size % 4 != 0)
        return false;
    const auto chunks = reply.view().subspan(wire::SctpHeader::kBytes);
    const auto first = static_cast<wire::ChunkType>(chunks.empty() ? 0 : chunks[0]);
    if (first != wire::ChunkType::error && first != wire::ChunkType::heartbeat_ack) return false;
    if (wire::load_u32(reply.view(), 4) != a_.remote_tag_.value) return false;
    if (!open(path) || out_->room() < chunks.size()) return false;
    out_->bytes(chunks);
    return true;
}

void Association::FlushPass::replies() {
    while (a_.replies_ != nullptr) {
        Reply* reply = a_.replies_;
        if (bundles(*reply)) {
            free_reply(reply);
            continue;
        }
        close();
        const auto room = lend(reply->size, true);
        if (room.empty()) return;
        std::memcpy(room.data(), reply->bytes(), reply->size);
        sink_.commit({reply->source, reply->destination, env_.profile.dscp, true}, reply->size);
        --left_;
        free_reply(reply);
    }
}

void Association::FlushPass::free_reply(Reply* reply) {
    a_.replies_ = reply->next;
    --a_.reply_count_;
    env_.blocks.give(reply, sizeof(Reply) + reply->capacity);
}

void Association::FlushPass::last_word() {
    if (wants(kAbort) && open(a_.control_path_)) {
        out_->begin_chunk(wire::ChunkType::abort);
        if (a_.abort_cause_ != 0) {
            out_->begin_parameter(a_.abort_cause_);
            for (unsigned n = a_.abort_information_bytes_; n-- > 0;)
                out_->u8(static_cast<std::uint8_t>(a_.abort_information_ >> 8 * n));
            out_->end_parameter();
        }
        out_->end_chunk();
        close();
        done(kAbort | kShutdownComplete);
    }
    if (wants(kShutdownComplete) && open(a_.control_path_)) {
        wire::write_shutdown_complete(*out_, false);
        close();
        done(kShutdownComplete);
    }
}

/// INIT stands alone, with tag 0 (RFC 9260 3.3.2, 8.5.1).
void Association::FlushPass::init() {
    if (!wants(kInit) || !open(a_.control_path_, VerificationTag{0})) return;
    out_->begin_chunk(wire::ChunkType::init);
    wire::write_init_fixed(*out_, {a_.local_tag_,
                                   env_.profile.receive_window_bytes,
                                   env_.profile.streams_out,
                                   env_.profile.streams_in,
                                   a_.local_initial_tsn_,
                                   {}});
    wire::AddressTypes types;
    for (const IpAddress& address : env_.local_addresses) {
        if (env_.local_addresses.size() > 1) wire::write_address(*out_, address);  // PATH-5
        (address.is_v4() ? types.ipv4 : types.ipv6) = true;
    }
    wire::write_supported_address_types(*out_, types);
    write_extensions(*out_, offered_extensions(env_.profile));
    if (a_.preservative_ms_ != 0) wire::write_cookie_preservative_ms(*out_, a_.preservative_ms_);
    out_->end_chunk();
    close();
    done(kInit);
    a_.control_sent_at_ = env_.now;
}

/// 3.2.2: bundled with COOKIE ECHO or not at all, and as long as that is repeated.
void Association::FlushPass::report_unrecognized() {
    out_->begin_chunk(wire::ChunkType::error);
    wire::write_cause(*out_, wire::Cause::unrecognized_parameters, a_.init_report_->view());
    out_->end_chunk();
    if (out_->overflowed()) out_->discard_chunk();
}

void Association::FlushPass::control() {
    constexpr std::uint16_t kControl = kCookieEcho | kCookieAck | kShutdown | kShutdownAck;
    if ((a_.pending_ & kControl) == 0 || !open(a_.control_path_)) return;
    if (wants(kCookieEcho)) {  // first in its packet (5.1)
        wire::write_cookie_echo(*out_, a_.cookie_->view());
        a_.control_sent_at_ = env_.now;
        if (a_.init_report_ != nullptr) report_unrecognized();
    }
    if (wants(kCookieAck)) wire::write_cookie_ack(*out_);
    if (wants(kShutdown)) wire::write_shutdown(*out_, a_.in_.cumulative_tsn());
    if (wants(kShutdownAck)) wire::write_shutdown_ack(*out_);
    done(kControl);
}

/// One RE-CONFIG for a packet: what it may hold is fixed (RFC 6525 3.1).
void Association::FlushPass::reconfig() {
    if (a_.reconfig_ == nullptr) return;
    Reconfig& state = *a_.reconfig_;
    if (state.response_count != 0 && open(a_.control_path_)) {
        if (!a_.write_reconfig_responses(*out_)) {
            close();
            if (open(a_.control_path_)) a_.write_reconfig_responses(*out_);
        }
        if (state.asked) close();
    }
    if (!state.asked || !open(a_.control_path_)) return;
    if (a_.write_reconfig_request(*out_)) return;
    close();
    if (open(a_.control_path_)) a_.write_reconfig_request(*out_);
}

void Association::FlushPass::heartbeats() {
    for (std::size_t i = 0; i < a_.paths_.size(); ++i) {
        Path& path = a_.paths_[i];
        if (!path.hb_wanted || !open(i)) continue;
        std::array<std::uint8_t, 8> info{};
        do path.hb_nonce = env_.random.u64();
        while (path.hb_nonce == 0);
        store_be64(info.data(), path.hb_nonce);
        wire::write_heartbeat(*out_, info);
        if (out_->overflowed()) {
            out_->discard_chunk();
            close();
            if (!open(i)) return;
            wire::write_heartbeat(*out_, info);
        }
        path.hb_wanted = false;
        path.hb_sent_at = env_.now;
        path.hb_timeout = env_.now + path.rto;
        env_.counters.add(Count::heartbeats_sent);
    }
}

/// RFC 8899: HEARTBEAT and PAD, of exactly the size in question, alone in their packet.
void Association::FlushPass::mtu_probes() {
    for (std::size_t i = 0; i < a_.paths_.size(); ++i) {
        Path& path = a_.paths_[i];
        if (path.mtu.wanted() == 0) continue;
        const std::size_t bytes = path.mtu.wanted() - path.overhead_bytes();
        close();
        if (!open(i, a_.remote_tag_, bytes)) return;
        std::uint64_t nonce = 0;
        while (nonce == 0) nonce = env_.random.u64();
        std::array<std::uint8_t, 8> info{};
        store_be64(info.data(), nonce);
        wire::write_heartbeat(*out_, info);
        wire::write_pad_up_to(*out_, bytes);
        close();
        path.mtu.sent(nonce, env_.now);
        env_.counters.add(Count::mtu_probes_sent);
    }
}

/// A delayed SACK goes with DATA that leaves for the same address now (6.10: control before DATA).
bool Association::FlushPass::rides_along() const {
    const OutChunk* chunk = a_.out_.first_new();
    if (!a_.in_.sack_waits() || chunk == nullptr || a_.in_.sack_path != a_.paths_.for_data())
        return false;
    const Path& path = a_.paths_[a_.in_.sack_path];
    return path.flight_bytes < path.cwnd_bytes && a_.out_.window_allows(*chunk, a_.paths_);
}

void Association::FlushPass::sack() {
    if (!a_.in_.sack_due() && !rides_along()) return;
    const std::size_t path =
        a_.in_.sack_path < a_.paths_.size() ? a_.in_.sack_path : a_.paths_.primary();
    if (!open(path)) return;
    if (a_.in_.write_sack(*out_)) return;
    close();
    if (open(path)) a_.in_.write_sack(*out_);
}

bool Association::FlushPass::run() {
    if (a_.paths_.size() == 0) return false;
    if (a_.control_path_ >= a_.paths_.size()) a_.control_path_ = a_.paths_.primary();
    replies();
    if (a_.state_ == State::closed) {
        last_word();
    } else if (a_.state_ == State::cookie_wait) {
        init();
    } else {
        control();
        reconfig();
        const bool paths_want = a_.paths_.anything_wanted();
        if (paths_want) heartbeats();
        sack();
        data();
        if (paths_want) mtu_probes();
    }
    close();
    return blocked_;
}

void Association::FlushPass::acknowledge() {
    sack();
    close();
}

void Association::acknowledge(Environment& env, TransmitSink& sink) {
    FlushPass{*this, env, sink, 1}.acknowledge();
}

bool Association::flush(Environment& env, TransmitSink& sink, std::size_t max_packets) {
    const bool more = FlushPass{*this, env, sink, max_packets}.run();
    check();
    return more;
}

}  // namespace signalbox::sctp
