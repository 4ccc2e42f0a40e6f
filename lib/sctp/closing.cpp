// SPDX-License-Identifier: Apache-2.0
// Graceful end, RFC 9260 9.2.
//
//   established --shutdown()--> shutdown_pending --drained: SHUTDOWN--> shutdown_sent --SHUTDOWN
//   ACK--> closed
//        '--SHUTDOWN--> shutdown_received --drained: SHUTDOWN ACK--> shutdown_ack_sent --SHUTDOWN
//        COMPLETE--> closed
#include "sctp/replies.h"
#include "wire/shutdown.h"

namespace signalbox::sctp {

namespace {
constexpr int kGuardRtoMax = 5;  // 9.2: T5-shutdown-guard is 5 times RTO.Max
}

void Association::shutdown(Environment& env) {
    switch (state_) {
        case State::cookie_wait:
        case State::cookie_echoed:
            stop(env);  // 9.2: nothing was agreed yet; the event is given by the next advance()
            ended_quietly_ = true;
            break;
        case State::established:
            set_state(State::shutdown_pending);
            guard_timer_ = env.now + env.profile.rto_max * kGuardRtoMax;
            advance_shutdown(env);
            break;
        default:
            break;
    }
    check();
}

/// Goes on when the queues are empty (END-1).
void Association::advance_shutdown(Environment& env) {
    if (!out_.drained()) return;
    if (state_ == State::shutdown_pending) {
        set_state(State::shutdown_sent);
        pending_ |= kShutdown;
    } else if (state_ == State::shutdown_received) {
        set_state(State::shutdown_ack_sent);
        pending_ |= kShutdownAck;
    } else {
        return;
    }
    control_count_ = 0;
    control_path_ = static_cast<std::uint8_t>(paths_.for_data());
    arm_control(env, paths_[control_path_].rto);
}

void Association::on_shutdown(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto cumulative = wire::parse_shutdown(chunk.value);
    if (!cumulative) return env.counters.drop(Drop::chunk_malformed);
    const AckOutcome outcome = out_.apply_shutdown(env, paths_, *cumulative);
    on_acknowledged(env, pass, outcome);
    // Judged like a SACK (6.2.1 D): what was acknowledged before is no news, and T2 asks again.
    if (outcome != AckOutcome::applied) return;
    switch (state_) {
        case State::established:
        case State::shutdown_pending:
            if (state_ == State::established)
                guard_timer_ = env.now + env.profile.rto_max * kGuardRtoMax;
            set_state(State::shutdown_received);
            pass.effects.add(Event::shutdown_begun);
            break;
        case State::shutdown_sent:  // both sides at once: 9.2
            set_state(State::shutdown_ack_sent);
            pending_ = static_cast<std::uint16_t>((pending_ & ~kShutdown) | kShutdownAck);
            arm_control(env, paths_[control_path_].rto);
            break;
        case State::shutdown_ack_sent:
            pending_ |= kShutdownAck;
            break;
        default:
            break;
    }
}

void Association::on_shutdown_ack(Environment& env, ReceivePass& pass) {
    if (state_ == State::cookie_wait ||
        state_ == State::cookie_echoed) {  // 8.5.1 E: as out of the blue
        pass.reply = reply_for(env, pass.packet, pass.packet.tag, wire::kTlvHeader);
        if (pass.reply != nullptr) {
            const std::array<std::uint8_t, 4> complete{14, wire::kFlagT, 0, 4};
            std::copy(complete.begin(), complete.end(), pass.reply->room().begin());
            pass.reply->size = static_cast<std::uint16_t>(pass.reply->size + complete.size());
        }
        pass.stop = true;
        return;
    }
    pending_ |= kShutdownComplete;
    if (pass.path < paths_.size()) control_path_ = static_cast<std::uint8_t>(pass.path);
    finish(env, pass.effects, Event::closed);
}

void Association::on_shutdown_complete(Environment& env, ReceivePass& pass) {
    finish(env, pass.effects, Event::closed);
}

}  // namespace signalbox::sctp
