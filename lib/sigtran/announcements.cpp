// SPDX-License-Identifier: Apache-2.0
// The other AS are told of destinations that come, go, or are congested (RFC 4666 4.5.1): in rounds
// and slices, so that neither a thousand AS nor a thousand ASPs make a turn long.
#include <algorithm>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

namespace {

/// Messages of one call: what a control turn may spend on telling.
constexpr std::size_t kAnnouncementsPerSlice = 512;
/// Destinations named before an ASPAC Ack; an ASP that needs to know more audits.
constexpr std::size_t kBeforeAckMax = 4 * kAffectedMax;

}  // namespace

DestinationStatus Server::status() const {
    if (state != AsState::active) return {};
    const bool too_few = settings.mode != TrafficMode::override_ &&
                         count(AspState::active) < settings.required_active;
    return {too_few ? Reach::restricted : Reach::available, congestion()};
}

Scope SignalingGateway::State::scope_of(AsIndex as) const {
    const AsSettings& s = at(as).settings;
    Scope scope{s.network_appearance, {}};
    if (s.routing_context) scope.routing_contexts.push_back(*s.routing_context);
    return scope;
}

void SignalingGateway::State::status_changed(AsIndex as) {
    ++epoch;
    if (!at(as).announcement_waits) to_announce.push_back(as);
    at(as).announcement_waits = true;
}

/// kNever when nothing waits.
Time SignalingGateway::State::announcement_due() const {
    if (round) return now;
    return to_announce.empty() ? kNever : announcements_paid - kAnnouncementBurst;
}

/// What changed since the last round. What came and went again in between is not told.
void SignalingGateway::State::begin_round() {
    Round fresh;
    for (const AsIndex as : to_announce) {
        Server& s = at(as);
        s.announcement_waits = false;
        // An AS that recovers within T(r) is not talked about.
        if (s.state == AsState::pending) continue;
        DestinationStatus before = s.announced;
        if (s.return_is_news) before.reach = Reach::unavailable;
        s.return_is_news = false;
        s.announced = s.status();
        if (before != s.announced)
            fresh.news[s.settings.instance].push_back({as, before, s.announced});
    }
    to_announce.clear();
    if (!fresh.news.empty()) round = std::move(fresh);
}

void SignalingGateway::State::announce_changes() {
    if (announcement_due() > now) return;
    if (!round) begin_round();
    std::size_t sent = 0;
    while (round && sent < kAnnouncementsPerSlice) {
        if (round->receiver == servers.size()) {
            round.reset();
            break;
        }
        sent += announce_to(AsIndex{static_cast<std::uint32_t>(round->receiver)},
                            kAnnouncementsPerSlice - sent);
    }
    announcements_paid =
        std::max(announcements_paid, now) + static_cast<std::int64_t>(sent) * kAnnouncementInterval;
}

/// The ASPs of one AS, from where the slice before stopped.
std::size_t SignalingGateway::State::announce_to(AsIndex receiver, std::size_t limit) {
    const Server& to = at(receiver);
    const auto news = round->news.find(to.settings.instance);
    std::size_t sent = 0;
    if (news != round->news.end() && to.state == AsState::active) {
        if (round->asp == 0) {
            round->statuses = {};
            for (const Round::Item& item : news->second)
                if (item.as != receiver)
                    for (const DestinationKey& key : at(item.as).settings.keys)
                        round->statuses.add_change({key.dpc.value, key.mask_bits}, item.before,
                                                   item.after);
        }
        const Scope scope = scope_of(receiver);
        while (!round->statuses.empty() && round->asp < to.asps.size() && sent < limit) {
            const AspInAs& asp = to.asps[round->asp++];
            if (asp.state == AspState::active && at(asp.peer).tells_destinations())
                sent += send_statuses(outbox, asp.peer, scope, round->statuses);
        }
        if (!round->statuses.empty() && round->asp < to.asps.size()) return sent;
    }
    ++round->receiver;
    round->asp = 0;
    return sent;
}

/// 4.3.4.3: what an ASP could not reach is said before its ASPAC Ack; the rest it may take as
/// available.
void SignalingGateway::State::tell_before_ack(PeerIndex peer, AsIndex as) {
    Statuses all;
    std::size_t room = kBeforeAckMax;
    for (const DestinationIndex::Entry& entry :
         destinations.of_instance(at(as).settings.instance)) {
        if (entry.as == as || room == 0) continue;
        const DestinationStatus status = audited_status(entry.as);
        if (status == DestinationStatus{Reach::available, 0}) continue;
        all.add(entry.destination, status);
        --room;
    }
    all.available.clear();
    send_statuses(outbox, peer, scope_of(as), all);
}

}  // namespace signalbox::sigtran
