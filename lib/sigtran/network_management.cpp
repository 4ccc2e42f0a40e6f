// SPDX-License-Identifier: Apache-2.0
// SSNM (RFC 4666 3.4, 4.5): audits answered, congestion of ASPs noted, and the other AS told of
// those that come and go.
#include <algorithm>
#include <map>

#include "sigtran/gateway_state.h"
#include "sigtran/transfer.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::ErrorCode;
using wire::m3ua::Message;
using wire::m3ua::Tag;

namespace {

constexpr std::uint32_t kCongestionLevelMax = 3;  // 3.4.4
/// SCON without an indication says "congested" where the network has no levels (3.4.4).
constexpr std::uint32_t kCongestedWithoutLevel = 1;
constexpr std::uint32_t kUnequippedRemoteUser = 1;  // cause of DUPU, 3.4.5
/// Keys inside one audited range that are answered one by one, because they differ from the rest of
/// the range.
constexpr std::size_t kExceptionsMax = 64;

/// What is to be said about several destinations, by kind of message.
struct Statuses {
    std::vector<std::uint32_t> unavailable;
    std::map<std::uint32_t, std::vector<std::uint32_t>> congested;  // by level
    std::vector<std::uint32_t> available;

    void add(Destination d, bool is_available, std::uint32_t congestion) {
        (is_available ? available : unavailable).push_back(d.to_wire());
        if (is_available && congestion > 0) congested[congestion].push_back(d.to_wire());
    }
};

/// What changed in one instance.
struct News {
    std::vector<AsIndex> servers;
    std::vector<std::uint32_t> unavailable;
    std::vector<std::uint32_t> available;

    void add(AsIndex as, const Server& s) {
        servers.push_back(as);
        for (const DestinationKey& key : s.settings.keys)
            (s.announced_available ? available : unavailable)
                .push_back(Destination{key.dpc.value, key.mask_bits}.to_wire());
    }
    bool concerns(AsIndex as) const {
        return std::find(servers.begin(), servers.end(), as) != servers.end();
    }
};

/// Which network and AS the SSNM speaks of.
struct Scope {
    std::optional<std::uint32_t> network_appearance;
    std::vector<std::uint32_t> routing_contexts;

    Builder begin(Message message) const {
        Builder b{message};
        if (network_appearance) b.u32(Tag::network_appearance, *network_appearance);
        b.u32_list(Tag::routing_context, routing_contexts);
        return b;
    }
};

std::size_t send_list(Outbox& outbox, PeerIndex peer, const Scope& scope, Message message,
                      std::span<const std::uint32_t> affected,
                      std::optional<std::uint32_t> level = {}) {
    std::size_t sent = 0;
    for (; !affected.empty(); ++sent) {
        const auto part = affected.first(std::min(affected.size(), kAffectedMax));
        affected = affected.subspan(part.size());
        Builder b = scope.begin(message);
        b.u32_list(Tag::affected_point_code, part);
        if (level) b.u32(Tag::congestion, *level);
        outbox.send(peer, b.finish());
    }
    return sent;
}

/// A congested destination is reachable: SCON, then DAVA (3.4.3).
void send_statuses(Outbox& outbox, PeerIndex peer, const Scope& scope, const Statuses& s) {
    send_list(outbox, peer, scope, Message::duna, s.unavailable);
    for (const auto& [level, list] : s.congested)
        send_list(outbox, peer, scope, Message::scon, list, level);
    send_list(outbox, peer, scope, Message::dava, s.available);
}

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

void SignalingGateway::State::on_daud(const Request& rq) {
    const std::vector<AsIndex> usable = select_for_ssnm(rq);
    if (usable.empty()) return;
    if (!rq.parameters.affected) return refuse(rq, ErrorCode::missing_parameter);

    Scope scope{rq.parameters.network_appearance, {}};
    if (rq.parameters.routing_contexts)
        for (const AsIndex as : usable)
            scope.routing_contexts.push_back(*at(as).settings.routing_context);
    const std::uint16_t instance = at(usable.front()).settings.instance;
    const auto status = [this](AsIndex as) {
        return as == kNoAs ? std::pair{false, 0u}
                           : std::pair{at(as).is_available(), at(as).congestion()};
    };
    Statuses asked;
    Statuses exceptions;  // said after their range
    std::size_t exceptions_left = kExceptionsMax;
    for (const std::uint32_t affected : *rq.parameters.affected) {
        const auto d = Destination::from_wire(affected);
        if (!may_answer(rq.peer, std::uint64_t{instance} << 32 | d.to_wire())) continue;
        // A point code that nobody serves is unavailable (sigtran.md 2.9).
        const auto whole = status(destinations.covering(instance, d));
        asked.add(d, whole.first, whole.second);
        for (const auto& entry : destinations.inside(instance, d, exceptions_left)) {
            const auto part = status(entry.as);
            if (part == whole) continue;
            exceptions.add(entry.destination, part.first, part.second);
            --exceptions_left;
        }
    }
    send_statuses(outbox, rq.peer, scope, asked);
    send_statuses(outbox, rq.peer, scope, exceptions);
}

/// 3.4.4 from an ASP: its own congestion. The gateway's routes stay as they are.
void SignalingGateway::State::on_scon(const Request& rq) {
    const std::vector<AsIndex> usable = select_for_ssnm(rq);
    if (usable.empty()) return;
    if (!rq.parameters.affected) return refuse(rq, ErrorCode::missing_parameter);
    // The level is the last octet, the rest is reserved.
    const std::uint32_t level = rq.parameters.congestion.value_or(kCongestedWithoutLevel) & 0xff;
    if (level > kCongestionLevelMax) return refuse(rq, ErrorCode::parameter_field_error);
    for (const AsIndex as : usable)
        for (AspInAs& asp : at(as).asps)
            if (asp.peer == rq.peer && asp.congestion != level) {
                asp.congestion = level;
                ++epoch;
            }
}

/// An audit is cheap to send and dear to answer: the same answer is not given twice within an
/// interval, and no peer gets more than kAuditMemory answers in one.
bool SignalingGateway::State::may_answer(PeerIndex peer, std::uint64_t question) {
    std::vector<AuditAnswer>& answered = at(peer).answered;
    const auto is_old = [this](const AuditAnswer& a) { return a.when + kAuditInterval <= now; };
    answered.erase(std::remove_if(answered.begin(), answered.end(), is_old), answered.end());
    const auto same = [&](const AuditAnswer& a) {
        return a.question == question && a.epoch == epoch;
    };
    if (answered.size() >= kAuditMemory || std::any_of(answered.begin(), answered.end(), same)) {
        counters.drop(Drop::m3ua_unexpected);
        return false;
    }
    answered.push_back({question, epoch, now});
    return true;
}

/// 3.4.1: DUNA also answers a message to a destination that cannot be reached; 3.4.5: DUPU one to a
/// user that is not.
void SignalingGateway::State::answer_undeliverable(const Request& rq, Drop why) {
    const bool no_user = why == Drop::mtp3_local_user;
    if (!no_user && why != Drop::mtp3_no_route && why != Drop::as_unavailable) return;
    Drop ignored{};
    const auto accepted =
        accept_data(view, rq.peer, at(rq.peer).settings.quirks, rq.stream, rq.message, ignored);
    if (!accepted) return;
    const AsSettings& from = at(accepted->from_as).settings;
    const auto affected = Destination::from_wire(accepted->data.dpc.value & 0xffffff).to_wire();
    const std::uint64_t kind = no_user ? 1 + std::uint64_t{accepted->data.si} : 0;
    if (!may_answer(rq.peer, kind << 48 | std::uint64_t{from.instance} << 32 | affected)) return;

    Scope scope{from.network_appearance, {}};
    if (from.routing_context) scope.routing_contexts.push_back(*from.routing_context);
    Builder b = scope.begin(no_user ? Message::dupu : Message::duna);
    b.u32(Tag::affected_point_code, affected);
    if (no_user) b.u32(Tag::user_cause, kUnequippedRemoteUser << 16 | accepted->data.si);
    outbox.send(rq.peer, b.finish());
}

/// kNever when nothing waits.
Time SignalingGateway::State::announcement_due() const {
    return to_announce.empty() ? kNever : announcements_paid - kAnnouncementBurst;
}

/// Everything that came or went since the last call, to every ASP that is active in another AS of
/// the instance. What came and went again in between is not told.
void SignalingGateway::State::announce_changes() {
    if (announcement_due() > now) return;
    std::map<std::uint16_t, News> by_instance;
    for (const AsIndex as : to_announce) {
        Server& s = at(as);
        s.announcement_waits = false;
        if (s.is_available() == s.announced_available) continue;
        s.announced_available = s.is_available();
        by_instance[s.settings.instance].add(as, s);
    }
    to_announce.clear();
    std::size_t sent = 0;
    for (const auto& [instance, news] : by_instance)
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (servers[i].settings.instance != instance) continue;
            const AsIndex receiver{static_cast<std::uint32_t>(i)};
            if (!news.concerns(receiver)) {
                sent += announce_to(receiver, news.unavailable, news.available);
                continue;
            }
            News others;
            for (const AsIndex as : news.servers)
                if (as != receiver) others.add(as, at(as));
            sent += announce_to(receiver, others.unavailable, others.available);
        }
    announcements_paid =
        std::max(announcements_paid, now) + static_cast<std::int64_t>(sent) * kAnnouncementInterval;
}

std::size_t SignalingGateway::State::announce_to(AsIndex receiver,
                                                 std::span<const std::uint32_t> unavailable,
                                                 std::span<const std::uint32_t> available) {
    const AsSettings& s = at(receiver).settings;
    Scope scope{s.network_appearance, {}};
    if (s.routing_context) scope.routing_contexts.push_back(*s.routing_context);
    std::size_t sent = 0;
    for (const AspInAs& asp : at(receiver).asps) {
        if (asp.state != AspState::active) continue;
        sent += send_list(outbox, asp.peer, scope, Message::duna, unavailable);
        sent += send_list(outbox, asp.peer, scope, Message::dava, available);
    }
    return sent;
}

}  // namespace signalbox::sigtran
