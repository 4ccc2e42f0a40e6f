// SPDX-License-Identifier: Apache-2.0
// The state cookie, RFC 9260 5.1.3: authenticated (HMAC-SHA-256, 128 bits kept), no state and no
// address of memory. At most 84 bytes plus 4 or 16 per peer address (sctp.md HS-1).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/hmac.h"
#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/time.h"
#include "sctp/extensions.h"

namespace signalbox::sctp {

struct Packet;

struct CookieContents {
    std::uint8_t node = 0;
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0;
    VerificationTag local_tag;
    VerificationTag remote_tag;
    Tsn local_initial_tsn;
    Tsn remote_initial_tsn;
    std::uint16_t streams_out = 0;  // negotiated
    std::uint16_t streams_in = 0;
    std::uint32_t remote_window_bytes = 0;
    VerificationTag local_tie_tag;  // 0: none
    VerificationTag remote_tie_tag;
    Time created;
    Duration life{};          // at most 2^24 - 1 ms in a cookie
    Extensions extensions;    // agreed
    IpAddress local_address;  // the one that was addressed by INIT
    std::uint8_t address_count = 0;
    std::array<IpAddress, 16> addresses;  // the peer's, source of the INIT first
};

enum class CookieVerdict : std::uint8_t { good, stale, bad_mac, malformed, mismatch };

/// Two generations of keys, rotated by the control thread's command on each worker.
class CookieKeys {
 public:
    CookieKeys(RandomSource& random, std::uint8_t node);  // all workers of a node share the keys:
    CookieKeys(std::span<const std::uint8_t> current, std::span<const std::uint8_t> previous,
               std::uint8_t node);
    void rotate(std::span<const std::uint8_t> new_key);

    static constexpr std::size_t kMaxBytes = 84 + 16 * 16;
    std::uint8_t node() const { return node_; }
    /// Serialises and signs; returns the length written, 0 when `out` is too small.
    std::size_t seal(const CookieContents& contents, std::span<std::uint8_t> out);
    /// MAC, then lengths, ports and tag of the packet it came in (HS-4), then age. `contents` is
    /// set for good and stale.
    CookieVerdict open(std::span<const std::uint8_t> cookie, const Packet& packet, Time now,
                       CookieContents& contents);

 private:
    HmacKey current_;
    HmacKey previous_;
    std::uint8_t node_;
};

/// The cookie of the COOKIE ECHO that is the packet's first chunk; empty when it is something else
/// or malformed.
std::span<const std::uint8_t> first_cookie(const Packet& packet);

}  // namespace signalbox::sctp
