// SPDX-License-Identifier: Apache-2.0
// ICMP errors about packets of an association: RFC 9260 section 10, RFC 6951 5.5. Anybody can send
// one, so nothing is believed before the quoted verification tag is right (PATH-8, V06).
#include "sctp/association.h"

namespace signalbox::sctp {

/// ICMP6: what we sent carried the peer's tag, or was our INIT.
bool Association::quotes_us(const NetworkError& error) const {
    if (error.tag.value != 0) return error.tag == remote_tag_;
    return error.initiate_tag && *error.initiate_tag == local_tag_ && state_ == State::cookie_wait;
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
        case wire::IcmpKind::protocol_unreachable:  // ICMP8: as an ABORT with the T bit
            env.counters.add(Count::icmp_errors);
            finish(env, effects, Event::aborted);
            break;
        case wire::IcmpKind::unreachable: {  // ICMP9
            Path& path = paths_[index];
            // A router that answers every packet of a burst tells one thing: once per RTO, as often
            // as a time-out could.
            if (env.now < path.icmp_after) return env.counters.drop(Drop::icmp_ignored);
            path.icmp_after = env.now + path.rto;
            env.counters.add(Count::icmp_errors);
            count_failure(env, effects, index);
            break;
        }
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
