// SPDX-License-Identifier: Apache-2.0
#include "sigtran/destination_index.h"

#include <algorithm>
#include <tuple>

namespace signalbox::sigtran {

namespace {

constexpr std::uint32_t kPointCodeMask = (1u << Destination::kPointCodeBits) - 1;

constexpr std::uint32_t low_bits(unsigned bits) {
    return (1u << bits) - 1;
}

auto key_of(std::uint16_t instance, Destination d) {
    return std::tuple{instance, d.mask_bits, d.point_code};
}

}  // namespace

Destination Destination::from_wire(std::uint32_t affected) {
    // A mask longer than the point code means all of them.
    const auto bits =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(affected >> 24, kPointCodeBits));
    return {affected & kPointCodeMask & ~low_bits(bits), bits};
}

DestinationIndex::DestinationIndex(std::span<const AsSettings> servers) {
    for (std::size_t i = 0; i < servers.size(); ++i)
        for (const DestinationKey& key : servers[i].keys) {
            const std::uint32_t wire = std::uint32_t{key.mask_bits} << Destination::kPointCodeBits |
                                       (key.dpc.value & kPointCodeMask);
            entries_.push_back({servers[i].instance, Destination::from_wire(wire),
                                AsIndex{static_cast<std::uint32_t>(i)}});
        }
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return key_of(a.instance, a.destination) < key_of(b.instance, b.destination);
    });
}

std::size_t DestinationIndex::first(std::uint16_t instance, Destination at_least) const {
    const auto wanted = key_of(instance, at_least);
    const auto found = std::lower_bound(
        entries_.begin(), entries_.end(), wanted,
        [](const Entry& e, const auto& key) { return key_of(e.instance, e.destination) < key; });
    return static_cast<std::size_t>(found - entries_.begin());
}

std::span<const DestinationIndex::Entry> DestinationIndex::of_instance(
    std::uint16_t instance) const {
    const auto before = [](const Entry& e, std::uint16_t i) { return e.instance < i; };
    const auto begin = std::lower_bound(entries_.begin(), entries_.end(), instance, before);
    const auto is_here = [instance](const Entry& e) { return e.instance == instance; };
    const auto end = std::partition_point(begin, entries_.end(), is_here);
    return {begin, end};
}

AsIndex DestinationIndex::covering(std::uint16_t instance, Destination d) const {
    for (unsigned bits = d.mask_bits; bits <= Destination::kPointCodeBits; ++bits) {
        const Destination wanted{d.point_code & ~low_bits(bits), static_cast<std::uint8_t>(bits)};
        const std::size_t at = first(instance, wanted);
        if (at < entries_.size() && entries_[at].instance == instance &&
            entries_[at].destination == wanted)
            return entries_[at].as;
    }
    return kNoAs;
}

std::vector<DestinationIndex::Entry> DestinationIndex::inside(std::uint16_t instance, Destination d,
                                                              std::size_t limit) const {
    std::vector<Entry> result;
    const std::uint32_t last = d.point_code | low_bits(d.mask_bits);
    for (unsigned bits = 0; bits < d.mask_bits; ++bits) {
        std::size_t at = first(instance, {d.point_code, static_cast<std::uint8_t>(bits)});
        for (; at < entries_.size() && result.size() < limit; ++at) {
            const Entry& e = entries_[at];
            if (e.instance != instance || e.destination.mask_bits != bits ||
                e.destination.point_code > last)
                break;
            result.push_back(e);
        }
    }
    return result;
}

}  // namespace signalbox::sigtran
