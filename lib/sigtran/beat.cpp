// SPDX-License-Identifier: Apache-2.0
// Our own BEAT (RFC 4666 3.5.5, 4.3.4.6): sent to an ASP from which nothing came for T(beat); dead
// is one from which nothing comes for 2 x T(beat). Not SCTP's HEARTBEAT: that tells of a path, this
// of a process.
#include <array>

#include "base/bytes.h"
#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::Message;
using wire::m3ua::Tag;

void SignalingGateway::State::watch(PeerIndex peer) {
    Peer& p = at(peer);
    unwatch(peer);
    if (p.settings.beat_interval == Duration{} || !p.up) return;
    p.heard = now;
    p.beat_due = now + p.settings.beat_interval;
    beats.insert({p.beat_due, peer.value});
}

void SignalingGateway::State::unwatch(PeerIndex peer) {
    Peer& p = at(peer);
    if (p.beat_due != kNever) beats.erase({p.beat_due, peer.value});
    p.beat_due = kNever;
}

void SignalingGateway::State::run_beats() {
    while (!beats.empty() && beats.begin()->first <= now) {
        const PeerIndex peer{beats.begin()->second};
        beats.erase(beats.begin());
        Peer& p = at(peer);
        const Duration interval = p.settings.beat_interval;
        const Duration silence = now - p.heard;
        p.beat_due = kNever;
        if (silence >= 2 * interval) {
            counters.drop(Drop::m3ua_beat_unanswered);
            disconnects.push_back(peer);
            continue;
        }
        if (silence >= interval) {
            std::array<std::uint8_t, 8> data;
            store_be64(data.data(), ++beat_number);
            outbox.send(peer, Builder{Message::beat}.bytes(Tag::heartbeat_data, data).finish());
        }
        // Heard meanwhile: the next look is T(beat) after that.
        p.beat_due = (silence >= interval ? now : p.heard) + interval;
        beats.insert({p.beat_due, peer.value});
    }
}

std::vector<PeerIndex> SignalingGateway::beats_due(Time now) const {
    std::vector<PeerIndex> due;
    for (const auto& [when, peer] : state_->beats) {
        if (when > now) break;
        due.push_back(PeerIndex{peer});
    }
    return due;
}

void SignalingGateway::heard(PeerIndex peer, Time when) {
    if (peer.value < state_->peers.size()) state_->at(peer).heard = when;
}

}  // namespace signalbox::sigtran
