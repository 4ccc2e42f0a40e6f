// SPDX-License-Identifier: Apache-2.0
// ICMP errors about packets of an association: RFC 9260 section 10, RFC 6951 5.5. Anybody can send
// one, so nothing is believed before the quoted verification tag is right (PATH-8, V06).
#include <algorithm>

#include "sctp/association.h"

namespace signalbox::sctp {

/// ICMP6: what we sent carried the peer's tag, or was our INIT.
bool Association::quotes_us(const NetworkError& error) const {
    if (error.tag.value != 0) return error.tag == remote_tag_;
    return error.initiate_tag && *error.initiate_tag == local_tag_ && state_ == State::cookie_wait;
}

/// ICMP9. A router that answers every packet of a burst tells one thing: it counts once per RTO, as
/// often as a time-out could.
void Association::count_unreachable(Environment& env, Effects& effects, std::size_t index) {
    Path& path = paths_[index];
    if (env.now < path.icmp_after) return env.counters.drop(Drop::icmp_ignored);
    path.icmp_after = env.now + path.rto;
    env.counters.add(Count::icmp_errors);
    count_failure(env, effects, index);
}

/// ICMP8: as an ABORT with the T bit, once the peer has been silent for an RTO. A host whose SCTP
/// is a process on a raw socket says "protocol unreachable" also when that socket's buffer is full;
/// who was heard a moment ago has SCTP. The HEARTBEAT asked for here draws the next such error from
/// a host that has none.
void Association::peer_unreachable(Environment& env, Effects& effects, std::size_t index) {
    Path& path = paths_[index];
    const Time silent_from = heard_at_ + path.rto;
    if (heard_at_ == Time{} || env.now >= silent_from) {
        env.counters.add(Count::icmp_errors);
        return finish(env, effects, Event::aborted);
    }
    path.hb_due = std::min(path.hb_due, silent_from);
    count_unreachable(env, effects, index);
}

void Association::network_error(Environment& env, const NetworkError& error, Effects& effects) {
    const std::size_t index = paths_.find(error.remote);
    if (state_ == State::closed || index >= paths_.size() || !quotes_us(error))
        return env.counters.drop(Drop::icmp_unmatched);
    switch (error.kind) {
        case wire::IcmpKind::port_unreachable:
            // Says something about SCTP only where it stands for the protocol (RFC 6951 5.5).
            if (!error.encapsulated) return env.counters.drop(Drop::icmp_ignored);
            [[fallthrough]];
        case wire::IcmpKind::protocol_unreachable:
            peer_unreachable(env, effects, index);
            break;
        case wire::IcmpKind::unreachable:
            count_unreachable(env, effects, index);
            break;
        case wire::IcmpKind::too_big: {  // ICMP7; PATH-6: believed only while probing is on
            Path& path = paths_[index];
            if (!path.mtu.too_big(error.mtu_bytes, path.remote.is_v4(), env.now))
                return env.counters.drop(Drop::icmp_ignored);
            env.counters.add(Count::icmp_errors);
            break;
        }
        default:
            return env.counters.drop(Drop::icmp_ignored);
    }
    check();
}

}  // namespace signalbox::sctp
