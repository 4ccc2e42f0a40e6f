// SPDX-License-Identifier: Apache-2.0
// Questions about destinations: DAUD (RFC 4666 3.4.3), and DATA that could not be delivered, which
// asks without a word.
#include <algorithm>

#include "sigtran/gateway_state.h"
#include "sigtran/transfer.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::ErrorCode;
using wire::m3ua::Message;
using wire::m3ua::Tag;

namespace {

constexpr std::uint32_t kUnequippedRemoteUser = 1;  // cause of DUPU, 3.4.5
/// Keys inside one audited range that are answered one by one, because they differ from the rest of
/// the range.
constexpr std::size_t kExceptionsMax = 64;

}  // namespace

DestinationStatus SignalingGateway::State::audited_status(AsIndex as) {
    // A point code that nobody serves is unavailable (sigtran.md 2.9).
    if (as == kNoAs) return {};
    Server& s = at(as);
    // Whoever was told "unavailable" while the AS only recovers must hear of its return, though
    // the others were told nothing.
    if (s.state == AsState::pending && s.announced.reach != Reach::unavailable)
        s.return_is_news = true;
    return s.status();
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
    Statuses asked;
    Statuses exceptions;  // said after their range
    std::size_t exceptions_left = kExceptionsMax;
    for (const std::uint32_t affected : *rq.parameters.affected) {
        const auto d = Destination::from_wire(affected);
        if (!may_answer(rq.peer, std::uint64_t{instance} << 32 | d.to_wire())) continue;
        const DestinationStatus whole = audited_status(destinations.covering(instance, d));
        asked.add(d, whole);
        for (const auto& entry : destinations.inside(instance, d, exceptions_left)) {
            const DestinationStatus part = audited_status(entry.as);
            if (part == whole) continue;
            exceptions.add(entry.destination, part);
            --exceptions_left;
        }
    }
    send_statuses(outbox, rq.peer, scope, asked);
    send_statuses(outbox, rq.peer, scope, exceptions);
}

/// An audit is cheap to send and dear to answer: the same answer is not given twice within an
/// interval, and no peer gets more than kAuditMemory answers in one.
bool SignalingGateway::State::may_answer(PeerIndex peer, std::uint64_t question) {
    std::vector<AuditAnswer>& answered = at(peer).answered;
    const auto is_old = [this](const AuditAnswer& a) { return a.when + kAuditInterval <= now; };
    // Oldest first: what is old stands at the front.
    answered.erase(answered.begin(), std::find_if_not(answered.begin(), answered.end(), is_old));
    const auto same = [&](const AuditAnswer& a) {
        return a.question == question && a.epoch == epoch;
    };
    if (answered.size() >= kAuditMemory || std::any_of(answered.begin(), answered.end(), same)) {
        counters.drop(Drop::audit_limited);
        return false;
    }
    answered.push_back({question, epoch, now});
    return true;
}

/// 3.4.1: DUNA also answers a message to a destination that cannot be reached; 3.4.4: SCON one that
/// was discarded in congestion; 3.4.5: DUPU one to a user that is not.
void SignalingGateway::State::answer_undeliverable(const Request& rq, Drop why) {
    const bool no_user = why == Drop::mtp3_local_user;
    const bool congested = why == Drop::peer_congested || why == Drop::as_pending_full ||
                           why == Drop::peer_rate_limited;
    if (!no_user && !congested && why != Drop::mtp3_no_route && why != Drop::as_unavailable) return;
    Drop ignored{};
    const auto accepted =
        accept_data(view, rq.peer, at(rq.peer).settings.quirks, rq.stream, rq.message, ignored);
    if (!accepted) return;
    const AsSettings& from = at(accepted->from_as).settings;
    const auto affected = Destination::from_wire(accepted->data.dpc.value & 0xffffff).to_wire();
    const std::uint64_t kind = congested ? 0x100
                               : no_user ? 1 + std::uint64_t{accepted->data.si}
                                         : 0;
    if (!may_answer(rq.peer, kind << 48 | std::uint64_t{from.instance} << 32 | affected)) return;

    const Scope scope = scope_of(accepted->from_as);
    Builder b = scope.begin(congested ? Message::scon : no_user ? Message::dupu : Message::duna);
    b.u32(Tag::affected_point_code, affected);
    if (no_user) b.u32(Tag::user_cause, kUnequippedRemoteUser << 16 | accepted->data.si);
    if (congested) b.u32(Tag::congestion, kCongestionLevelMax);
    outbox.send(rq.peer, b.finish());
}

}  // namespace signalbox::sigtran
