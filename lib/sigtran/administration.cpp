// SPDX-License-Identifier: Apache-2.0
// What the operator does to ASPs: block and unblock (RFC 4666 4.3.4.1, "refused - management
// blocking"), and the drain of the whole node before it ends.
#include <utility>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::Message;

namespace {

constexpr std::size_t kDrainedPerSlice = 256;  // peers told in one call

}  // namespace

/// Out of service by our will: its traffic ends in all its AS, and it is told by the
/// acknowledgements that it did not ask for (4.3.4.2, 4.3.4.4).
void SignalingGateway::State::take_out(PeerIndex peer) {
    Peer& p = at(peer);
    if (!p.up) return;
    std::vector<AsIndex> active;
    for (const AsIndex as : p.servers)
        if (asp_state(as, peer) == AspState::active) active.push_back(as);
    bring_down(peer);
    if (!active.empty()) acknowledge(Message::aspia_ack, peer, active);
    outbox.send(peer, Builder{Message::aspdn_ack}.finish());
}

/// For every AS in which the ASP serves: nothing can be reached through us any more, the AS is
/// inactive.
void SignalingGateway::State::say_farewell(PeerIndex peer) {
    for (const AsIndex as : at(peer).servers) {
        if (asp_state(as, peer) != AspState::active) continue;
        Statuses all;
        for (const DestinationIndex::Entry& entry :
             destinations.of_instance(at(as).settings.instance))
            if (entry.as != as && (at(entry.as).announced.reach != Reach::unavailable ||
                                   at(entry.as).status().reach != Reach::unavailable))
                all.add(entry.destination, {});
        send_statuses(outbox, peer, scope_of(as), all);
        notify(peer, as, wire::m3ua::kAsInactive);
    }
    outbox.settle();
}

void SignalingGateway::State::drain_slice() {
    for (std::size_t n = 0; n < kDrainedPerSlice && drain_next < peers.size(); ++n, ++drain_next) {
        const PeerIndex peer{static_cast<std::uint32_t>(drain_next)};
        if (!at(peer).associated) continue;
        if (at(peer).up) {
            say_farewell(peer);
            take_out(peer);
            outbox.settle_silently();  // the others hear it in their own turn
        }
        drained.push_back(peer);
    }
}

void SignalingGateway::block(PeerIndex peer, Time now) {
    State& s = *state_;
    if (peer.value >= s.peers.size()) return;
    s.now = now;
    s.at(peer).settings.admin = Admin::blocked;
    s.take_out(peer);
    s.outbox.settle();
    s.check();
}

void SignalingGateway::unblock(PeerIndex peer) {
    if (peer.value < state_->peers.size()) state_->at(peer).settings.admin = Admin::enabled;
}

Admin SignalingGateway::admin(PeerIndex peer) const {
    return peer.value < state_->peers.size() ? state_->at(peer).settings.admin : Admin::enabled;
}

void SignalingGateway::drain(Time now) {
    state_->now = now;
    state_->draining = true;
}

std::vector<PeerIndex> SignalingGateway::take_drained() {
    return std::exchange(state_->drained, {});
}

std::vector<PeerIndex> SignalingGateway::take_disconnects() {
    return std::exchange(state_->disconnects, {});
}

}  // namespace signalbox::sigtran
