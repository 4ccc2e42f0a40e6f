// SPDX-License-Identifier: Apache-2.0
// SSNM that ASPs send (RFC 4666 3.4, 4.5), and the congestion that it or our own send queues show.
#include <algorithm>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::ErrorCode;

namespace {

/// SCON without an indication says "congested" where the network has no levels (3.4.4).
constexpr std::uint32_t kCongestedWithoutLevel = 1;

}  // namespace

std::vector<AsIndex> SignalingGateway::State::select_for_ssnm(const Request& rq) {
    const Selection selection = select(rq);
    std::vector<AsIndex> usable;
    bool appearance_fits = !rq.parameters.network_appearance;
    for (const AsIndex as : selection.served) {
        const AspState state = asp_state(as, rq.peer);
        const bool tolerated =
            state == AspState::inactive && at(rq.peer).settings.quirks.snm_in_inactive;
        if (state != AspState::active && !tolerated) continue;
        usable.push_back(as);
        if (at(as).settings.network_appearance == rq.parameters.network_appearance)
            appearance_fits = true;
    }
    if (!has_state(rq.peer, AspState::active) && usable.empty()) {
        refuse(rq, ErrorCode::unexpected_message);
        return {};
    }
    if (!selection.not_served.empty())
        refuse(rq, ErrorCode::invalid_routing_context, {selection.not_served});
    else if (usable.empty())
        refuse(rq, ErrorCode::unexpected_message);
    if (usable.empty()) return {};
    if (!appearance_fits) {
        refuse(rq, ErrorCode::invalid_network_appearance, {{}, rq.parameters.network_appearance});
        return {};
    }
    return usable;
}

/// 3.4.4 from an ASP: its own congestion. The gateway's routes stay as they are; the other AS learn
/// of it when no ASP is left that is not congested.
void SignalingGateway::State::on_scon(const Request& rq) {
    const std::vector<AsIndex> usable = select_for_ssnm(rq);
    if (usable.empty()) return;
    if (!rq.parameters.affected) return refuse(rq, ErrorCode::missing_parameter);
    // The level is the last octet, the rest is reserved.
    const std::uint32_t level = rq.parameters.congestion.value_or(kCongestedWithoutLevel) & 0xff;
    if (level > kCongestionLevelMax) return refuse(rq, ErrorCode::parameter_field_error);
    for (const AsIndex as : usable)
        for (AspInAs& asp : at(as).asps)
            if (asp.peer == rq.peer && asp.said_congestion != level) {
                asp.said_congestion = level;
                status_changed(as);
            }
    if (rq.parameters.concerned) pass_on_congestion(rq, usable, level);
}

/// 3.4.4: the Concerned Destination is whose messages met the congestion; it is told, as a TFC
/// would tell it, about point codes of the AS that speaks.
void SignalingGateway::State::pass_on_congestion(const Request& rq, std::span<const AsIndex> from,
                                                 std::uint32_t level) {
    const std::uint16_t instance = at(from.front()).settings.instance;
    const auto whose = Destination::from_wire(*rq.parameters.concerned & 0xffffff);
    const AsIndex to = destinations.covering(instance, whose);
    if (to == kNoAs || std::find(from.begin(), from.end(), to) != from.end()) return;
    std::vector<std::uint32_t> congested;
    for (const std::uint32_t affected : *rq.parameters.affected) {
        const auto d = Destination::from_wire(affected);
        const AsIndex as = destinations.covering(instance, d);
        if (std::find(from.begin(), from.end(), as) != from.end()) congested.push_back(d.to_wire());
    }
    if (congested.empty()) return;
    for (const AspInAs& asp : at(to).asps)
        if (asp.state == AspState::active)
            send_list(outbox, asp.peer, scope_of(to), wire::m3ua::Message::scon, congested, level);
}

void SignalingGateway::State::send_queue_level(PeerIndex peer, std::uint32_t level) {
    for (const AsIndex as : at(peer).servers)
        for (AspInAs& asp : at(as).asps)
            if (asp.peer == peer && asp.queue_congestion != level) {
                asp.queue_congestion = level;
                status_changed(as);
            }
}

}  // namespace signalbox::sigtran
