// SPDX-License-Identifier: Apache-2.0
// Time-outs: RFC 9260 5.1 (T1), 6.3.3 (T3), 8.1 to 8.3, 9.2 (T2, T5); RFC 7829.
#include <algorithm>

#include "sctp/association.h"
#include "wire/error_causes.h"

namespace signalbox::sctp {

namespace {

/// Of what the turn may free.
std::size_t take_slice(Environment& env) {
    if (env.free_left == nullptr) return kRetiredPerTurn;
    const std::size_t slice = std::min(*env.free_left, kRetiredPerTurn);
    *env.free_left -= slice;
    return slice;
}

}  // namespace

bool Association::over_association_limit(const Environment& env) const {
    // PATH-2: no more than all paths together would bear.
    const std::size_t sum = paths_.size() * env.profile.path_max_retransmits;
    return error_count_ > std::min<std::size_t>(env.profile.association_max_retransmits, sum);
}

void Association::count_failure(Environment& env, Effects& effects, std::size_t index) {
    Path& path = paths_[index];
    if (path.error_count < 0xffff) ++path.error_count;
    if (path.confirmed && error_count_ < 0xffff)
        ++error_count_;  // strangers' addresses are not the peer's failure
    if (path.confirmed && path.active && !path.potentially_failed &&
        env.profile.potentially_failed_after < env.profile.path_max_retransmits &&
        path.error_count > env.profile.potentially_failed_after) {
        path.potentially_failed = true;  // RFC 7829 3: probed every RTO from now on
        path.hb_wanted = path.hb_timeout == kNever;
        if (path.hb_due != kNever) path.schedule_heartbeat(env);
        env.counters.add(Count::paths_potentially_failed);
        effects.add(Event::path_potentially_failed, static_cast<std::uint8_t>(index));
    }
    if (path.active && path.error_count > env.profile.path_max_retransmits) {  // 8.2
        path.active = false;
        if (path.confirmed) {
            env.counters.add(Count::paths_failed);
            effects.add(Event::path_down, static_cast<std::uint8_t>(index));
        }
    }
    if (over_association_limit(env)) return finish(env, effects, Event::lost);  // 8.1
    const Path& primary = paths_[paths_.primary()];
    if (primary.error_count > env.profile.primary_switchover_after) switch_primary(env, effects);
}

/// RFC 7829 5: a primary that failed for long does not get its traffic back when it recovers.
void Association::switch_primary(Environment& env, Effects& effects) {
    const std::size_t next = paths_.for_data();
    if (next == paths_.primary() || !paths_[next].usable_for_data()) return;
    paths_.set_primary(next);
    env.counters.add(Count::primaries_switched);
    effects.add(Event::primary_changed, static_cast<std::uint8_t>(next));
}

void Association::path_answered(Environment& env, Effects& effects, std::size_t index) {
    Path& path = paths_[index];
    path.error_count = 0;
    error_count_ = 0;
    const bool was_probed = path.potentially_failed;
    path.potentially_failed = false;
    if (!path.active) {
        path.active = true;
        if (path.confirmed) {
            env.counters.add(Count::paths_restored);
            effects.add(Event::path_up, static_cast<std::uint8_t>(index));
        }
    } else if (was_probed) {
        effects.add(Event::path_up, static_cast<std::uint8_t>(index));
    }
    if (was_probed && path.hb_due != kNever) path.schedule_heartbeat(env);
}

void Association::start_heartbeats(Environment& env) {
    bool unconfirmed = false;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        if (!paths_[i].confirmed) {
            unconfirmed = true;
            continue;
        }
        paths_[i].schedule_heartbeat(env);
        paths_[i].mtu.begin(env.profile, env.now);
    }
    verify_due_ = unconfirmed ? env.now : kNever;
}

/// 5.4: one HEARTBEAT (HB.Max.Burst) per RTO over all unconfirmed paths, in turn.
void Association::verify_next_path(Environment& env) {
    verify_due_ = kNever;
    for (std::size_t n = 0; n < paths_.size(); ++n) {
        const std::size_t i = (verify_next_ + n) % paths_.size();
        Path& path = paths_[i];
        if (path.confirmed) continue;
        path.hb_wanted = true;
        verify_next_ = static_cast<std::uint8_t>((i + 1) % paths_.size());
        verify_due_ = env.now + path.rto;
        // One that stayed silent for long is asked as rarely as an inactive one.
        if (!path.active)
            verify_due_ +=
                env.profile.heartbeat_interval / static_cast<Duration::rep>(paths_.size());
        return;
    }
}

void Association::on_t3(Environment& env, Effects& effects, std::size_t index) {
    if (!out_.time_out(env, paths_, index)) return;
    paths_[index].mtu.timed_out(env.profile, paths_[index].remote.is_v4(), env.now);
    count_failure(env, effects, index);
}

/// RFC 3758 3.5 F: FORWARD TSN is guarded as DATA is. With DATA in flight T3 does the counting.
/// `charged`: bit of each path that counted a failure just now.
void Association::on_forward_timer(Environment& env, Effects& effects, std::uint32_t charged) {
    out_.forward_again();
    const std::size_t index = out_.forward_path();
    // A HEARTBEAT beside it does the counting, as DATA in flight does.
    if (paths_.flight_bytes() != 0 || paths_[index].hb_timeout != kNever ||
        (charged >> index & 1) != 0)
        return;
    paths_[index].back_off(env.profile);
    count_failure(env, effects, index);
}

void Association::on_heartbeat_due(Environment& env, std::size_t index) {
    Path& path = paths_[index];
    path.hb_due = path.hb_timeout;  // at most one a round trip (PATH-1)
    if (path.hb_timeout != kNever) return;
    if (state_ == State::cookie_wait || state_ == State::cookie_echoed) return;
    path.hb_wanted = true;  // flush() draws the nonce and arms the timers
    path.schedule_heartbeat(env);
}

void Association::on_control_timer(Environment& env, Effects& effects) {
    control_timer_ = kNever;
    Path& path = paths_[control_path_];
    path.back_off(env.profile);  // HS-9
    ++control_count_;
    switch (state_) {
        case State::cookie_wait:
        case State::cookie_echoed:
            if (control_count_ > env.profile.max_init_retransmits) {
                finish(env, effects, Event::lost);
                return;
            }
            if (state_ ==
                State::cookie_wait)  // another of the configured addresses may be reachable
                control_path_ = static_cast<std::uint8_t>((control_path_ + 1u) % paths_.size());
            pending_ |= state_ == State::cookie_wait ? kInit : kCookieEcho;
            break;
        case State::shutdown_sent:
        case State::shutdown_ack_sent:
            count_failure(env, effects, control_path_);
            if (state_ == State::closed) return;
            pending_ |= state_ == State::shutdown_sent ? kShutdown : kShutdownAck;
            control_path_ = static_cast<std::uint8_t>(paths_.for_retransmission(control_path_));
            break;
        default:
            return;
    }
    arm_control(env, paths_[control_path_].rto);
}

void Association::advance(Environment& env, Effects& effects) {
    if (retired_waits_) {
        std::size_t left = take_slice(env);
        release_retired(env, left);
        if (env.free_left != nullptr) *env.free_left += left;
    }
    if (state_ == State::closed) {
        if (ended_quietly_) {
            ended_quietly_ = false;
            env.counters.add(Count::associations_closed);
            effects.add(Event::closed);
        }
        return;
    }
    if (guard_timer_ <= env.now) {  // 9.2, HS-11
        pending_ |= kAbort;
        abort_cause_ = 0;
        finish(env, effects, Event::lost);
        check();
        return;
    }
    // DAT-6, D09: 6.1 A probes for ever; policy may end it. The timer of the probes brings us here.
    if (env.profile.stall_limit != Duration::zero() && out_.peer_consumes_nothing() &&
        env.now - out_.stalled_since() > env.profile.stall_limit) {
        abort_with(env, effects, wire::code(wire::Cause::user_initiated_abort));
        check();
        return;
    }
    if (in_.stall_deadline() <= env.now && in_.is_stalled(env)) {
        env.counters.drop(Drop::reassembly_stalled);
        abort_with(env, effects, wire::code(wire::Cause::protocol_violation));
        check();
        return;
    }
    if (control_timer_ <= env.now) on_control_timer(env, effects);
    std::uint32_t charged_paths = 0;
    for (std::size_t i = 0; i < paths_.size() && state_ != State::closed; ++i) {
        Path& path = paths_[i];
        bool charged = false;  // at most one failure a path, however late this call is
        if (path.t3 <= env.now) {
            on_t3(env, effects, i);
            charged = true;
        }
        if (state_ != State::closed && path.hb_timeout <= env.now) {
            path.hb_timeout = kNever;
            if (!charged) {
                path.back_off(env.profile);
                count_failure(env, effects, i);
                charged = true;
            }
        }
        charged_paths |= std::uint32_t{charged} << i;
        if (state_ != State::closed && path.hb_due <= env.now) on_heartbeat_due(env, i);
        if (path.mtu.deadline() <= env.now) path.mtu.expire(env.now, path.usable_for_data());
    }
    if (state_ != State::closed) {
        if (verify_due_ <= env.now) verify_next_path(env);
        if (in_.sack_deadline() <= env.now) in_.sack_at_once();
        if (out_.probe_deadline() <= env.now) out_.probe_now();
        if (out_.forward_deadline() <= env.now) on_forward_timer(env, effects, charged_paths);
    }
    if (state_ != State::closed && reconfig_ != nullptr && reconfig_->timer <= env.now)
        on_reconfig_timer(env, effects);
    if (state_ != State::closed) {
        if (out_.pause_deadline() <= env.now) out_.pause(kNever);
        report_failures(effects);
        advance_shutdown(env);  // what was given up may have been the last
    }
    check();
}

}  // namespace signalbox::sctp
