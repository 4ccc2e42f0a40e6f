// SPDX-License-Identifier: Apache-2.0
#include "sctp/init_parameters.h"

#include <algorithm>

namespace signalbox::sctp {

namespace {

using wire::ParameterType;

/// PKT-8: may this listed address stand for the peer that wrote from `source`?
bool in_scope(const Environment& env, const IpAddress& address, const IpAddress& source) {
    if (!address.is_usable_unicast()) return false;
    if (address.is_loopback() && !source.is_loopback()) return false;
    if (address.is_link_local() && !source.is_link_local()) return false;
    bool family = false;  // an address that we have no address to talk to from is of no use (H05)
    for (const IpAddress& local : env.local_addresses) {
        if (local == address) return false;
        family |= local.is_v4() == address.is_v4();
    }
    return family;
}

bool is_known(std::uint16_t type) {
    switch (static_cast<ParameterType>(type)) {
        case ParameterType::ipv4_address:
        case ParameterType::ipv6_address:
        case ParameterType::state_cookie:
        case ParameterType::unrecognized_parameter:
        case ParameterType::cookie_preservative:
        case ParameterType::host_name_address:
        case ParameterType::supported_address_types:
        case ParameterType::supported_extensions:
        case ParameterType::forward_tsn_supported:
            return true;
        default:
            return false;
    }
}

std::size_t ip_header_bytes(const IpAddress& address) {
    return address.is_v4() ? 20 : 40;
}

void report_unrecognized(const Packet& packet, const wire::Init& init, wire::PacketWriter& out) {
    constexpr std::size_t kMaxAmplification = 3;  // HS-2, by IP length
    const std::size_t header = ip_header_bytes(packet.source);
    const std::size_t limit =
        kMaxAmplification * (header + wire::SctpHeader::kBytes + packet.chunks.size()) - header;
    wire::ParameterWalker walker{init.parameters};
    while (const auto parameter = walker.next()) {
        if (is_known(parameter->type)) continue;
        const wire::UnknownAction action = wire::unknown_parameter_action(parameter->type);
        const std::size_t bytes = wire::padded_to_4(parameter->raw.size()) + wire::kTlvHeader;
        if (action.report && out.size() + bytes + 3 <= limit && bytes + 3 <= out.room())
            wire::write_unrecognized(out, *parameter);
        if (action.stop) return;
    }
}

}  // namespace

bool InitParameters::lists(const IpAddress& address) const {
    const auto all = list();
    return std::find(all.begin(), all.end(), address) != all.end();
}

InitParameters read_init_parameters(const Environment& env, wire::Bytes parameters,
                                    const IpAddress& source) {
    InitParameters result;
    result.addresses[result.address_count++] = source;
    if (!wire::parameters_well_formed(parameters)) {
        result.verdict = InitVerdict::malformed;
        return result;
    }
    result.extensions = read_extensions(parameters);
    wire::ParameterWalker walker{parameters};
    while (const auto parameter = walker.next()) {
        switch (static_cast<ParameterType>(parameter->type)) {
            case ParameterType::ipv4_address:
            case ParameterType::ipv6_address: {
                const auto address = wire::parse_address(*parameter);
                if (!address || !in_scope(env, *address, source) || result.lists(*address)) break;
                if (result.address_count == result.addresses.size()) {
                    result.verdict = InitVerdict::too_many_addresses;
                    return result;
                }
                result.addresses[result.address_count++] = *address;
                break;
            }
            case ParameterType::state_cookie:
                if (result.cookie.empty()) result.cookie = parameter->value;
                break;
            case ParameterType::host_name_address:
                result.verdict = InitVerdict::host_name;
                result.host_name = parameter->raw;
                return result;
            case ParameterType::cookie_preservative:
                result.preservative_ms =
                    wire::parse_cookie_preservative_ms(parameter->value).value_or(0);
                break;
            default:
                if (!is_known(parameter->type) &&
                    wire::unknown_parameter_action(parameter->type).stop)
                    return result;
                break;
        }
    }
    return result;
}

std::size_t copy_unrecognized(wire::Bytes parameters, std::span<std::uint8_t> out) {
    std::size_t used = 0;
    wire::ParameterWalker walker{parameters};
    while (const auto parameter = walker.next()) {
        if (is_known(parameter->type)) continue;
        const wire::UnknownAction action = wire::unknown_parameter_action(parameter->type);
        const std::size_t bytes = wire::padded_to_4(parameter->raw.size());
        if (action.report && used + bytes <= out.size()) {
            const auto room = out.subspan(used, bytes);
            std::fill(room.begin(), room.end(), std::uint8_t{0});
            std::copy(parameter->raw.begin(), parameter->raw.end(), room.begin());
            used += bytes;
        }
        if (action.stop) break;
    }
    return used;
}

bool write_init_ack(Environment& env, const Packet& packet, const wire::Init& init,
                    const InitParameters& parameters, const InitAckIdentity& identity,
                    wire::PacketWriter& out) {
    CookieContents cookie;
    cookie.node = env.cookies.node();
    cookie.local_port = packet.destination_port;
    cookie.remote_port = packet.source_port;
    cookie.local_tag = identity.tag;
    cookie.remote_tag = init.tag;
    cookie.local_initial_tsn = identity.initial_tsn;
    cookie.remote_initial_tsn = init.initial_tsn;
    cookie.streams_out = std::min(env.profile.streams_out, init.streams_in);  // HS-10
    cookie.streams_in = std::min(env.profile.streams_in, init.streams_out);
    cookie.remote_window_bytes = init.a_rwnd_bytes;
    cookie.local_tie_tag = identity.local_tie;
    cookie.remote_tie_tag = identity.remote_tie;
    cookie.created = env.now;
    // H11: a wish for a longer life is granted up to twice the configured one.
    cookie.life = env.profile.cookie_life +
                  std::min<Duration>(std::chrono::milliseconds{parameters.preservative_ms},
                                     env.profile.cookie_life);
    cookie.extensions = parameters.extensions & offered_extensions(env.profile);
    cookie.local_address = packet.destination;
    cookie.address_count = parameters.address_count;
    cookie.addresses = parameters.addresses;
    std::array<std::uint8_t, CookieKeys::kMaxBytes> sealed;
    const std::size_t size = env.cookies.seal(cookie, sealed);
    if (size == 0) return false;

    out.begin_chunk(wire::ChunkType::init_ack);
    wire::write_init_fixed(out, {identity.tag,
                                 env.profile.receive_window_bytes,
                                 cookie.streams_out,
                                 env.profile.streams_in,
                                 identity.initial_tsn,
                                 {}});
    out.parameter(wire::code(ParameterType::state_cookie), std::span{sealed}.first(size));
    if (env.local_addresses.size() > 1)
        for (const IpAddress& address : env.local_addresses)
            wire::write_address(out, address);  // PATH-5
    // What the peer did not offer is of no use to it, and would cost its share of HS-2.
    write_extensions(out, cookie.extensions);
    report_unrecognized(packet, init, out);
    out.end_chunk();
    return !out.overflowed();
}

}  // namespace signalbox::sctp
