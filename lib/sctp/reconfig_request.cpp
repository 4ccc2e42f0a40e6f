// SPDX-License-Identifier: Apache-2.0
// Our own requests, RFC 6525 5.1.
//
// From the call on, new messages of the streams wait apart (Outbound::hold_*); the request leaves
// when everything older is acknowledged, so that no DATA of the old numbering can meet the new one
// (R04). The held messages follow the response, whatever it says.
#include <algorithm>
#include <new>

#include "sctp/replies.h"

namespace signalbox::sctp {

namespace {
using wire::ParameterType;
}

std::span<const std::uint8_t> Association::listed_streams() const {
    return reconfig_->streams != nullptr ? reconfig_->streams->view()
                                         : std::span<const std::uint8_t>{};
}

ReconfigStatus Association::may_request() const {
    if (state_ != State::established) return ReconfigStatus::not_open;
    if (!extensions_.has(Extension::re_config)) return ReconfigStatus::not_negotiated;
    return reconfig_->phase == Reconfig::Phase::none ? ReconfigStatus::ok : ReconfigStatus::busy;
}

bool Association::takes_re_config() const {
    return state_ == State::established || state_ == State::shutdown_pending ||
           state_ == State::shutdown_received;
}

/// The handshake told the initial TSNs: the numbers of requests begin with them. Without memory for
/// it the peer's requests are unknown chunks.
void Association::start_requests(Environment& env, Tsn peers_initial) {
    forget_requests(env);
    if (!extensions_.has(Extension::re_config)) return;
    void* block = env.blocks.take(sizeof(Reconfig));
    if (block == nullptr) return extensions_.remove(Extension::re_config);
    reconfig_ = new (block) Reconfig;
    reconfig_->start(local_initial_tsn_, peers_initial);
    out_.use(reconfig_->held);
}

void Association::forget_requests(Environment& env) {
    free_requests(env, std::exchange(reconfig_, nullptr));
}

void Association::free_requests(Environment& env, Reconfig* requests) {
    if (requests == nullptr) return;
    if (requests->streams != nullptr) give_piece(env.blocks, requests->streams);
    env.blocks.give(requests, sizeof(Reconfig));
}

/// `streams`: as on the wire, none: all.
ReconfigStatus Association::begin_reset(Environment& env, ParameterType type,
                                        std::span<const std::uint8_t> streams) {
    StoredPiece* list = nullptr;
    if (!streams.empty()) {
        list = keep_piece(env.blocks, streams);
        if (list == nullptr) return ReconfigStatus::no_memory;
    }
    reconfig_->streams = list;
    reconfig_->type = type;
    reconfig_->answering = false;
    reconfig_->phase = Reconfig::Phase::waiting;
    reconfig_->timer = env.now;  // advance() looks
    if (type != ParameterType::incoming_ssn_reset) out_.hold_streams(listed_streams());
    return ReconfigStatus::ok;
}

ReconfigStatus Association::reset_streams(Environment& env, StreamDirection direction,
                                          std::span<const StreamId> streams) {
    const bool outgoing = direction == StreamDirection::outgoing;
    if (const auto status = may_request(); status != ReconfigStatus::ok) return status;
    if (streams.size() > kMaxResetStreams) return ReconfigStatus::too_many;
    std::array<std::uint8_t, 2 * kMaxResetStreams> list{};
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].value >= (outgoing ? out_.streams() : in_.streams()))
            return ReconfigStatus::bad_stream;
        wire::store_u16(list, 2 * i, streams[i].value);
    }
    const auto status = begin_reset(
        env, outgoing ? ParameterType::outgoing_ssn_reset : ParameterType::incoming_ssn_reset,
        std::span{list}.first(2 * streams.size()));
    check();
    return status;
}

ReconfigStatus Association::reset_tsns(Environment& env) {
    if (const auto status = may_request(); status != ReconfigStatus::ok) return status;
    const auto status = begin_reset(env, ParameterType::ssn_tsn_reset, {});
    check();
    return status;
}

void Association::begin_add(Environment& env, ParameterType type, std::uint16_t count) {
    reconfig_->streams = nullptr;
    reconfig_->type = type;
    reconfig_->count = count;
    reconfig_->answering = false;
    reconfig_->phase = Reconfig::Phase::waiting;
    reconfig_->timer = env.now;
    if (type == ParameterType::add_outgoing_streams) out_.hold_new_streams(env, count);
}

ReconfigStatus Association::add_streams(Environment& env, StreamDirection direction,
                                        std::uint16_t count) {
    const bool outgoing = direction == StreamDirection::outgoing;
    if (const auto status = may_request(); status != ReconfigStatus::ok) return status;
    const std::uint32_t now = outgoing ? out_.streams() : in_.streams();
    if (count == 0 || now + count > 0xffff) return ReconfigStatus::too_many;
    if (!outgoing && now + count > env.profile.streams_in) return ReconfigStatus::too_many;
    begin_add(env,
              outgoing ? ParameterType::add_outgoing_streams : ParameterType::add_incoming_streams,
              count);
    check();
    return ReconfigStatus::ok;
}

/// The request is answered, or given up with the association: what it held back goes on.
void Association::end_request(Environment& env) {
    if (reconfig_->phase == Reconfig::Phase::none) return;
    if (reconfig_->phase == Reconfig::Phase::sent) ++reconfig_->next_out;
    if (reconfig_->answering && reconfig_->answers == reconfig_->next_in - 1u)
        reconfig_->last_results[0] = wire::ReconfigResult::performed;
    if (reconfig_->streams != nullptr) give_piece(env.blocks, reconfig_->streams);
    reconfig_->streams = nullptr;
    reconfig_->phase = Reconfig::Phase::none;
    reconfig_->answering = reconfig_->asked = false;
    reconfig_->timer = kNever;
    out_.release_held(env);
}

/// An acknowledgement may have been what the request waited for.
void Association::reconsider_request(const Environment& env) {
    if (reconfig_ != nullptr && reconfig_->phase == Reconfig::Phase::waiting &&
        out_.held_streams_are_quiet())
        reconfig_->timer = env.now;
}

void Association::on_reconfig_timer(Environment& env, Effects& effects) {
    reconfig_->timer = kNever;
    if (!takes_re_config()) return;  // no more DATA leaves: nothing hangs on the answer
    if (reconfig_->phase == Reconfig::Phase::sent) {  // 5.1.1: as T3
        paths_[control_path_].back_off(env.profile);
        count_failure(env, effects, control_path_);
        if (state_ == State::closed) return;
        control_path_ = static_cast<std::uint8_t>(paths_.for_retransmission(control_path_));
    } else if (!out_.held_streams_are_quiet()) {
        return;  // an acknowledgement looks again
    } else {
        reconfig_->phase = Reconfig::Phase::sent;
        if (reconfig_->type == ParameterType::ssn_tsn_reset) out_.expect_restart();
        reconfig_->last_tsn = out_.next_tsn() - 1u;
        control_path_ = static_cast<std::uint8_t>(paths_.for_data());
    }
    reconfig_->asked = true;
    reconfig_->timer = env.now + paths_[control_path_].rto;
}

bool Association::write_reconfig_responses(wire::PacketWriter& out) {
    out.begin_chunk(wire::ChunkType::re_config);
    for (std::size_t i = 0; i < reconfig_->response_count; ++i)
        wire::write_reconfig_response(
            out, {.number = reconfig_->responses[i].number,
                  .result = static_cast<std::uint32_t>(reconfig_->responses[i].result),
                  .has_tsns = reconfig_->responses[i].has_tsns,
                  .sender_next = reconfig_->reset_sender_next,
                  .receiver_next = reconfig_->reset_receiver_next});
    out.end_chunk();
    if (out.overflowed()) {
        out.discard_chunk();
        return false;
    }
    reconfig_->response_count = 0;
    return true;
}

bool Association::write_reconfig_request(wire::PacketWriter& out) {
    wire::ReconfigRequest request{
        .type = reconfig_->type,
        .number = reconfig_->next_out,
        .answers = reconfig_->answering ? reconfig_->answers : reconfig_->next_in - 1u,
        .last_tsn = reconfig_->last_tsn,
        .count = reconfig_->count,
        .streams = listed_streams()};
    out.begin_chunk(wire::ChunkType::re_config);
    wire::write_reconfig_request(out, request);
    out.end_chunk();
    if (out.overflowed()) {
        out.discard_chunk();
        return false;
    }
    reconfig_->asked = false;
    return true;
}

}  // namespace signalbox::sctp
