// SPDX-License-Identifier: Apache-2.0
#include "m3ua.h"

#include <cstdio>

namespace interop::m3ua {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kParameterHeader = 4;
constexpr std::size_t kRoutingLabel = 12;

std::uint16_t get16(View at, std::size_t offset) {
    return static_cast<std::uint16_t>((at[offset] << 8) | at[offset + 1]);
}

void put16(Bytes& out, std::uint16_t value) {
    out.push_back(static_cast<std::uint8_t>(value >> 8));
    out.push_back(static_cast<std::uint8_t>(value & 0xff));
}

void pad(Bytes& out) {
    while (out.size() % 4 != 0) out.push_back(0);
}

}  // namespace

std::uint32_t get32(View at, std::size_t offset) {
    return (std::uint32_t{get16(at, offset)} << 16) | get16(at, offset + 2);
}

void put32(Bytes& out, std::uint32_t value) {
    put16(out, static_cast<std::uint16_t>(value >> 16));
    put16(out, static_cast<std::uint16_t>(value & 0xffff));
}

Parameter parameter(Tag tag, std::uint32_t value) {
    Parameter made{tag, {}};
    put32(made.value, value);
    return made;
}

View Message::find(Tag tag) const {
    for (const Parameter& p : parameters)
        if (p.tag == tag) return p.value;
    return {};
}

std::optional<std::uint32_t> Message::number(Tag tag) const {
    const View value = find(tag);
    if (value.size() < 4) return std::nullopt;
    return get32(value, 0);
}

Bytes encode(const Message& message) {
    Bytes body;
    for (const Parameter& p : message.parameters) {
        put16(body, static_cast<std::uint16_t>(p.tag));
        put16(body, static_cast<std::uint16_t>(kParameterHeader + p.value.size()));
        body.insert(body.end(), p.value.begin(), p.value.end());
        pad(body);
    }
    Bytes out{1, 0};
    put16(out, static_cast<std::uint16_t>(message.kind));
    put32(out, static_cast<std::uint32_t>(kHeader + body.size()));
    out.insert(out.end(), body.begin(), body.end());
    return out;
}

std::optional<Message> decode(View bytes) {
    if (bytes.size() < kHeader || bytes[0] != 1) return std::nullopt;
    const std::size_t length = get32(bytes, 4);
    if (length < kHeader || length > bytes.size()) return std::nullopt;
    Message message{static_cast<Kind>(get16(bytes, 2)), {}};
    View rest = bytes.subspan(kHeader, length - kHeader);
    while (!rest.empty()) {
        if (rest.size() < kParameterHeader) return std::nullopt;
        const std::size_t size = get16(rest, 2);
        if (size < kParameterHeader || size > rest.size()) return std::nullopt;
        const View value = rest.subspan(kParameterHeader, size - kParameterHeader);
        message.parameters.push_back(
            {static_cast<Tag>(get16(rest, 0)), Bytes(value.begin(), value.end())});
        const std::size_t padded = (size + 3) / 4 * 4;
        rest = rest.subspan(padded < rest.size() ? padded : rest.size());
    }
    return message;
}

Bytes encode_data(std::optional<std::uint32_t> routing_context, const ProtocolData& data) {
    Message message{Kind::data, {}};
    if (routing_context)
        message.parameters.push_back(parameter(Tag::routing_context, *routing_context));
    Parameter payload{Tag::protocol_data, {}};
    put32(payload.value, data.opc);
    put32(payload.value, data.dpc);
    for (const std::uint8_t octet : {data.service, data.network_indicator, data.priority, data.sls})
        payload.value.push_back(octet);
    payload.value.insert(payload.value.end(), data.user_data.begin(), data.user_data.end());
    message.parameters.push_back(std::move(payload));
    return encode(message);
}

std::optional<ProtocolData> protocol_data(const Message& message) {
    const View value = message.find(Tag::protocol_data);
    if (message.kind != Kind::data || value.size() < kRoutingLabel) return std::nullopt;
    return ProtocolData{.opc = get32(value, 0),
                        .dpc = get32(value, 4),
                        .service = value[8],
                        .network_indicator = value[9],
                        .priority = value[10],
                        .sls = value[11],
                        .user_data = value.subspan(kRoutingLabel)};
}

std::optional<std::uint32_t> parse_point_code(const std::string& text) {
    unsigned zone = 0;
    unsigned area = 0;
    unsigned point = 0;
    int used = 0;
    const int all = static_cast<int>(text.size());
    if (std::sscanf(text.c_str(), "%u-%u-%u%n", &zone, &area, &point, &used) == 3 && used == all)
        return zone < 8 && area < 256 && point < 8 ? std::optional{zone << 11 | area << 3 | point}
                                                   : std::nullopt;
    if (std::sscanf(text.c_str(), "%u%n", &point, &used) == 1 && used == all) return point;
    return std::nullopt;
}

}  // namespace interop::m3ua
