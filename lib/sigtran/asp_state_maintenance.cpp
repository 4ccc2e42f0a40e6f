// SPDX-License-Identifier: Apache-2.0
// ASPSM: ASPUP, ASPDN, BEAT (RFC 4666 3.5, 4.3.4.1, 4.3.4.2, 4.3.4.6) and the fate of the
// association.
#include <algorithm>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::ErrorCode;
using wire::m3ua::Message;
using wire::m3ua::Tag;

bool SignalingGateway::State::is_asp_identifier_taken(PeerIndex peer, std::uint32_t asp_id) const {
    for (const AsIndex as : at(peer).servers)
        for (const AspInAs& other : at(as).asps)
            if (other.peer != peer && at(other.peer).asp_id() == asp_id) return true;
    return false;
}

/// Where the configuration names the identifier the ASP must show it; elsewhere it may bring one of
/// its own, which must be unique among the ASPs of its AS (3.5.1).
std::optional<ErrorCode> SignalingGateway::State::judge_asp_identifier(const Request& rq) const {
    const auto& shown = rq.parameters.asp_identifier;
    const auto& configured = at(rq.peer).settings.asp_id;
    if (configured && !shown) return ErrorCode::asp_identifier_required;
    if (configured && *shown != *configured) return ErrorCode::invalid_asp_identifier;
    if (shown && is_asp_identifier_taken(rq.peer, *shown)) return ErrorCode::invalid_asp_identifier;
    return std::nullopt;
}

void SignalingGateway::State::on_aspup(const Request& rq) {
    Peer& p = at(rq.peer);
    if (p.settings.admin != Admin::enabled || draining)
        return refuse(rq, ErrorCode::management_blocking);
    if (const auto error = judge_asp_identifier(rq)) return refuse(rq, *error);
    const bool was_active = has_state(rq.peer, AspState::active);
    const bool was_down = !p.up;
    p.up = true;
    if (was_down) watch(rq.peer);
    if (rq.parameters.asp_identifier) p.learned_asp_id = rq.parameters.asp_identifier;
    outbox.send(rq.peer, Builder{Message::aspup_ack}.finish());
    if (was_active) send_error(rq, ErrorCode::unexpected_message);
    if (!was_active && !was_down) return;  // the Ack was lost, nothing else happened

    view.peers.edit(rq.peer.value).up = true;
    dirty = true;
    for (const AsIndex as : p.servers) {
        set_asp_state(as, rq.peer, AspEvent::up);
        reconsider(as);
        notify_state(rq.peer, as);
    }
}

void SignalingGateway::State::on_aspdn(const Request& rq) {
    if (at(rq.peer).up) bring_down(rq.peer);
    outbox.send(rq.peer, Builder{Message::aspdn_ack}.finish());
}

void SignalingGateway::State::on_beat(const Request& rq) {
    Builder ack{Message::beat_ack};
    if (rq.parameters.heartbeat_data) ack.bytes(Tag::heartbeat_data, *rq.parameters.heartbeat_data);
    outbox.send(rq.peer, ack.finish());
}

void SignalingGateway::State::bring_down(PeerIndex peer) {
    Peer& p = at(peer);
    p.up = false;
    unwatch(peer);
    p.learned_asp_id.reset();
    view.peers.edit(peer.value).up = false;
    dirty = true;
    // All of them first: an AS that is judged must not see an ASP that is half down.
    for (const AsIndex as : p.servers) set_asp_state(as, peer, AspEvent::down);
    for (const AsIndex as : p.servers) reconsider(as);
}

/// The association is gone, or began anew: "ASP failure" to the others (4.3.4.5), then what became
/// of the AS.
void SignalingGateway::State::fail(PeerIndex peer) {
    Peer& p = at(peer);
    p.answered.clear();
    for (const AsIndex as : p.servers)
        for (AspInAs& asp : at(as).asps)
            if (asp.peer == peer) asp.queue_congestion = 0;  // the queue is gone
    if (!p.up) return;
    for (const AsIndex as : p.servers)
        for (const AspInAs& other : at(as).asps)
            if (other.peer != peer && other.state != AspState::down)
                notify(other.peer, as, wire::m3ua::kAspFailure, p.asp_id());
    bring_down(peer);
}

}  // namespace signalbox::sigtran
