// SPDX-License-Identifier: Apache-2.0
// Association set-up, RFC 9260 5.1, as both sides see it. Duplicates and restarts are in
// restart.cpp.
#include <algorithm>

#include "sctp/init_parameters.h"
#include "sctp/replies.h"
#include "wire/error_causes.h"

namespace signalbox::sctp {

namespace {
constexpr std::size_t kMaxReportBytes = 256;  // of parameters of an INIT ACK that are not known
}

void Association::forget_cookie(Environment& env) {
    if (cookie_ != nullptr) give_piece(env.blocks, cookie_);
    cookie_ = nullptr;
    if (init_report_ != nullptr) give_piece(env.blocks, init_report_);
    init_report_ = nullptr;
}

void Association::establish(Environment& env, Effects& effects, Event event) {
    set_state(State::established);
    heard_at_ = env.now;
    control_timer_ = guard_timer_ = kNever;
    control_count_ = 0;
    error_count_ = 0;
    pending_ &= kCookieAck;
    accepting_ = false;
    forget_cookie(env);
    start_heartbeats(env);
    env.counters.add(event == Event::restarted ? Count::associations_restarted
                                               : Count::associations_up);
    effects.add(event);
}

bool Association::accept(Environment& env, const CookieContents& cookie) {
    if (state_ != State::closed || cookie.address_count == 0) return false;
    if (!start_paths(env, std::span{cookie.addresses}.first(cookie.address_count),
                     cookie.local_address))
        return false;
    local_port_ = cookie.local_port;
    remote_port_ = cookie.remote_port;
    local_tie_ = {env.random.u32() | 1u};
    remote_tie_ = {env.random.u32() | 1u};
    adopt(env, cookie);
    accepting_ = true;
    return true;
}

/// Tags, TSNs and streams of the cookie; queues are empty. The address that INIT came from is
/// confirmed (5.4).
void Association::adopt(Environment& env, const CookieContents& cookie) {
    local_tag_ = cookie.local_tag;
    remote_tag_ = cookie.remote_tag;
    local_initial_tsn_ = cookie.local_initial_tsn;
    extensions_ = cookie.extensions;
    in_.start(env, cookie.remote_initial_tsn, cookie.streams_in, extensions_);
    out_.start(env, cookie.local_initial_tsn);
    out_.set_peer(env, cookie.streams_out, cookie.remote_window_bytes, extensions_);
    start_requests(env, cookie.remote_initial_tsn);
    const std::size_t first = paths_.find(cookie.addresses[0]);
    if (first < paths_.size()) {
        paths_[first].confirmed = true;
        paths_.set_primary(first);
    }
}

void Association::on_init_ack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto init = wire::parse_init(chunk.value);
    if (!init || init->tag.value == 0) {  // 3.3.3
        env.counters.drop(Drop::init_malformed);
        if (init) finish(env, pass.effects, Event::aborted);
        return;
    }
    const InitParameters parameters =
        read_init_parameters(env, init->parameters, pass.packet.source);
    const IpAddress target = paths_[control_path_].remote;
    if (!parameters.lists(target)) return env.counters.drop(Drop::init_malformed);  // HS-8
    const auto refuse = [&](wire::Cause cause, std::uint64_t information = 0,
                            std::uint8_t bytes = 0) {
        env.counters.drop(Drop::init_malformed);
        remote_tag_ = init->tag;
        abort_with(env, pass.effects, wire::code(cause), information, bytes);
    };
    if (init->streams_in == 0 || init->streams_out == 0)
        return refuse(wire::Cause::invalid_mandatory_parameter);
    if (init->a_rwnd_bytes < 1500) return refuse(wire::Cause::protocol_violation);
    if (parameters.verdict == InitVerdict::malformed)
        return refuse(wire::Cause::protocol_violation);
    if (parameters.verdict == InitVerdict::host_name)
        return refuse(wire::Cause::unresolvable_address);
    if (parameters.verdict == InitVerdict::too_many_addresses)
        return refuse(wire::Cause::out_of_resource);
    if (parameters.cookie.data() == nullptr)
        return refuse(wire::Cause::missing_parameter, 1u << 16 | 7u, 6);
    const std::size_t room = paths_.packet_bytes() - kCommonHeaderBytes - wire::kTlvHeader;
    if (parameters.cookie.empty() || parameters.cookie.size() > room)  // H18
        return refuse(wire::Cause::protocol_violation);

    StoredPiece* cookie = keep_piece(env.blocks, parameters.cookie);
    if (cookie == nullptr) return env.counters.drop(Drop::data_no_memory);  // T1 asks again
    const bool measurable = control_count_ == 0;                            // Karn: 6.3.1 C5
    std::array<IpAddress, kMaxPaths> addresses{target};
    std::size_t count = 1;
    for (const IpAddress& address : parameters.list())
        if (address != target) addresses[count++] = address;
    const IpAddress local = paths_[control_path_].local;
    if (!start_paths(env, std::span{addresses}.first(count), local)) {
        give_piece(env.blocks, cookie);
        start_paths(env, std::span{addresses}.first(1), local);
        return env.counters.drop(Drop::data_no_memory);
    }
    forget_cookie(env);
    cookie_ = cookie;
    std::array<std::uint8_t, kMaxReportBytes> report;
    const std::size_t reported = copy_unrecognized(init->parameters, report);
    if (reported != 0)  // no memory: no report
        init_report_ = keep_piece(env.blocks, std::span{report}.first(reported));
    control_path_ = 0;
    paths_[0].confirmed = true;  // 5.4: our user named it
    if (measurable) paths_[0].measured(env.profile, env.now - control_sent_at_);
    remote_tag_ = init->tag;
    extensions_ = parameters.extensions & offered_extensions(env.profile);
    in_.start(env, init->initial_tsn, std::min(env.profile.streams_in, init->streams_out),
              extensions_);
    out_.set_peer(env, std::min(env.profile.streams_out, init->streams_in), init->a_rwnd_bytes,
                  extensions_);
    start_requests(env, init->initial_tsn);
    set_state(State::cookie_echoed);
    pending_ = kCookieEcho;
    control_count_ = 0;
    arm_control(env, paths_[0].rto);
    if (count > 1) pass.effects.add(Event::paths_changed);
}

void Association::on_cookie_ack(Environment& env, ReceivePass& pass) {
    if (state_ != State::cookie_echoed) return env.counters.drop(Drop::chunk_unexpected);  // 5.2.5
    if (control_count_ == 0) paths_[0].measured(env.profile, env.now - control_sent_at_);
    establish(env, pass.effects, Event::up);
}

/// 5.2.6: once more from the start, asking for a longer life. What is queued stays queued.
void Association::on_stale_cookie(Environment& env, ReceivePass& pass, wire::Bytes causes) {
    if (state_ != State::cookie_echoed) return env.counters.drop(Drop::chunk_unexpected);
    if (stale_retries_ != 0) return finish(env, pass.effects, Event::lost);
    ++stale_retries_;
    std::uint32_t staleness_us = 0;
    wire::ParameterWalker walker{causes};
    while (const auto cause = walker.next())
        if (cause->type == wire::code(wire::Cause::stale_cookie) && cause->value.size() == 4)
            staleness_us = wire::load_u32(cause->value, 0);
    constexpr std::uint32_t kMaxWishMs = 60'000;
    const auto rtt_ms = static_cast<std::uint32_t>(paths_[0].rto / std::chrono::milliseconds{1});
    preservative_ms_ = std::min(staleness_us / 1000 + rtt_ms + 1, kMaxWishMs);
    forget_cookie(env);
    remote_tag_ = {};
    set_state(State::cookie_wait);
    pending_ = kInit;
    control_count_ = 0;
    arm_control(env, paths_[0].rto);
    pass.stop = true;
}

}  // namespace signalbox::sctp
