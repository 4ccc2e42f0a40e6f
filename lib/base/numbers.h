// SPDX-License-Identifier: Apache-2.0
// One strong type for each protocol number that travels between layers.
#pragma once
#include <compare>
#include <cstdint>

#include "base/serial_number.h"

namespace signalbox {

template <class Tag, class T>
struct Strong {
    T value{};
    friend constexpr auto operator<=>(Strong, Strong) = default;
};

using Tsn = SerialNumber<struct TsnTag, std::uint32_t>;  // RFC 9260 3.3.1
using Ssn = SerialNumber<struct SsnTag, std::uint16_t>;  // RFC 9260 3.3.1
using Mid = SerialNumber<struct MidTag, std::uint32_t>;  // RFC 8260 2.1
using StreamId = Strong<struct StreamIdTag, std::uint16_t>;
using Ppid = Strong<struct PpidTag, std::uint32_t>;
using VerificationTag = Strong<struct VerificationTagTag, std::uint32_t>;
using PointCode = Strong<struct PointCodeTag, std::uint32_t>;  // ITU-T Q.704: 14 bit, right-aligned
using Sls = Strong<struct SlsTag, std::uint8_t>;               // 8 bits end to end
using PeerIndex = Strong<struct PeerIndexTag, std::uint32_t>;  // position in the list of peers
using AsIndex = Strong<struct AsIndexTag, std::uint32_t>;      // position in the list of ASs
using WorkerIndex = Strong<struct WorkerIndexTag, std::uint8_t>;

inline constexpr PeerIndex kNoPeer{0xffffffff};
inline constexpr AsIndex kNoAs{0xffffffff};

}  // namespace signalbox
