// SPDX-License-Identifier: Apache-2.0
#include "flow.h"

#include <algorithm>

namespace interop {
namespace {

constexpr std::uint32_t kMagic = 0x53425431;  // "SBT1"
constexpr std::size_t kChecksumAt = 20;

// FNV-1a over everything but the checksum itself: independent of the CRC that SCTP carries.
std::uint32_t checksum(m3ua::View data) {
    std::uint32_t hash = 2166136261U;
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (i >= kChecksumAt && i < kStampBytes) continue;
        hash = (hash ^ data[i]) * 16777619U;
    }
    return hash;
}

}  // namespace

m3ua::Bytes stamped(const Stamp& stamp, std::size_t size_bytes) {
    m3ua::Bytes out;
    out.reserve(size_bytes);
    m3ua::put32(out, kMagic);
    m3ua::put32(out, stamp.sender);
    m3ua::put32(out, stamp.sls);
    m3ua::put32(out, static_cast<std::uint32_t>(stamp.sequence >> 32));
    m3ua::put32(out, static_cast<std::uint32_t>(stamp.sequence));
    m3ua::put32(out, 0);
    while (out.size() < size_bytes)
        out.push_back(static_cast<std::uint8_t>(stamp.sequence + out.size()));
    m3ua::Bytes sum;
    m3ua::put32(sum, checksum(out));
    std::copy(sum.begin(), sum.end(), out.begin() + kChecksumAt);
    return out;
}

std::optional<Stamp> read_stamp(m3ua::View data) {
    if (data.size() < kStampBytes || m3ua::get32(data, 0) != kMagic) return std::nullopt;
    if (m3ua::get32(data, kChecksumAt) != checksum(data)) return std::nullopt;
    const Stamp stamp{m3ua::get32(data, 4), m3ua::get32(data, 8),
                      std::uint64_t{m3ua::get32(data, 12)} << 32 | m3ua::get32(data, 16)};
    if (stamp.sequence >= kSequenceMax) return std::nullopt;
    return stamp;
}

void Ledger::take(const Stamp& stamp) {
    Flow& flow = flows_[{stamp.sender, stamp.sls}];
    if (flow.count == 0) flow.first = stamp.sequence;
    if (stamp.sequence < flow.seen.size()) {
        if (flow.seen[stamp.sequence]) {
            ++duplicated_;
            return;
        }
        ++reordered_;  // it comes after a later one of its own flow
    } else {
        flow.seen.resize(stamp.sequence + 1, false);
    }
    flow.seen[stamp.sequence] = true;
    ++flow.count;
    ++distinct_;
}

std::uint64_t Ledger::gaps() const {
    std::uint64_t missing = 0;
    for (const auto& [key, flow] : flows_) missing += flow.seen.size() - flow.count;
    return missing;
}

std::string Ledger::flows_json() const {
    std::string out = "{";
    for (const auto& [key, flow] : flows_) {
        if (out.size() > 1) out += ", ";
        out += '"' + std::to_string(key.first) + ':' + std::to_string(key.second) + "\": [" +
               std::to_string(flow.count) + ", " + std::to_string(flow.first) + ", " +
               std::to_string(flow.seen.size() - 1) + ']';
    }
    return out + '}';
}

}  // namespace interop
