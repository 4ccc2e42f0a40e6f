// SPDX-License-Identifier: Apache-2.0
// What an association needs from its worker: passed to every call, never stored (no handle inside
// an association).
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/ip_address.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/time.h"
#include "mem/block_pool.h"
#include "mem/page_source.h"
#include "sctp/settings.h"

namespace signalbox::sctp {

class CookieKeys;  // sctp/cookie.h

inline constexpr std::size_t kMaxMessageBytes =
    65536;  // longer messages end the association (adversarial D13)
inline constexpr std::size_t kInlineStreams =
    16;  // in the association itself; a page is taken for a higher one

/// Draws our verification tags: random, never 0; core makes it steer to the worker (design 6).
class TagSource {
 public:
    virtual ~TagSource() = default;
    virtual VerificationTag draw() = 0;
};

struct Environment {
    Time now;
    const Profile& profile;
    std::span<const IpAddress> local_addresses;  // of the listener, at most kMaxLocalAddresses
    mem::PageSource& pages;
    mem::BlockPool& blocks;
    RandomSource& random;
    TagSource& tags;
    CookieKeys& cookies;
    Counters& counters;
    std::span<std::uint8_t>
        scratch;  // kMaxMessageBytes: reassembled messages are made contiguous here
    std::uint32_t kept_send_bytes = 0;  // of the send buffer: for what matters more than this
    std::size_t* free_left = nullptr;   // blocks and pages that the worker may still free this turn
    bool short_of_pages = false;  // DATA counts as not received: what it delivers may have to wait
};

}  // namespace signalbox::sctp
