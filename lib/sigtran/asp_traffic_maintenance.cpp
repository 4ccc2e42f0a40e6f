// SPDX-License-Identifier: Apache-2.0
// ASPTM: ASPAC and ASPIA (RFC 4666 3.7, 4.3.4.3, 4.3.4.4).
#include <algorithm>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::ErrorCode;
using wire::m3ua::Message;
using wire::m3ua::Tag;

namespace {

constexpr std::uint32_t kTrafficModeMin = 1;
constexpr std::uint32_t kTrafficModeMax = 3;

}  // namespace

/// The AS that the message names; all of the peer's when it names none.
SignalingGateway::State::Selection SignalingGateway::State::select(const Request& rq) const {
    const std::vector<AsIndex>& all = at(rq.peer).servers;
    if (!rq.parameters.routing_contexts) return {all, {}};
    Selection result;
    for (const std::uint32_t rc : *rq.parameters.routing_contexts) {
        const std::size_t before = result.served.size();
        for (const AsIndex as : all)
            if (at(as).settings.routing_context == rc) result.served.push_back(as);
        if (result.served.size() == before) result.not_served.push_back(rc);
    }
    return result;
}

/// One acknowledgement for all AS of the same traffic mode; an AS without routing context has its
/// own.
void SignalingGateway::State::acknowledge(Message ack, PeerIndex peer,
                                          std::span<const AsIndex> served) {
    const bool with_mode = ack == Message::aspac_ack;
    struct Group {
        TrafficMode mode;
        bool has_context;
        std::vector<std::uint32_t> contexts;
    };
    std::vector<Group> groups;
    for (const AsIndex as : served) {
        const AsSettings& s = at(as).settings;
        const auto fits = [&](const Group& g) {
            return g.has_context == s.routing_context.has_value() &&
                   (!with_mode || g.mode == s.mode) && g.contexts.size() < kRoutingContextsMax;
        };
        auto group = std::find_if(groups.begin(), groups.end(), fits);
        if (group == groups.end())
            group = groups.insert(groups.end(), {s.mode, s.routing_context.has_value(), {}});
        if (s.routing_context) group->contexts.push_back(*s.routing_context);
    }
    for (const Group& g : groups) {
        Builder b{ack};
        if (with_mode) b.u32(Tag::traffic_mode, static_cast<std::uint32_t>(g.mode));
        outbox.send(peer, b.u32_list(Tag::routing_context, g.contexts).finish());
    }
}

void SignalingGateway::State::on_aspac(const Request& rq) {
    if (!at(rq.peer).up) return refuse(rq, ErrorCode::unexpected_message);
    const auto& mode = rq.parameters.traffic_mode;
    if (mode && (*mode < kTrafficModeMin || *mode > kTrafficModeMax))
        return refuse(rq, ErrorCode::unsupported_traffic_mode);
    const Selection selection = select(rq);
    if (selection.served.empty() && selection.not_served.empty())
        return refuse(rq, ErrorCode::invalid_routing_context);

    std::vector<AsIndex> good;
    std::vector<std::uint32_t> conflicting;
    bool has_conflict = false;
    for (const AsIndex as : selection.served) {
        const AsSettings& s = at(as).settings;
        if (!mode || static_cast<TrafficMode>(*mode) == s.mode) {
            good.push_back(as);
            continue;
        }
        has_conflict = true;
        if (s.routing_context) conflicting.push_back(*s.routing_context);
    }
    std::vector<AsIndex> fresh;
    for (const AsIndex as : good) {
        if (asp_state(as, rq.peer) != AspState::active) fresh.push_back(as);
        activate(as, rq.peer);
    }
    for (const AsIndex as : fresh) tell_before_ack(rq.peer, as);
    acknowledge(Message::aspac_ack, rq.peer, good);
    if (has_conflict) refuse(rq, ErrorCode::unsupported_traffic_mode, {conflicting});
    if (selection.not_served.empty()) return;
    const bool etsi = at(rq.peer).settings.quirks.etsi_rc_error;
    refuse(rq, etsi ? ErrorCode::invalid_routing_context : ErrorCode::no_configured_as,
           {selection.not_served});
}

void SignalingGateway::State::activate(AsIndex as, PeerIndex peer) {
    if (asp_state(as, peer) == AspState::active)
        return;  // acknowledged again, nobody is told again
    if (at(as).settings.mode == TrafficMode::override_) displace_others(as, peer);
    set_asp_state(as, peer, AspEvent::active);
    reconsider(as);
    if (at(as).state == AsState::active) notify_state(peer, as);
}

/// Override: the newest one serves alone (4.3.4.3), and the one before it learns by whom it was
/// replaced.
void SignalingGateway::State::displace_others(AsIndex as, PeerIndex by) {
    for (const AspInAs& other : at(as).asps) {
        if (other.state != AspState::active) continue;
        set_asp_state(as, other.peer, AspEvent::inactive);
        notify(other.peer, as, wire::m3ua::kAlternateAspActive, at(by).asp_id());
    }
}

void SignalingGateway::State::on_aspia(const Request& rq) {
    if (!at(rq.peer).up) return refuse(rq, ErrorCode::unexpected_message);
    const Selection selection = select(rq);
    if (selection.served.empty() && selection.not_served.empty())
        return refuse(rq, ErrorCode::no_configured_as);
    for (const AsIndex as : selection.served) {
        if (asp_state(as, rq.peer) != AspState::active) continue;
        set_asp_state(as, rq.peer, AspEvent::inactive);
        reconsider(as);
    }
    acknowledge(Message::aspia_ack, rq.peer, selection.served);
    if (!selection.not_served.empty())
        refuse(rq, ErrorCode::invalid_routing_context, {selection.not_served});
}

}  // namespace signalbox::sigtran
