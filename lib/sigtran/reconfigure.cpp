// SPDX-License-Identifier: Apache-2.0
// A reload: other settings for the peers and AS that are there, further ones behind them. Positions
// stay, and what did not change keeps its state. An ASP that must leave an AS hears it by the ASPIA
// Ack that it did not ask for (RFC 4666 4.3.4.4).
#include <algorithm>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Message;

void SignalingGateway::State::reconfigure_peer(PeerIndex peer, const PeerSettings& wanted) {
    Peer& p = at(peer);
    const bool admin_changed = wanted.admin != p.configured_admin;
    const bool beat_changed = wanted.beat_interval != p.settings.beat_interval;
    // An operator's block stays until the configuration says something new.
    const Admin admin = admin_changed ? wanted.admin : p.settings.admin;
    p.settings = wanted;
    p.settings.admin = admin;
    p.configured_admin = wanted.admin;
    if (admin_changed && admin != Admin::enabled) take_out(peer);
    if (beat_changed) watch(peer);
}

void SignalingGateway::State::leave(AsIndex as, PeerIndex peer) {
    auto& asps = at(as).asps;
    asps.erase(std::find_if(asps.begin(), asps.end(),
                            [&](const AspInAs& asp) { return asp.peer == peer; }));
    auto& servers_of = at(peer).servers;
    const auto at_server = std::find(servers_of.begin(), servers_of.end(), as);
    auto& memberships = view.peers.edit(peer.value).memberships;
    memberships.erase(memberships.begin() + (at_server - servers_of.begin()));
    servers_of.erase(at_server);
}

void SignalingGateway::State::join(AsIndex as, PeerIndex peer) {
    const AspState state = at(peer).up ? AspState::inactive : AspState::down;
    at(as).asps.push_back({peer, state});
    at(peer).servers.push_back(as);
    view.peers.edit(peer.value).memberships.push_back({as, at(as).settings.routing_context, state});
}

void SignalingGateway::State::show_settings(AsIndex as) {
    const AsSettings& s = at(as).settings;
    AsView& v = view.servers.edit(as.value);
    v.mode = s.mode;
    v.instance = s.instance;
    v.routing_context = s.routing_context;
    v.network_appearance = s.network_appearance;
    v.on_loss = s.on_loss;
    v.recovery_queue_messages = s.recovery_queue_messages;
    v.recovery_queue_bytes = s.recovery_queue_bytes;
}

void SignalingGateway::State::reconfigure_server(AsIndex as, const AsSettings& wanted) {
    Server& s = at(as);
    const AsSettings before = s.settings;
    // Another meaning of the AS on the wire: every ASP begins anew.
    const bool same_on_wire = is_same_on_wire(before, wanted);
    const auto is_member = [&](PeerIndex peer) {
        return std::any_of(wanted.members.begin(), wanted.members.end(),
                           [&](const Member& m) { return m.peer == peer; });
    };
    std::vector<PeerIndex> leaving;
    for (const AspInAs& asp : s.asps)
        if (!same_on_wire || !is_member(asp.peer)) leaving.push_back(asp.peer);
    for (const PeerIndex peer : leaving) {  // by the routing context that it knows
        const AsIndex only[] = {as};
        if (asp_state(as, peer) == AspState::active) acknowledge(Message::aspia_ack, peer, only);
        set_asp_state(as, peer, AspEvent::down);
    }
    for (const PeerIndex peer : leaving) leave(as, peer);
    s.settings = wanted;
    s.settings.required_active = std::max<std::uint16_t>(wanted.required_active, 1);
    show_settings(as);
    // In the order of the settings: the binding's weights stand beside the members.
    std::vector<AspInAs> known = std::move(s.asps);
    s.asps.clear();
    std::vector<std::uint16_t> weights;
    for (const Member& m : wanted.members) {
        const auto there = std::find_if(known.begin(), known.end(),
                                        [&](const AspInAs& asp) { return asp.peer == m.peer; });
        if (there != known.end())
            s.asps.push_back(*there);
        else
            join(as, m.peer);
        weights.push_back(m.weight);
    }
    if (before.members != wanted.members || before.sls_bits != wanted.sls_bits)
        s.binding = SlsBinding{weights, wanted.sls_bits};
    s.active_before = std::min(s.active_before, s.count(AspState::active));
    reconsider(as);
}

void SignalingGateway::reconfigure(const std::vector<PeerSettings>& peers,
                                   const std::vector<AsSettings>& servers, Time now) {
    State& s = *state_;
    s.now = now;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const PeerIndex peer{static_cast<std::uint32_t>(i)};
        if (i >= s.peers.size()) {
            s.peers.emplace_back();
            s.view.peers.resize(i + 1);
            s.at(peer).configured_admin = s.at(peer).settings.admin = peers[i].admin;
        }
        PeerSettings as_configured = s.at(peer).settings;
        as_configured.admin = s.at(peer).configured_admin;
        if (!(as_configured == peers[i])) s.reconfigure_peer(peer, peers[i]);
    }
    for (std::size_t i = 0; i < servers.size(); ++i) {
        const AsIndex as{static_cast<std::uint32_t>(i)};
        const bool is_new = i >= s.servers.size();
        if (is_new) {
            s.servers.push_back({.settings = {},
                                 .state = AsState::down,
                                 .asps = {},
                                 .binding = SlsBinding{{}, servers[i].sls_bits}});
            s.view.servers.resize(i + 1);
            s.view.servers.edit(i).serving.fill(kNoPeer);
        }
        if (is_new || !(s.at(as).settings == servers[i])) s.reconfigure_server(as, servers[i]);
    }
    s.destinations = DestinationIndex(servers);
    s.dirty = true;
    s.outbox.settle();
    s.check();
}

bool is_same_on_wire(const AsSettings& a, const AsSettings& b) {
    return a.instance == b.instance && a.routing_context == b.routing_context &&
           a.network_appearance == b.network_appearance && a.mode == b.mode;
}

}  // namespace signalbox::sigtran
