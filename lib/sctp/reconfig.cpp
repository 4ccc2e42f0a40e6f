// SPDX-License-Identifier: Apache-2.0
// The peer's requests and responses, RFC 6525 5.2. Our own requests are in reconfig_request.cpp.
#include "sctp/reconfig.h"

#include <algorithm>

#include "sctp/replies.h"

namespace signalbox::sctp {

namespace {
using wire::ParameterType;
using wire::ReconfigResult;
using wire::RequestNumber;

/// SSN/TSN reset: the peer may not have seen our response when our next DATA comes. So far ahead it
/// is out of its window, and cannot be taken for one of the old numbering. The peer's own TSNs move
/// as far, not by the 2^31 that RFC 6525 5.2.4 F1 suggests: at that distance a late SACK of the old
/// numbering looks like one of a TSN never sent.
constexpr std::uint32_t kTsnJump = 1u << 20;

bool names_unknown_stream(const wire::ReconfigRequest& request, std::uint16_t streams) {
    for (std::size_t i = 0; i < request.stream_count(); ++i)
        if (request.stream(i).value >= streams) return true;
    return false;
}
}  // namespace

/// A chunk is read whole before anything is done (P11): one or two parameters, all well formed.
void Association::on_re_config(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    constexpr std::size_t kMaxParameters = 2;  // RFC 6525 3.1
    std::size_t count = 0;
    wire::ParameterWalker judge{chunk.value};
    while (const auto p = judge.next()) {
        ++count;
        if (!wire::parse_reconfig_request(*p) && !wire::parse_reconfig_response(*p)) count = 99;
    }
    if (judge.malformed() || count == 0 || count > kMaxParameters)
        return env.counters.drop(Drop::reconfig_malformed);
    if (pass.path < paths_.size()) control_path_ = static_cast<std::uint8_t>(pass.path);
    wire::ParameterWalker walker{chunk.value};
    while (const auto p = walker.next()) {
        if (const auto response = wire::parse_reconfig_response(*p))
            on_reconfig_response(env, pass, *response);
        else if (const auto request = wire::parse_reconfig_request(*p))
            on_reconfig_request(env, pass, *request);
    }
}

/// R01: the next number is a request, the last ones are repeated, anything else is an error.
void Association::on_reconfig_request(Environment& env, ReceivePass& pass,
                                      const wire::ReconfigRequest& request) {
    const auto back = static_cast<std::uint32_t>(reconfig_->next_in - request.number);
    if (back > reconfig_->last_results.size()) {
        env.counters.drop(Drop::reconfig_bad_number);
        return reconfig_->answer({request.number, ReconfigResult::bad_sequence_number});
    }
    if (back == 0) {
        ++reconfig_->next_in;
        reconfig_->last_results[1] = reconfig_->last_results[0];
        reconfig_->last_results[0] = ReconfigResult::in_progress;
        reconfig_->reset_tsns = false;
    }
    ReconfigResult& result = reconfig_->last_results[back == 0 ? 0 : back - 1];
    const auto underway = [&] {
        return reconfig_->phase != Reconfig::Phase::none && reconfig_->answering &&
               reconfig_->answers == request.number;
    };
    // "In progress" was no answer yet: the peer asks again until it gets one (5.2.2 E2).
    if (result == ReconfigResult::in_progress && !underway()) result = judge(env, pass, request);
    // An incoming reset is answered by our own request (5.2.3), unless it has left before.
    if (underway() && (back == 0 || reconfig_->phase == Reconfig::Phase::waiting)) return;
    const bool has_tsns = reconfig_->reset_tsns && back <= 1 && result == ReconfigResult::performed;
    reconfig_->answer({request.number, result, has_tsns});
}

ReconfigResult Association::judge(Environment& env, ReceivePass& pass,
                                  const wire::ReconfigRequest& request) {
    switch (request.type) {
        case ParameterType::outgoing_ssn_reset:
            return peer_resets(env, pass, request);
        case ParameterType::incoming_ssn_reset:
            if (names_unknown_stream(request, out_.streams())) return ReconfigResult::wrong_ssn;
            if (reconfig_->phase != Reconfig::Phase::none)
                return ReconfigResult::already_in_progress;
            if (begin_reset(env, ParameterType::outgoing_ssn_reset, request.streams) !=
                ReconfigStatus::ok)
                return ReconfigResult::denied;
            reconfig_->answering = true;
            reconfig_->answers = request.number;
            return ReconfigResult::in_progress;
        case ParameterType::ssn_tsn_reset:
            return peer_resets_tsns(env, pass);
        case ParameterType::add_outgoing_streams: {  // R03, STR-2: all or nothing
            if (request.count == 0) return ReconfigResult::nothing_to_do;
            const std::uint32_t sum = std::uint32_t{in_.streams()} + request.count;
            if (sum > env.profile.streams_in) return ReconfigResult::denied;
            in_.set_streams(env, static_cast<std::uint16_t>(sum));
            pass.effects.add(Event::streams_added, kIncomingStreams, request.count);
            return ReconfigResult::performed;
        }
        case ParameterType::add_incoming_streams: {
            if (request.count == 0) return ReconfigResult::nothing_to_do;
            if (std::uint32_t{out_.streams()} + request.count > 0xffff)
                return ReconfigResult::denied;
            if (reconfig_->phase != Reconfig::Phase::none)
                return ReconfigResult::already_in_progress;
            begin_add(env, ParameterType::add_outgoing_streams, request.count);
            return ReconfigResult::performed;
        }
        default:
            return ReconfigResult::denied;
    }
}

/// 5.2.2: the peer begins anew on its outgoing streams, our incoming ones.
ReconfigResult Association::peer_resets(Environment& env, ReceivePass& pass,
                                        const wire::ReconfigRequest& request) {
    if (names_unknown_stream(request, in_.streams())) return ReconfigResult::wrong_ssn;  // R02
    // What was sent before has not all come: the peer asks again (5.2.2 E2).
    if (request.last_tsn > in_.cumulative_tsn()) return ReconfigResult::in_progress;
    in_.reset_streams(env, request.streams);
    env.counters.add(Count::streams_reset);
    pass.effects.add(Event::streams_reset, kIncomingStreams,
                     static_cast<std::uint16_t>(request.stream_count()));
    const bool ours = reconfig_->phase == Reconfig::Phase::sent &&
                      reconfig_->type == ParameterType::incoming_ssn_reset &&
                      request.answers == reconfig_->next_out;
    if (ours) end_request(env);
    return ReconfigResult::performed;
}

/// 5.2.4. Nothing may be under way in either direction: the asking side has seen to its own.
ReconfigResult Association::peer_resets_tsns(Environment& env, ReceivePass& pass) {
    if (reconfig_->phase != Reconfig::Phase::none) return ReconfigResult::already_in_progress;
    if (!out_.between_messages() || in_.has_gap()) {
        out_.pause(env.now + 2 * env.profile.rto_max);  // until it asks again
        return ReconfigResult::in_progress;
    }
    out_.pause(kNever);
    reconfig_->reset_receiver_next = in_.cumulative_tsn() + 1u + kTsnJump;  // F1
    reconfig_->reset_sender_next = out_.next_tsn() + kTsnJump;              // F2
    reconfig_->reset_tsns = true;
    in_.restart_at(env, reconfig_->reset_receiver_next);
    out_.restart_at(env, reconfig_->reset_sender_next);
    env.counters.add(Count::streams_reset);
    pass.effects.add(Event::streams_reset, kAllStreams);
    return ReconfigResult::performed;
}

void Association::on_reconfig_response(Environment& env, ReceivePass& pass,
                                       const wire::ReconfigResponse& response) {
    if (reconfig_->phase != Reconfig::Phase::sent || response.number != reconfig_->next_out)
        return env.counters.drop(Drop::reconfig_unmatched);  // R01
    error_count_ = 0;
    switch (static_cast<ReconfigResult>(std::min(response.result, 0xffu))) {
        case ReconfigResult::in_progress:  // 5.2.7: ask again after an RTO
            reconfig_->timer = env.now + paths_[control_path_].rto;
            return;
        case ReconfigResult::performed:
        case ReconfigResult::nothing_to_do:
            if (reconfig_->type == ParameterType::ssn_tsn_reset && !response.has_tsns) break;
            return request_granted(env, pass, response);
        default:
            break;
    }
    pass.effects.add(Event::reconfiguration_refused, 0,
                     static_cast<std::uint16_t>(response.result));
    if (reconfig_->type == ParameterType::add_outgoing_streams) out_.purge_held(env);  // STR-2
    end_request(env);
}

void Association::request_granted(Environment& env, ReceivePass& pass,
                                  const wire::ReconfigResponse& response) {
    switch (reconfig_->type) {
        case ParameterType::outgoing_ssn_reset:
            out_.reset_streams(env, listed_streams());
            env.counters.add(Count::streams_reset);
            pass.effects.add(Event::streams_reset, kOutgoingStreams,
                             static_cast<std::uint16_t>(listed_streams().size() / 2));
            break;
        case ParameterType::ssn_tsn_reset:
            in_.restart_at(env, response.sender_next);
            out_.restart_at(env, response.receiver_next);
            env.counters.add(Count::streams_reset);
            pass.effects.add(Event::streams_reset, kAllStreams);
            break;
        case ParameterType::add_outgoing_streams:
            out_.set_streams(env, static_cast<std::uint16_t>(out_.streams() + reconfig_->count));
            pass.effects.add(Event::streams_added, kOutgoingStreams, reconfig_->count);
            break;
        default:  // incoming reset: nothing to do; add incoming: the peer's own request follows
            break;
    }
    end_request(env);
}

}  // namespace signalbox::sctp
