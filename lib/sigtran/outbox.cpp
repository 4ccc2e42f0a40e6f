// SPDX-License-Identifier: Apache-2.0
#include "sigtran/outbox.h"

#include <algorithm>
#include <utility>

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::Message;
using wire::m3ua::Status;
using wire::m3ua::Tag;

namespace {
constexpr std::size_t kContextsPerMessage = 256;  // what we accept ourselves; 1 KiB
}

void Outbox::send(PeerIndex peer, std::vector<std::uint8_t> message) {
    messages_.push_back({peer, StreamId{0}, std::move(message)});
}

void Outbox::notify(PeerIndex peer, Status status, std::optional<std::uint32_t> asp_identifier,
                    std::optional<std::uint32_t> routing_context) {
    const auto same = [&](const Notice& n) {
        return n.peer == peer && n.status == status && n.asp_identifier == asp_identifier &&
               n.routing_contexts.empty() == !routing_context.has_value() &&
               n.routing_contexts.size() < kContextsPerMessage;
    };
    auto found = std::find_if(notices_.begin(), notices_.end(), same);
    if (found == notices_.end()) {
        notices_.push_back({peer, status, asp_identifier, {}});
        found = notices_.end() - 1;
    }
    if (!routing_context) return;
    auto& contexts = found->routing_contexts;
    if (std::find(contexts.begin(), contexts.end(), *routing_context) == contexts.end())
        contexts.push_back(*routing_context);
}

void Outbox::settle() {
    for (const Notice& n : notices_) {
        Builder b{Message::ntfy};
        b.u32(Tag::status, std::uint32_t{n.status.type} << 16 | n.status.information);
        if (n.asp_identifier) b.u32(Tag::asp_identifier, *n.asp_identifier);
        b.u32_list(Tag::routing_context, n.routing_contexts);
        send(n.peer, b.finish());
    }
    notices_.clear();
}

std::vector<Outgoing> Outbox::take() {
    return std::exchange(messages_, {});
}

}  // namespace signalbox::sigtran
