// SPDX-License-Identifier: Apache-2.0
// What a received frame is to us, and the frames that we write ourselves: ARP, neighbour discovery,
// echo replies. Bytes in, bytes out.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "base/drop.h"
#include "io/addressing.h"
#include "io/neighbour_table.h"
#include "wire/ethernet.h"
#include "wire/ip_packet.h"

namespace signalbox::io {

/// One port as its frames see it.
struct Station {
    PortIndex port = 0;
    MacAddress mac;
    std::optional<std::uint16_t> vlan;  // 802.1Q identifier that every frame must carry
    std::uint16_t mtu_bytes = 1500;
};

struct Learned {
    NeighbourKey key;
    MacAddress mac;
};

struct Taken {
    enum class What : std::uint8_t {
        discard,   // `why`
        handled,   // nothing more to do but `learned`
        packet,    // `ip` is for the core
        fragment,  // `ip` waits for the others of its packet
        answer,    // `answer_bytes` of the answer buffer are a whole frame
    };
    What what = What::discard;
    Drop why = Drop::l2_not_ours;
    std::span<const std::uint8_t> ip;
    std::size_t answer_bytes = 0;
    std::optional<Learned> learned;
    bool duplicate = false;  // another station uses one of our addresses
};

/// `stripped`: the VLAN tag where the port has taken it out of the frame. `answer`: room for a
/// frame of the port's MTU.
Taken take_frame(const Station& station, const Addressing& addressing,
                 std::span<const std::uint8_t> frame, std::optional<wire::VlanTag> stripped,
                 std::span<std::uint8_t> answer);
/// As take_frame() for an IP packet without its frame (reassembled); `from`: who sent it on the
/// link.
Taken take_ip(const Station& station, const Addressing& addressing,
              std::span<const std::uint8_t> ip, const MacAddress& from,
              std::span<std::uint8_t> answer);

/// Room for any frame of the three below.
inline constexpr std::size_t kRequestMaxBytes = 18 + 40 + 32;

/// Asks who has the address: to `known` alone when probing, else to all. Returns the frame's
/// length; 0: we have no address of that family on the port.
std::size_t write_request(const Station& station, const Addressing& addressing,
                          const IpAddress& target, std::optional<MacAddress> known,
                          std::span<std::uint8_t> out);
/// Tells the link that the address is ours: ARP announcement (RFC 5227 2.3) or unsolicited
/// advertisement (RFC 4861 7.2.6).
std::size_t write_announcement(const Station& station, const IpAddress& mine,
                               std::span<std::uint8_t> out);
/// Asks whether somebody else has our address: ARP probe (RFC 5227 2.1.1), duplicate address
/// detection (RFC 4862 5.4).
std::size_t write_duplicate_probe(const Station& station, const IpAddress& mine,
                                  std::span<std::uint8_t> out);

/// The Ethernet header for an IP packet, priority from its DSCP; returns its length.
std::size_t write_frame_header(const Station& station, const MacAddress& to, bool v4,
                               std::uint8_t dscp, std::span<std::uint8_t> out);

}  // namespace signalbox::io
