// SPDX-License-Identifier: Apache-2.0
#include "unit/sigtran/story.h"

#include <map>

namespace signalbox::sigtran::test {

namespace {

void put(Message& to, std::uint64_t value, unsigned octets) {
    while (octets-- > 0) to.push_back(static_cast<std::uint8_t>(value >> (8 * octets)));
}

std::uint32_t get(std::span<const std::uint8_t> from, std::size_t at, unsigned octets) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < octets; ++i) value = value << 8 | from[at + i];
    return value;
}

const std::map<unsigned, std::string> kNames{
    {0x0000, "ERR"},       {0x0001, "NTFY"},      {0x0101, "DATA"},      {0x0201, "DUNA"},
    {0x0202, "DAVA"},      {0x0204, "SCON"},      {0x0205, "DUPU"},      {0x0206, "DRST"},
    {0x0303, "BEAT"},      {0x0304, "ASPUP_ACK"}, {0x0305, "ASPDN_ACK"}, {0x0306, "BEAT_ACK"},
    {0x0403, "ASPAC_ACK"}, {0x0404, "ASPIA_ACK"}};

std::string list_of(std::span<const std::uint8_t> value) {
    std::string text;
    for (std::size_t at = 0; at + 4 <= value.size(); at += 4)
        text += (at == 0 ? "" : ",") + std::to_string(get(value, at, 4));
    return text;
}

std::string hex(std::span<const std::uint8_t> value) {
    std::string text;
    for (const std::uint8_t octet : value) {
        text += "0123456789abcdef"[octet >> 4];
        text += "0123456789abcdef"[octet & 15];
    }
    return text;
}

std::string parameter_text(unsigned tag, std::span<const std::uint8_t> value) {
    switch (tag) {
        case 0x0006:
            return "rc=" + list_of(value);
        case 0x0007:
            return "diagnostic=" + std::to_string(value.size());
        case 0x0009:
            return "heartbeat=" + hex(value);
        case 0x000b:
            return "mode=" + list_of(value);
        case 0x000c:
            return "code=" + hex(value.last(1));
        case 0x000d:
            return "status=" + std::to_string(get(value, 0, 2)) + "/" +
                   std::to_string(get(value, 2, 2));
        case 0x0011:
            return "asp=" + list_of(value);
        case 0x0012: {
            std::string text;
            for (std::size_t at = 0; at + 4 <= value.size(); at += 4) {
                text += (at == 0 ? "" : ",") + std::to_string(get(value, at + 1, 3));
                if (value[at] != 0) text += "/" + std::to_string(value[at]);
            }
            return "pc=" + text;
        }
        case 0x0200:
            return "na=" + list_of(value);
        case 0x0204:
            return "cause=" + std::to_string(get(value, 0, 2)) +
                   " user=" + std::to_string(get(value, 2, 2));
        case 0x0205:
            return "level=" + list_of(value);
        default:
            return std::to_string(tag) + "=" + hex(value);
    }
}

}  // namespace

Message parameter(unsigned tag, const Message& value) {
    Message m;
    put(m, tag, 2);
    put(m, value.size() + 4, 2);
    m.insert(m.end(), value.begin(), value.end());
    while (m.size() % 4 != 0) m.push_back(0);
    return m;
}

Message numbers(unsigned tag, std::initializer_list<std::uint32_t> values) {
    Message value;
    for (const std::uint32_t v : values) put(value, v, 4);
    return parameter(tag, value);
}

Message message(unsigned message_class, unsigned type, std::initializer_list<Message> parameters) {
    Message body;
    for (const Message& p : parameters) body.insert(body.end(), p.begin(), p.end());
    Message m{1, 0, static_cast<std::uint8_t>(message_class), static_cast<std::uint8_t>(type)};
    put(m, body.size() + 8, 4);
    m.insert(m.end(), body.begin(), body.end());
    return m;
}

Message protocol_data(const Label& label, const Message& user) {
    Message value;
    put(value, label.opc, 4);
    put(value, label.dpc, 4);
    for (const std::uint8_t octet : {label.si, label.ni, label.mp, label.sls})
        value.push_back(octet);
    value.insert(value.end(), user.begin(), user.end());
    return parameter(0x0210, value);
}

std::string text_of(std::span<const std::uint8_t> m) {
    if (m.size() < 8 || m[0] != 1 || m[1] != 0) return "bad header";
    if (get(m, 4, 4) != m.size() || m.size() % 4 != 0) return "bad length";
    const auto name = kNames.find(get(m, 2, 2));
    std::string text =
        name == kNames.end() ? "unnamed " + std::to_string(get(m, 2, 2)) : name->second;
    for (std::size_t at = 8; at < m.size();) {
        const std::size_t length = at + 4 <= m.size() ? get(m, at + 2, 2) : 0;
        if (length < 4 || at + length > m.size()) return text + " bad parameter";
        text += " " + parameter_text(get(m, at, 2), m.subspan(at + 4, length - 4));
        at += (length + 3) / 4 * 4;
    }
    return text;
}

AsSettings server(std::optional<std::uint32_t> context, std::uint32_t dpc,
                  std::initializer_list<PeerIndex> members, TrafficMode traffic_mode) {
    AsSettings s;
    s.name = "as" + std::to_string(dpc);
    s.routing_context = context;
    s.keys = {{PointCode{dpc}, 0}};
    s.mode = traffic_mode;
    for (const PeerIndex peer : members) s.members.push_back({peer, 1});
    return s;
}

Story::Story(std::vector<AsSettings> servers, std::vector<PeerSettings> peers)
    : gateway(
          [&peers] {
              constexpr std::size_t kPeers = 16;
              for (std::size_t i = peers.size(); i < kPeers; ++i) peers.emplace_back();
              return peers;
          }(),
          std::move(servers), counters) {}

Said Story::heard() {
    Said said;
    for (const Outgoing& o : gateway.take_outgoing()) {
        const std::string where =
            o.stream.value == 0 ? "" : " on stream " + std::to_string(o.stream.value);
        said.push_back(std::string(1, static_cast<char>('A' + o.peer.value)) + where + " " +
                       text_of(o.bytes));
    }
    return said;
}

Said Story::tell(PeerIndex from, const Message& m, std::uint16_t stream) {
    gateway.receive(from, StreamId{stream}, m, now);
    return heard();
}

Said Story::refuse(PeerIndex from, const Message& m, Drop why, std::uint16_t stream) {
    gateway.refuse_data(from, StreamId{stream}, m, why, now);
    return heard();
}

Said Story::associate(PeerIndex peer) {
    gateway.association_up(peer, 16, now);
    return heard();
}

Said Story::restart(PeerIndex peer) {
    gateway.association_restarted(peer, 16, now);
    return heard();
}

Said Story::lose(PeerIndex peer) {
    gateway.association_lost(peer, now);
    return heard();
}

Said Story::wait(Duration time) {
    now += time;
    gateway.advance(now);
    return heard();
}

void Story::inactive(PeerIndex peer) {
    associate(peer);
    tell(peer, aspup());
}

void Story::active(PeerIndex peer) {
    inactive(peer);
    tell(peer, aspac());
}

}  // namespace signalbox::sigtran::test

namespace Catch {

using signalbox::sigtran::AspState;
using signalbox::sigtran::AsState;

std::string StringMaker<AspState>::convert(AspState s) {
    constexpr const char* kText[] = {"ASP-DOWN", "ASP-INACTIVE", "ASP-ACTIVE"};
    return kText[static_cast<std::size_t>(s)];
}

std::string StringMaker<AsState>::convert(AsState s) {
    constexpr const char* kText[] = {"AS-DOWN", "AS-INACTIVE", "AS-ACTIVE", "AS-PENDING"};
    return kText[static_cast<std::size_t>(s)];
}

}  // namespace Catch
