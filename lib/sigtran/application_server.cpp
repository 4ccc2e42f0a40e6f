// SPDX-License-Identifier: Apache-2.0
// The AS: its state from the states of its ASPs, T(r), NTFY, and what the workers are to see (RFC
// 4666 4.3.2, 4.3.4.5).
#include <algorithm>
#include <array>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

namespace {

using wire::m3ua::Status;

/// By AsState. DOWN has none: nobody is left to hear it.
constexpr std::array<std::optional<Status>, 4> kStatusOf{
    std::nullopt, wire::m3ua::kAsInactive, wire::m3ua::kAsActive, wire::m3ua::kAsPending};

}  // namespace

std::size_t Server::count(AspState wanted) const {
    const auto is_wanted = [wanted](const AspInAs& asp) { return asp.state == wanted; };
    return static_cast<std::size_t>(std::count_if(asps.begin(), asps.end(), is_wanted));
}

std::uint32_t Server::congestion() const {
    std::optional<std::uint32_t> least;
    for (const AspInAs& asp : asps)
        if (asp.state == AspState::active)
            least = std::min(least.value_or(asp.congestion()), asp.congestion());
    return least.value_or(0);
}

void SignalingGateway::State::set_asp_state(AsIndex as, PeerIndex peer, AspEvent event) {
    for (AspInAs& asp : at(as).asps) {
        if (asp.peer != peer) continue;
        const AspState next = next_state(asp.state, event);
        if (next == asp.state) return;
        changes.push_back({ChangeKind::asp_state, as, peer, static_cast<std::uint8_t>(asp.state),
                           static_cast<std::uint8_t>(next)});
        asp.state = next;
        asp.said_congestion = 0;
        for (Membership& m : view.peers.edit(peer.value).memberships)
            if (m.as == as) m.state = next;
        if (next == AspState::active) ++view.servers.edit(as.value).activations;
        dirty = true;
        return;
    }
}

void SignalingGateway::State::reconsider(AsIndex as) {
    Server& s = at(as);
    const std::size_t active = s.count(AspState::active);
    const std::size_t up = active + s.count(AspState::inactive);
    const std::size_t before = s.active_before;
    s.active_before = active;
    set_as_state(as, next_state(s.state, strength_of(up, active, s.settings.required_active)));
    if (s.state == AsState::active && active < before) notify_if_too_few(as);
    if (s.state == AsState::active && active != before) status_changed(as);  // DRST, congestion
    refresh_view(as);
}

void SignalingGateway::State::set_as_state(AsIndex as, AsState next) {
    Server& s = at(as);
    if (next == s.state) return;
    if (s.recovery_ends != kNever) {
        recoveries.erase({s.recovery_ends, as.value});
        s.recovery_ends = kNever;
    }
    if (next == AsState::pending) {
        s.recovery_ends = now + s.settings.recovery_timer;
        recoveries.insert({s.recovery_ends, as.value});
    }
    changes.push_back({ChangeKind::as_state, as, kNoPeer, static_cast<std::uint8_t>(s.state),
                       static_cast<std::uint8_t>(next)});
    s.state = next;
    status_changed(as);
    for (const AspInAs& asp : s.asps)
        if (asp.state != AspState::down) notify_state(asp.peer, as);
}

void SignalingGateway::State::recovery_over(AsIndex as) {
    const Server& s = at(as);
    const std::size_t up = s.asps.size() - s.count(AspState::down);
    set_as_state(as, after_recovery(strength_of(up, 0, s.settings.required_active)));
    refresh_view(as);
}

void SignalingGateway::State::notify(PeerIndex peer, AsIndex as, Status status,
                                     std::optional<std::uint32_t> asp_id) {
    if (at(peer).settings.quirks.no_notify) return;
    outbox.notify(peer, status, asp_id, at(as).settings.routing_context);
}

void SignalingGateway::State::notify_state(PeerIndex peer, AsIndex as) {
    if (const auto& status = kStatusOf[static_cast<std::size_t>(at(as).state)])
        notify(peer, as, *status);
}

/// 3.8.2: the ASPs that could help learn that another one is needed. Override needs one only.
void SignalingGateway::State::notify_if_too_few(AsIndex as) {
    const Server& s = at(as);
    if (s.settings.mode == TrafficMode::override_) return;
    if (s.count(AspState::active) >= s.settings.required_active) return;
    for (const AspInAs& asp : s.asps)
        if (asp.state == AspState::inactive)
            notify(asp.peer, as, wire::m3ua::kInsufficientResources);
}

void SignalingGateway::State::refresh_view(AsIndex as) {
    Server& s = at(as);
    AsView& v = view.servers.edit(as.value);
    v.state = s.state;
    v.active.clear();
    std::vector<std::uint8_t> active;
    for (const AspInAs& asp : s.asps) {
        active.push_back(asp.state == AspState::active ? 1 : 0);
        if (asp.state == AspState::active) v.active.push_back(asp.peer);
    }
    dirty = true;
    s.binding.rebind(active);
    const std::array<PeerIndex, 256> before = v.serving;
    v.serving.fill(kNoPeer);
    if (s.state != AsState::active) return look_for_moves(as, before);
    for (unsigned sls = 0; sls < v.serving.size(); ++sls) {
        const std::uint16_t member = s.binding.serving(Sls{static_cast<std::uint8_t>(sls)});
        // Override has one; of a broadcast every one has a copy, and this is the first.
        const bool by_sls = s.settings.mode == TrafficMode::loadshare;
        v.serving[sls] = by_sls ? s.asps[member].peer : v.active.front();
    }
    look_for_moves(as, before);
}

/// Each ASP of a broadcast has its own copy, whose order nobody else can disturb.
void SignalingGateway::State::look_for_moves(AsIndex as, const std::array<PeerIndex, 256>& before) {
    if (at(as).settings.mode == TrafficMode::broadcast) return;
    AsView& v = view.servers.edit(as.value);
    std::vector<PeerIndex> from;
    for (unsigned sls = 0; sls < before.size(); ++sls) {
        const PeerIndex old = before[sls];
        if (old == kNoPeer || old == v.serving[sls]) continue;
        v.held[sls / 64] |= std::uint64_t{1} << (sls % 64);
        if (std::find(from.begin(), from.end(), old) == from.end()) from.push_back(old);
    }
    if (from.empty()) return;
    v.moving = true;
    ++at(as).moves_open;
    moves.push_back({as, std::move(from)});
}

void SignalingGateway::State::moved(AsIndex as) {
    if (at(as).moves_open == 0 || --at(as).moves_open > 0) return;
    AsView& v = view.servers.edit(as.value);
    v.moving = false;
    v.held = {};
    dirty = true;
}

bool SignalingGateway::State::is_consistent() const {
    for (std::size_t i = 0; i < servers.size(); ++i) {
        const Server& s = servers[i];
        const bool has_active = s.count(AspState::active) > 0;
        if (s.state == AsState::active && !has_active) return false;
        if (s.state == AsState::pending && has_active) return false;
        if ((s.state == AsState::pending) != (s.recovery_ends != kNever)) return false;
        if ((view.servers[i].serving[0] == kNoPeer) != (s.state != AsState::active)) return false;
    }
    for (const Peer& p : peers)
        if (p.up && !p.associated) return false;
    return true;
}

}  // namespace signalbox::sigtran
