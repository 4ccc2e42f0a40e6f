// SPDX-License-Identifier: Apache-2.0
// One worker with configured peers, and whole IP packets that anybody may send to it.
#pragma once
#include <array>
#include <tuple>
#include <vector>

#include "base/crc32c.h"
#include "support/core_lab.h"
#include "wire/internet_checksum.h"
#include "wire/sctp_header.h"
#include "wire/tlv.h"

namespace signalbox::test {

inline const IpAddress kGateway = IpAddress::v4(0x0a4d0003);
inline const IpAddress kGateway2 = IpAddress::v4(0x0a4d0004);
inline const IpAddress kGateway6 = *IpAddress::parse("fd77::3");
inline const IpAddress kPeer6 = *IpAddress::parse("fd77::11");

class Target {
 public:
    using Value = std::vector<std::uint8_t>;

    static core::Settings settings() {
        core::Settings s = one_asp_per_server(2);
        s.listeners[0].addresses = {kGateway, kGateway2, kGateway6};
        s.peers[1].addresses.push_back(kPeer6);
        return s;
    }
    explicit Target(core::Settings s = settings(), std::size_t memory_bytes = 64u << 20)
        : lab(std::move(s), {.memory_bytes = memory_bytes}) {}

    IpAddress peer(std::uint32_t i) const { return lab.node->settings().peers[i].addresses[0]; }

    /// What the worker answers at once.
    std::vector<IpBytes> feed(const IpBytes& packet,
                              core::Checksum checksum = core::Checksum::unknown) {
        const core::PacketView view{.ip = packet, .checksum = checksum};
        sink_.packets.clear();
        lab.workers[0]->receive({&view, 1}, lab.now, sink_);
        return sink_.packets;
    }
    /// What its associations have to say now.
    std::vector<IpBytes> flush() {
        sink_.packets.clear();
        while (lab.workers[0]->flush(lab.now, sink_)) {
        }
        return sink_.packets;
    }
    /// Table entries and free pages, once a second has passed in the lab.
    std::tuple<std::size_t, std::size_t, std::size_t> resources() {
        PacketSink nowhere;
        for (int i = 0; i < 3; ++i) {
            lab.now += 1s;
            lab.node->control_turn(lab.now);
        }
        const auto s = lab.node->statistics();
        return {s->table.entries, s->pages_free, s->associations};
    }

    static IpBytes ip(const IpAddress& from, const IpAddress& to,
                      std::span<const std::uint8_t> sctp) {
        IpBytes out(40 + sctp.size());
        const std::size_t header =
            wire::write_ip_header(out, {.source = from, .destination = to}, sctp.size());
        std::copy(sctp.begin(), sctp.end(), out.begin() + static_cast<std::ptrdiff_t>(header));
        out.resize(header + sctp.size());
        return out;
    }
    /// The checksum made right again.
    static IpBytes sealed(IpBytes packet) {
        sctp_checksum_store(std::span{packet}.subspan(header_bytes(packet)));
        return packet;
    }
    IpBytes chunk(const IpAddress& from, std::uint8_t type, std::uint32_t tag,
                  const Value& value = {}, const IpAddress& to = kGateway,
                  std::uint16_t source_port = 2905, std::uint16_t destination_port = 2905) const {
        Value sctp(12);
        wire::write_sctp_header(sctp, {source_port, destination_port, VerificationTag{tag}});
        const std::size_t length = 4 + value.size();
        sctp.insert(sctp.end(),
                    {type, type == 0 ? std::uint8_t{3} : std::uint8_t{0},
                     static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)});
        sctp.insert(sctp.end(), value.begin(), value.end());
        while (sctp.size() % 4 != 0) sctp.push_back(0);
        return sealed(ip(from, to, sctp));
    }
    IpBytes init(const IpAddress& from, const IpAddress& to = kGateway,
                 std::uint16_t source_port = 2905, std::uint16_t destination_port = 2905,
                 const Value& parameters = {}) const {
        Value value{0x11, 0x22, 0x33, 0x44, 0, 1, 0x86, 0xa0, 0, 10, 0, 10, 0, 0, 3, 232};
        value.insert(value.end(), parameters.begin(), parameters.end());
        return chunk(from, 1, 0, value, to, source_port, destination_port);
    }
    /// For the INIT ACK that answered init().
    IpBytes cookie_echo(const IpBytes& init_ack, const IpAddress& from,
                        const IpAddress& to = kGateway) const {
        const auto sctp = std::span{init_ack}.subspan(header_bytes(init_ack));
        wire::ParameterWalker walker{sctp.subspan(32)};
        Value cookie;
        while (const auto parameter = walker.next())
            if (parameter->type == 7)
                cookie.assign(parameter->value.begin(), parameter->value.end());
        return chunk(from, 10, wire::load_u32(sctp, 16), cookie, to);
    }
    static std::size_t header_bytes(const IpBytes& packet) {
        return packet[0] >> 4 == 4 ? (packet[0] & 0xfu) * 4 : 40;
    }
    static std::uint8_t first_type(const IpBytes& packet) {
        return packet[header_bytes(packet) + 12];
    }
    static std::uint32_t adler32(const IpBytes& packet) {  // RFC 2960's first checksum
        std::uint32_t a = 1;
        std::uint32_t b = 0;
        for (std::size_t i = 20; i < packet.size(); ++i) {
            a = (a + (i >= 28 && i < 32 ? 0u : packet[i])) % 65521;
            b = (b + a) % 65521;
        }
        return b << 16 | a;
    }

    CoreLab lab;

 private:
    PacketSink sink_;
};

}  // namespace signalbox::test
