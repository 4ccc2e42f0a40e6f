// SPDX-License-Identifier: Apache-2.0
// Reading the parameters of INIT and INIT ACK whole, before anything is done with them. RFC
// 9260 3.3.2, 5.1.2; PKT-8.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "sctp/cookie.h"
#include "sctp/environment.h"
#include "sctp/packet.h"
#include "wire/init.h"
#include "wire/parameters.h"

namespace signalbox::sctp {

enum class InitVerdict : std::uint8_t { ok, malformed, host_name, too_many_addresses };

struct InitParameters {
    InitVerdict verdict = InitVerdict::ok;
    std::uint8_t address_count = 0;
    std::array<IpAddress, 16> addresses;  // the source first, no duplicates, only usable ones
    wire::Bytes cookie;
    wire::Bytes host_name;  // the parameter, to be quoted
    std::uint32_t preservative_ms = 0;
    Extensions extensions;  // that the peer offers

    std::span<const IpAddress> list() const { return std::span{addresses}.first(address_count); }
    bool lists(const IpAddress& address) const;
};

InitParameters read_init_parameters(const Environment& env, wire::Bytes parameters,
                                    const IpAddress& source);

/// Our side of an INIT ACK: fresh, or that of the association which got the INIT (RFC
/// 9260 5.2.1, 5.2.2).
/// What an INIT ACK has that must be reported beside COOKIE ECHO (RFC 9260 3.2.2), copied one
/// behind the other; returns the bytes used. What does not fit is not reported.
std::size_t copy_unrecognized(wire::Bytes parameters, std::span<std::uint8_t> out);

struct InitAckIdentity {
    VerificationTag tag;
    Tsn initial_tsn;
    VerificationTag local_tie;
    VerificationTag remote_tie;
};

/// The whole INIT ACK packet, within three times the INIT's size (HS-2). False: it did not fit.
bool write_init_ack(Environment& env, const Packet& packet, const wire::Init& init,
                    const InitParameters& parameters, const InitAckIdentity& identity,
                    wire::PacketWriter& out);

}  // namespace signalbox::sctp
