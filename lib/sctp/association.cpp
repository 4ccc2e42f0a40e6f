// SPDX-License-Identifier: Apache-2.0
// Entry points that are neither packets nor timers, and what the user part may ask.
#include "sctp/association.h"

#include <algorithm>
#include <cassert>

#include "sctp/replies.h"
#include "wire/error_causes.h"

namespace signalbox::sctp {

static_assert(sizeof(Association) <= 1280);  // a slot of core and its blocks: PF-11, 4 KiB

void Association::set_state(State next) {
    state_ = next;
}

bool Association::start_paths(Environment& env, std::span<const IpAddress> remotes,
                              const IpAddress& addressed) {
    paths_.clear(env);
    for (const IpAddress& remote : remotes) {
        const bool first = paths_.size() == 0 && addressed.is_v4() == remote.is_v4() &&
                           !addressed.is_unspecified();
        const IpAddress local = first ? addressed : local_for(env, remote, paths_.size());
        if (local.is_unspecified() || local.is_v4() != remote.is_v4())
            continue;  // no way to go there
        if (!paths_.add(env, remote, local)) {
            paths_.clear(env);
            return false;
        }
    }
    return paths_.size() != 0;
}

bool Association::connect(Environment& env, std::span<const IpAddress> remotes,
                          std::uint16_t local_port, std::uint16_t remote_port) {
    if (state_ != State::closed || remotes.empty() || env.local_addresses.empty()) return false;
    if (!start_paths(env, remotes.first(std::min(remotes.size(), kMaxRemoteAddresses)),
                     IpAddress{}))
        return false;
    local_port_ = local_port;
    remote_port_ = remote_port;
    local_tag_ = env.tags.draw();
    remote_tag_ = {};
    local_tie_ = {env.random.u32() | 1u};
    remote_tie_ = {env.random.u32() | 1u};
    local_initial_tsn_ = {env.random.u32()};
    extensions_ = {};
    in_.start(env, {}, 0, extensions_);
    out_.start(env, local_initial_tsn_);
    pending_ = kInit;
    control_path_ = 0;
    control_count_ = 0;
    control_sent_at_ = env.now;
    arm_control(env, paths_[0].rto);
    set_state(State::cookie_wait);
    check();
    return true;
}

void Association::stop(Environment& env) {
    set_state(State::closed);
    control_timer_ = guard_timer_ = verify_due_ = kNever;
    pending_ &= kAbort | kShutdownComplete;  // the last word, if any
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        Path& path = paths_[i];
        path.t3 = path.hb_due = path.hb_timeout = kNever;
        path.hb_wanted = false;
        path.mtu.reset(env.profile, path.remote.is_v4());
    }
    drop_replies(env);
}

void Association::finish(Environment& env, Effects& effects, Event event, std::uint16_t cause) {
    if (state_ == State::closed) return;
    stop(env);
    const Count counted = event == Event::closed    ? Count::associations_closed
                          : event == Event::aborted ? Count::associations_aborted
                                                    : Count::associations_lost;
    env.counters.add(counted);
    effects.add(event, 0, cause);
}

void Association::abort_with(Environment& env, Effects& effects, std::uint16_t cause,
                             std::uint64_t information, std::uint8_t information_bytes) {
    if (state_ == State::closed) return;
    if (remote_tag_.value != 0) {  // before INIT ACK the peer has no tag and no association
        pending_ |= kAbort;
        abort_cause_ = cause;
        abort_information_ = information;
        abort_information_bytes_ = information_bytes;
    }
    finish(env, effects, Event::aborted, cause);
}

void Association::abort(Environment& env, std::uint16_t cause, Effects& effects) {
    abort_with(env, effects, cause);
    check();
}

SendStatus Association::send(Environment& env, StreamId stream, Ppid ppid, bool unordered,
                             std::span<const std::span<const std::uint8_t>> pieces,
                             const Reliability& reliability) {
    if (state_ != State::established && state_ != State::cookie_echoed) return SendStatus::not_open;
    const SendStatus status =
        out_.enqueue(env, stream, ppid, unordered, pieces, paths_.packet_bytes(), reliability);
    check();
    return status;
}

bool Association::set_stream_value(Environment& env, StreamId stream, std::uint16_t value) {
    return out_.set_stream_value(env, stream, value);
}

bool Association::continue_stream(Environment& env, StreamId stream, Mid next_out, Mid next_in) {
    return out_.continue_stream(env, stream, next_out) && in_.continue_stream(env, stream, next_in);
}

void Association::report_failures(Effects& effects) {
    if (const std::uint32_t n = out_.take_failures(); n != 0)
        effects.add(Event::send_failed, 0, static_cast<std::uint16_t>(std::min(n, 0xffffu)));
}

bool Association::hold(Environment& env, const Message& message) {
    return in_.hold(env, message);
}
std::optional<Message> Association::front_ready(Environment& env) {
    return in_.front_ready(env);
}
void Association::pop_ready(Environment& env) {
    in_.pop_ready(env);
    check();
}

std::optional<Association::Unsent> Association::take_back(Environment& env) {
    if (const auto taken = take_back_retired(env)) return Unsent{taken->message, taken->sent};
    if (state_ != State::closed) return std::nullopt;
    for (std::size_t i = 0; i < paths_.size(); ++i) paths_[i].flight_bytes = 0;
    const auto taken = out_.take_back(env);
    if (!taken) return std::nullopt;
    return Unsent{taken->message, taken->sent};
}

bool Association::release(Environment& env, std::size_t max_blocks) {
    return release_within(env, max_blocks);
}

bool Association::release_within(Environment& env, std::size_t& budget) {
    if (retired_waits_) release_retired(env, budget);
    budget -= out_.release(env, budget);
    budget -= in_.release(env, budget);
    if (retired_waits_ || out_.holds_memory() || in_.holds_memory()) return false;
    drop_replies(env);
    forget_cookie(env);
    forget_requests(env);
    paths_.clear(env);
    return true;
}

Time Association::next_deadline() const {
    if (state_ == State::closed) return ended_quietly_ ? Time{} : kNever;
    if (out_.failures_wait() || retired_waits_) return Time{};
    Time least =
        std::min({control_timer_, guard_timer_, verify_due_, in_.sack_deadline(),
                  in_.stall_deadline(), out_.probe_deadline(), out_.forward_deadline(),
                  out_.pause_deadline(), reconfig_ != nullptr ? reconfig_->timer : kNever});
    for (std::size_t i = 0; i < paths_.size(); ++i) least = std::min(least, paths_[i].deadline());
    return least;
}

PathView Association::path(std::size_t index) const {
    const Path& p = paths_[index];
    return {.remote = p.remote,
            .local = p.local,
            .confirmed = p.confirmed,
            .active = p.active,
            .potentially_failed = p.potentially_failed,
            .error_count = p.error_count,
            .cwnd_bytes = p.cwnd_bytes,
            .ssthresh_bytes = p.ssthresh_bytes,
            .outstanding_bytes = p.flight_bytes,
            .mtu_bytes = p.mtu.size(),
            .rto = p.rto,
            .srtt = p.srtt};
}

State Association::state() const {
    return state_;
}
std::uint16_t Association::local_port() const {
    return local_port_;
}
std::uint16_t Association::remote_port() const {
    return remote_port_;
}
VerificationTag Association::local_tag() const {
    return local_tag_;
}
VerificationTag Association::remote_tag() const {
    return remote_tag_;
}
std::uint16_t Association::streams_out() const {
    return out_.streams();
}
std::uint16_t Association::streams_in() const {
    return in_.streams();
}
std::size_t Association::path_count() const {
    return paths_.size();
}
IpAddress Association::remote_address(std::size_t index) const {
    return paths_[index].remote;
}
std::uint32_t Association::queued_bytes() const {
    return out_.queued_bytes();
}
std::uint32_t Association::ready_bytes() const {
    return in_.ready_bytes();
}
std::uint32_t Association::receive_window() const {
    return in_.window();
}

bool Association::is_consistent() const {
    if (!in_.is_consistent()) return false;
    if (state_ == State::closed) return control_timer_ == kNever && guard_timer_ == kNever;
    if (!out_.is_consistent(paths_)) return false;
    if (paths_.size() == 0 || paths_.primary() >= paths_.size()) return false;
    switch (state_) {  // HS-11: every state but ESTABLISHED is bounded by a timer
        case State::cookie_wait:
        case State::cookie_echoed:
            return control_timer_ != kNever && guard_timer_ == kNever;
        case State::established:
            return control_timer_ == kNever && guard_timer_ == kNever && cookie_ == nullptr;
        case State::shutdown_pending:
        case State::shutdown_received:
            return guard_timer_ != kNever && control_timer_ == kNever;
        case State::shutdown_sent:
        case State::shutdown_ack_sent:
            return guard_timer_ != kNever && control_timer_ != kNever && out_.drained();
        case State::closed:
            break;
    }
    return true;
}

void Association::check() const {
#ifdef SIGNALBOX_CHECKS
    assert(is_consistent());
#endif
}

}  // namespace signalbox::sctp
