// SPDX-License-Identifier: Apache-2.0
#include "io/reassembly.h"

#include <rte_ip_frag.h>
#include <rte_mbuf.h>

#include <cstring>
#include <stdexcept>

#include "wire/internet_checksum.h"
#include "wire/ip_packet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace signalbox::io {

namespace {

constexpr std::uint32_t kBucketEntries = 16;
constexpr Duration kTick = std::chrono::milliseconds{250};
constexpr std::size_t kFragmentHeaderBytes = 8;

std::uint64_t ticks(Duration d) {
    return static_cast<std::uint64_t>(d.count());
}

}  // namespace

Reassembly::Reassembly() : dead_(std::make_unique<rte_ip_frag_death_row>()) {
    table_ = rte_ip_frag_table_create(kPacketsMax / kBucketEntries, kBucketEntries, kPacketsMax,
                                      ticks(kLifetime), SOCKET_ID_ANY);
    if (table_ == nullptr) throw std::runtime_error("no memory for the table of fragments");
}

Reassembly::~Reassembly() {
    rte_ip_frag_free_death_row(dead_.get(), 0);
    rte_ip_frag_table_destroy(table_);
}

/// The library wants the fragment header right behind the IPv6 header.
rte_mbuf* Reassembly::add(rte_mbuf* fragment, std::size_t ip_bytes, std::uint64_t now) {
    auto* ip = rte_pktmbuf_mtod(fragment, std::uint8_t*);
    fragment->l2_len = 0;
    if (ip[0] >> 4 == 4) {
        fragment->l3_len = (ip[0] & 0xfu) * 4 & 0x1ff;
        return rte_ipv4_frag_reassemble_packet(table_, dead_.get(), fragment, now,
                                               reinterpret_cast<rte_ipv4_hdr*>(ip));
    }
    const bool direct = ip[6] == static_cast<std::uint8_t>(wire::IpProtocol::fragment) &&
                        ip_bytes > wire::kIpv6HeaderBytes + kFragmentHeaderBytes;
    if (!direct) {
        dead_->row[dead_->cnt++] = fragment;
        return nullptr;
    }
    fragment->l3_len = wire::kIpv6HeaderBytes + kFragmentHeaderBytes;
    return rte_ipv6_frag_reassemble_packet(
        table_, dead_.get(), fragment, now, reinterpret_cast<rte_ipv6_hdr*>(ip),
        reinterpret_cast<rte_ipv6_fragment_ext*>(ip + wire::kIpv6HeaderBytes));
}

void Reassembly::bury(Counters& counters) {
    if (dead_->cnt == 0) return;
    counters.drop(Drop::ip_fragment_refused, dead_->cnt);
    rte_ip_frag_free_death_row(dead_.get(), 0);
}

std::size_t Reassembly::take(rte_mbuf* fragment, std::size_t ip_bytes, Time now, Counters& counters,
                             std::span<std::uint8_t> out) {
    rte_pktmbuf_trim(fragment,
                     static_cast<std::uint16_t>(rte_pktmbuf_pkt_len(fragment) - ip_bytes));
    rte_mbuf* whole = add(fragment, ip_bytes, ticks(now.time_since_epoch()));
    bury(counters);
    if (whole == nullptr) return 0;
    const std::size_t bytes = rte_pktmbuf_pkt_len(whole);
    const bool fits = bytes <= out.size() && bytes >= wire::kIpv4HeaderBytes;
    if (fits) {
        const void* at = rte_pktmbuf_read(whole, 0, static_cast<std::uint32_t>(bytes), out.data());
        if (at != out.data()) std::memcpy(out.data(), at, bytes);
    } else {
        counters.drop(Drop::ip_fragment_refused);
    }
    rte_pktmbuf_free(whole);
    if (!fits) return 0;
    if (out[0] >> 4 == 4) {  // the library leaves the header's checksum to its caller
        const auto header = out.first((out[0] & 0xfu) * 4);
        wire::store_u16(header, 10, 0);
        wire::store_u16(header, 10, wire::internet_checksum(header));
    }
    return bytes;
}

void Reassembly::tick(Time now, Counters& counters) {
    if (now < next_tick_) return;
    next_tick_ = now + kTick;
    rte_ip_frag_table_del_expired_entries(table_, dead_.get(), ticks(now.time_since_epoch()));
    bury(counters);
}

}  // namespace signalbox::io
