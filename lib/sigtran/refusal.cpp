// SPDX-License-Identifier: Apache-2.0
// ERR (RFC 4666 3.8.1): what was wrong, the offending values, and the first octets of the message.
#include <algorithm>
#include <array>

#include "sigtran/gateway_state.h"

namespace signalbox::sigtran {

using wire::m3ua::Builder;
using wire::m3ua::ErrorCode;
using wire::m3ua::Message;
using wire::m3ua::Tag;

namespace {

struct CountedAs {
    ErrorCode code;
    Drop reason;
};
constexpr std::array<CountedAs, 9> kCountedAs{{
    {ErrorCode::invalid_version, Drop::m3ua_malformed},
    {ErrorCode::unsupported_class, Drop::m3ua_malformed},
    {ErrorCode::unsupported_type, Drop::m3ua_malformed},
    {ErrorCode::protocol_error, Drop::m3ua_malformed},
    {ErrorCode::parameter_field_error, Drop::m3ua_malformed},
    {ErrorCode::missing_parameter, Drop::m3ua_missing_parameter},
    {ErrorCode::invalid_routing_context, Drop::m3ua_bad_routing_context},
    {ErrorCode::no_configured_as, Drop::m3ua_bad_routing_context},
    {ErrorCode::invalid_network_appearance, Drop::m3ua_bad_network_appearance},
}};

Drop reason_of(ErrorCode code) {
    for (const CountedAs& row : kCountedAs)
        if (row.code == code) return row.reason;
    return Drop::m3ua_unexpected;
}

struct AnsweredWith {
    Drop reason;
    ErrorCode code;
};
constexpr std::array<AnsweredWith, 8> kAnsweredWith{{
    {Drop::m3ua_malformed, ErrorCode::parameter_field_error},
    {Drop::m3ua_unexpected, ErrorCode::unexpected_message},
    {Drop::m3ua_stream_zero, ErrorCode::invalid_stream},
    {Drop::m3ua_bad_routing_context, ErrorCode::invalid_routing_context},
    {Drop::m3ua_bad_network_appearance, ErrorCode::invalid_network_appearance},
    {Drop::m3ua_missing_parameter, ErrorCode::missing_parameter},
    {Drop::mtp3_bad_point_code, ErrorCode::parameter_field_error},
    {Drop::mtp3_bad_service_information, ErrorCode::parameter_field_error},
}};

/// Two sides that answer ERR with ERR never stop: it is known by class and type even when all else
/// is wrong.
bool is_err(std::span<const std::uint8_t> message) {
    return message.size() >= 4 &&
           wire::m3ua::message_of(message[2], message[3]) == wire::m3ua::Message::err;
}

}  // namespace

void SignalingGateway::State::refuse(const Request& rq, ErrorCode code,
                                     const ErrorDetails& details) {
    counters.drop(reason_of(code));
    send_error(rq, code, details);
}

void SignalingGateway::State::send_error(const Request& rq, ErrorCode code,
                                         const ErrorDetails& details) {
    if (is_err(rq.message)) return;
    if (!at(rq.peer).errors.take(now)) return;
    Builder b{Message::err};
    b.u32(Tag::error_code, static_cast<std::uint32_t>(code));
    b.u32_list(Tag::routing_context, details.routing_contexts);
    if (details.network_appearance) b.u32(Tag::network_appearance, *details.network_appearance);
    b.bytes(Tag::diagnostic,
            rq.message.first(std::min(rq.message.size(), wire::m3ua::kDiagnosticMax)));
    outbox.send(rq.peer, b.finish());
    changes.push_back({ChangeKind::error_sent, kNoAs, rq.peer, 0, static_cast<std::uint8_t>(code)});
}

void SignalingGateway::State::refuse_data(const Request& rq, Drop why) {
    for (const AnsweredWith& row : kAnsweredWith) {
        if (row.reason != why) continue;
        ErrorDetails details;
        if (why == Drop::m3ua_bad_routing_context && rq.parameters.routing_contexts)
            details.routing_contexts = *rq.parameters.routing_contexts;
        if (why == Drop::m3ua_bad_network_appearance)
            details.network_appearance = rq.parameters.network_appearance;
        return send_error(rq, row.code, details);
    }
    answer_undeliverable(rq, why);
}

}  // namespace signalbox::sigtran
