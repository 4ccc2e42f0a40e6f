// SPDX-License-Identifier: Apache-2.0
#include "sigtran/transfer.h"

#include <algorithm>

#include "base/bytes.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

namespace {

using wire::m3ua::Tag;
using Octets = std::span<const std::uint8_t>;

constexpr std::uint8_t kServiceIndicatorMax = 15;  // 4 bits, ITU-T Q.704 14.2.1

/// The parameters of DATA (3.3.1) as they stand in the message.
struct DataParameters {
    std::optional<Octets> network_appearance;
    std::optional<Octets> routing_context;
    std::optional<Octets> protocol_data;
};

// Results are filled in where the caller wants them: they are made for each message, and a copy of
// what was just written in parts waits for the parts.

bool parse_parameters(Octets bytes, DataParameters& p) {
    wire::ParameterWalker walker{bytes};
    for (std::size_t n = 0;; ++n) {
        const auto parameter = walker.next();
        if (!parameter) break;
        if (n == wire::m3ua::kParametersMax) return false;
        std::optional<Octets>* slot = nullptr;
        switch (static_cast<Tag>(parameter->type)) {
            case Tag::network_appearance:
                slot = &p.network_appearance;
                break;
            case Tag::routing_context:
                slot = &p.routing_context;
                break;
            case Tag::protocol_data:
                slot = &p.protocol_data;
                break;
            default:
                continue;  // what is not known is ignored
        }
        if (slot->has_value()) return false;  // twice: which one is meant?
        slot->emplace(parameter->value.data(), parameter->value.size());
    }
    return !walker.malformed();
}

std::optional<Drop> judge_lengths(const DataParameters& p) {
    if (p.network_appearance && p.network_appearance->size() != 4) return Drop::m3ua_malformed;
    if (!p.routing_context) return std::nullopt;
    const std::size_t bytes = p.routing_context->size();
    if (bytes == 4) return std::nullopt;
    // A list is a routing context error (exactly one is allowed), anything else is not a list.
    return bytes > 4 && bytes % 4 == 0 ? Drop::m3ua_bad_routing_context : Drop::m3ua_malformed;
}

/// Which of the peer's AS the message belongs to. Routing contexts are unique per network
/// appearance only.
const Membership* find_membership(const Distribution& d, const PeerView& peer,
                                  const DataParameters& p, Drop& why) {
    std::optional<std::uint32_t> context;
    std::optional<std::uint32_t> appearance;
    if (p.routing_context) context = load_be32(p.routing_context->data());
    if (p.network_appearance) appearance = load_be32(p.network_appearance->data());

    const Membership* found = nullptr;
    std::size_t same_context = 0;
    std::size_t same_both = 0;
    // With a single AS the routing context may be left out (3.3.1).
    const bool any_context = !context && peer.memberships.size() == 1;
    for (const Membership& m : peer.memberships) {
        if (!any_context && m.routing_context != context) continue;
        ++same_context;
        if (appearance && d.servers[m.as.value].network_appearance != appearance) continue;
        ++same_both;
        found = &m;
    }
    if (same_both == 1) return found;
    if (same_both > 1)
        why = Drop::m3ua_missing_parameter;  // only the network appearance could tell
    else if (same_context > 0)
        why = Drop::m3ua_bad_network_appearance;
    else
        why = context ? Drop::m3ua_bad_routing_context : Drop::m3ua_missing_parameter;
    return nullptr;
}

bool parse_protocol_data(Octets value, ProtocolData& data) {
    const auto r = FixedReader<wire::m3ua::kRoutingLabelBytes>::over(value);
    if (!r || r->u8<8>() > kServiceIndicatorMax) return false;
    data.opc = PointCode{r->u32<0>()};
    data.dpc = PointCode{r->u32<4>()};
    data.si = r->u8<8>();
    data.ni = r->u8<9>();
    data.mp = r->u8<10>();
    data.sls = Sls{r->u8<11>()};
    data.user_data = r->rest();
    return true;
}

/// nullopt: `out` is filled in; else why not.
std::optional<Drop> judge(const Distribution& d, PeerIndex peer_index, const Quirks& quirks,
                          StreamId stream, Octets message, Accepted& out) {
    const auto header = wire::m3ua::parse_header(message);
    if (!header || header->version != wire::m3ua::kVersion) return Drop::m3ua_malformed;
    if (header->message() != wire::m3ua::Message::data) return Drop::m3ua_unexpected;
    const auto bytes = wire::m3ua::parameters_of(message, *header);
    if (!bytes) return Drop::m3ua_malformed;

    if (peer_index.value >= d.peers.size()) return Drop::m3ua_unexpected;
    const PeerView& peer = d.peers[peer_index.value];
    const auto is_active = [](const Membership& m) { return m.state == AspState::active; };
    if (!std::any_of(peer.memberships.begin(), peer.memberships.end(), is_active))
        return Drop::m3ua_unexpected;
    if (stream.value == 0 && !quirks.data_on_stream_0) return Drop::m3ua_stream_zero;

    DataParameters parameters;
    if (!parse_parameters(*bytes, parameters)) return Drop::m3ua_malformed;
    if (const auto bad = judge_lengths(parameters)) return bad;
    Drop why{};
    const Membership* membership = find_membership(d, peer, parameters, why);
    if (membership == nullptr) return why;
    if (membership->state != AspState::active) return Drop::m3ua_unexpected;

    if (!parameters.protocol_data) return Drop::m3ua_missing_parameter;
    if (!parse_protocol_data(*parameters.protocol_data, out.data)) return Drop::m3ua_malformed;
    out.from_as = membership->as;
    return std::nullopt;
}

}  // namespace

std::optional<Accepted> accept_data(const Distribution& d, PeerIndex peer, const Quirks& quirks,
                                    StreamId stream, std::span<const std::uint8_t> message,
                                    Drop& why) {
    std::optional<Accepted> accepted(std::in_place);
    if (const auto refused = judge(d, peer, quirks, stream, message, *accepted)) {
        why = *refused;
        accepted.reset();
    }
    return accepted;
}

std::optional<Accepted> reclaim_data(const Distribution& d, PeerIndex to,
                                     std::span<const std::uint8_t> message) {
    const auto header = wire::m3ua::parse_header(message);
    if (!header || header->message() != wire::m3ua::Message::data || to.value >= d.peers.size())
        return std::nullopt;
    const auto bytes = wire::m3ua::parameters_of(message, *header);
    DataParameters parameters;
    if (!bytes || !parse_parameters(*bytes, parameters) || judge_lengths(parameters) ||
        !parameters.protocol_data)
        return std::nullopt;
    Drop why{};
    const Membership* membership = find_membership(d, d.peers[to.value], parameters, why);
    Accepted reclaimed;
    if (membership == nullptr || !parse_protocol_data(*parameters.protocol_data, reclaimed.data))
        return std::nullopt;
    reclaimed.from_as = membership->as;
    return reclaimed;
}

DataHeader encode_data_header(const AsView& to, const ProtocolData& data,
                              const std::optional<std::uint32_t>& correlation_id) {
    DataHeader h;
    h.trailer_bytes = {};
    std::uint8_t* p = h.bytes.data() + wire::m3ua::kHeaderBytes;
    const auto parameter = [&p](Tag tag, std::size_t length) {
        store_be16(p, static_cast<std::uint16_t>(tag));
        store_be16(p + 2, static_cast<std::uint16_t>(length));
        p += wire::kTlvHeader;
    };
    const auto number = [&](Tag tag, std::uint32_t value) {
        parameter(tag, 8);
        store_be32(p, value);
        p += 4;
    };
    if (to.network_appearance) number(Tag::network_appearance, *to.network_appearance);
    if (to.routing_context) number(Tag::routing_context, *to.routing_context);
    parameter(Tag::protocol_data,
              wire::kTlvHeader + wire::m3ua::kRoutingLabelBytes + data.user_data.size());
    store_be32(p, data.opc.value);
    store_be32(p + 4, data.dpc.value);
    p[8] = data.si;
    p[9] = data.ni;
    p[10] = data.mp;
    p[11] = data.sls.value;
    p += wire::m3ua::kRoutingLabelBytes;

    h.length = static_cast<std::size_t>(p - h.bytes.data());
    h.trailer_length = (4 - data.user_data.size() % 4) % 4;
    if (correlation_id) {
        p = h.trailer_bytes.data() + h.trailer_length;
        number(Tag::correlation_id, *correlation_id);
        h.trailer_length += 8;
    }
    h.bytes[0] = wire::m3ua::kVersion;
    h.bytes[1] = 0;
    h.bytes[2] = kDataKind.message_class;
    h.bytes[3] = kDataKind.message_type;
    store_be32(h.bytes.data() + 4,
               static_cast<std::uint32_t>(h.length + data.user_data.size() + h.trailer_length));
    return h;
}

}  // namespace signalbox::sigtran
