// SPDX-License-Identifier: Apache-2.0
//   | MAC (16) | node (1) | v6 bit of the local address + address count (1) | v6 bit per address
//   (2) | | local port (2) | remote port (2) | local tag (4) | remote tag (4) | local TSN (4) |
//   remote TSN (4) | | streams out (2) | streams in (2) | remote window (4) | tie-tags (8) |
//   created, ns (8) | extensions (1) | life, ms (3) | | local address (4 or 16) | the peer's
//   addresses (4 or 16 each) |
#include "sctp/cookie.h"

#include <algorithm>

#include "base/bytes.h"
#include "sctp/packet.h"
#include "wire/chunk_types.h"
#include "wire/tlv.h"

namespace signalbox::sctp {

namespace {

constexpr std::size_t kMacBytes = 16;
constexpr std::size_t kFixedBytes = 68;
constexpr std::uint32_t kMaxLifeMs = 0xffffff;
constexpr std::uint8_t kLocalV6 = 0x80;

std::array<std::uint8_t, 32> random_key(RandomSource& random) {
    std::array<std::uint8_t, 32> key{};
    random.fill(key);
    return key;
}

std::size_t bytes_of(const IpAddress& address) {
    return address.is_v4() ? 4 : 16;
}
std::uint8_t* put(std::uint8_t* at, const IpAddress& address) {
    const std::size_t n = bytes_of(address);
    return std::copy(address.bytes.end() - static_cast<std::ptrdiff_t>(n), address.bytes.end(), at);
}
IpAddress get(const std::uint8_t*& at, bool v6) {
    IpAddress address = v6 ? IpAddress{} : IpAddress::v4(load_be32(at));
    if (v6) std::copy_n(at, 16, address.bytes.begin());
    at += v6 ? 16 : 4;
    return address;
}

bool parse(std::span<const std::uint8_t> cookie, CookieContents& c) {
    const std::uint8_t* p = cookie.data();
    const std::uint8_t shape = p[17];
    const std::size_t count = shape & 0x1f;
    const std::uint16_t families = load_be16(p + 18);
    const bool local_v6 = (shape & kLocalV6) != 0;
    std::size_t expected = kFixedBytes + (local_v6 ? 16 : 4);
    if (count == 0 || count > c.addresses.size()) return false;
    for (std::size_t i = 0; i < count; ++i) expected += (families >> i & 1) != 0 ? 16 : 4;
    if (cookie.size() != expected) return false;  // H07, MAC or no MAC
    c.node = p[16];
    c.local_port = load_be16(p + 20);
    c.remote_port = load_be16(p + 22);
    c.local_tag = {load_be32(p + 24)};
    c.remote_tag = {load_be32(p + 28)};
    c.local_initial_tsn = {load_be32(p + 32)};
    c.remote_initial_tsn = {load_be32(p + 36)};
    c.streams_out = load_be16(p + 40);
    c.streams_in = load_be16(p + 42);
    c.remote_window_bytes = load_be32(p + 44);
    c.local_tie_tag = {load_be32(p + 48)};
    c.remote_tie_tag = {load_be32(p + 52)};
    c.created = Time{Duration{static_cast<Duration::rep>(load_be64(p + 56))}};
    c.extensions.bits = p[64];
    c.life = std::chrono::milliseconds{load_be32(p + 64) & kMaxLifeMs};
    p += kFixedBytes;
    c.local_address = get(p, local_v6);
    c.address_count = static_cast<std::uint8_t>(count);
    for (std::size_t i = 0; i < count; ++i) c.addresses[i] = get(p, (families >> i & 1) != 0);
    return true;
}

}  // namespace

CookieKeys::CookieKeys(RandomSource& random, std::uint8_t node)
    : current_(random_key(random)), previous_(random_key(random)), node_(node) {}

CookieKeys::CookieKeys(std::span<const std::uint8_t> current,
                       std::span<const std::uint8_t> previous, std::uint8_t node)
    : current_(current), previous_(previous), node_(node) {}

void CookieKeys::rotate(std::span<const std::uint8_t> new_key) {
    previous_ = std::move(current_);
    current_ = HmacKey(new_key);
}

std::size_t CookieKeys::seal(const CookieContents& c, std::span<std::uint8_t> out) {
    std::size_t size = kFixedBytes + bytes_of(c.local_address);
    std::uint16_t families = 0;
    for (std::size_t i = 0; i < c.address_count; ++i) {
        size += bytes_of(c.addresses[i]);
        if (c.addresses[i].is_v6()) families = static_cast<std::uint16_t>(families | 1u << i);
    }
    if (size > out.size() || c.address_count == 0 || c.address_count > c.addresses.size()) return 0;
    std::uint8_t* p = out.data();
    p[16] = node_;
    p[17] = static_cast<std::uint8_t>(c.address_count | (c.local_address.is_v6() ? kLocalV6 : 0));
    store_be16(p + 18, families);
    store_be16(p + 20, c.local_port);
    store_be16(p + 22, c.remote_port);
    store_be32(p + 24, c.local_tag.value);
    store_be32(p + 28, c.remote_tag.value);
    store_be32(p + 32, c.local_initial_tsn.value);
    store_be32(p + 36, c.remote_initial_tsn.value);
    store_be16(p + 40, c.streams_out);
    store_be16(p + 42, c.streams_in);
    store_be32(p + 44, c.remote_window_bytes);
    store_be32(p + 48, c.local_tie_tag.value);
    store_be32(p + 52, c.remote_tie_tag.value);
    store_be64(p + 56, static_cast<std::uint64_t>(c.created.time_since_epoch().count()));
    const std::int64_t life_ms = c.life / std::chrono::milliseconds{1};
    store_be32(p + 64, static_cast<std::uint32_t>(std::min<std::int64_t>(life_ms, kMaxLifeMs)));
    p[64] = c.extensions.bits;
    std::uint8_t* at = put(p + kFixedBytes, c.local_address);
    for (std::size_t i = 0; i < c.address_count; ++i) at = put(at, c.addresses[i]);
    const HmacKey::Mac mac = current_.mac(out.subspan(kMacBytes, size - kMacBytes));
    std::copy_n(mac.begin(), kMacBytes, p);
    return size;
}

CookieVerdict CookieKeys::open(std::span<const std::uint8_t> cookie, const Packet& packet, Time now,
                               CookieContents& contents) {
    if (cookie.size() < kFixedBytes + 8 || cookie.size() > kMaxBytes)
        return CookieVerdict::malformed;
    const auto authentic = [&cookie](HmacKey& key) {
        const HmacKey::Mac mac = key.mac(cookie.subspan(kMacBytes));
        return equal_constant_time(cookie.first(kMacBytes), std::span{mac}.first(kMacBytes));
    };
    if (!authentic(current_) && !authentic(previous_)) return CookieVerdict::bad_mac;
    CookieContents c;
    if (!parse(cookie, c)) return CookieVerdict::malformed;
    const auto end = c.addresses.begin() + c.address_count;
    if (c.local_port != packet.destination_port || c.remote_port != packet.source_port ||
        c.local_tag != packet.tag || std::find(c.addresses.begin(), end, packet.source) == end ||
        c.created > now)
        return CookieVerdict::mismatch;
    contents = c;
    return now - c.created > c.life ? CookieVerdict::stale : CookieVerdict::good;
}

std::span<const std::uint8_t> first_cookie(const Packet& packet) {
    const auto chunk = wire::ChunkWalker{packet.chunks}.next();
    if (!chunk || chunk->type != static_cast<std::uint8_t>(wire::ChunkType::cookie_echo)) return {};
    return chunk->value;
}

}  // namespace signalbox::sctp
