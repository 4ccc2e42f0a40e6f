// SPDX-License-Identifier: Apache-2.0
#include "sigtran/statuses.h"

#include "sigtran/management_parameters.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::Message;
using wire::m3ua::Tag;

Builder Scope::begin(Message message) const {
    Builder b{message};
    if (network_appearance) b.u32(Tag::network_appearance, *network_appearance);
    b.u32_list(Tag::routing_context, routing_contexts);
    return b;
}

std::size_t send_list(Outbox& outbox, PeerIndex peer, const Scope& scope, Message message,
                      std::span<const std::uint32_t> affected, std::optional<std::uint32_t> level) {
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

std::size_t send_statuses(Outbox& outbox, PeerIndex peer, const Scope& scope, const Statuses& s) {
    std::size_t sent = send_list(outbox, peer, scope, Message::duna, s.unavailable);
    sent += send_list(outbox, peer, scope, Message::drst, s.restricted);
    for (const auto& [level, list] : s.congested)
        sent += send_list(outbox, peer, scope, Message::scon, list, level);
    return sent + send_list(outbox, peer, scope, Message::dava, s.available);
}

}  // namespace signalbox::sigtran
