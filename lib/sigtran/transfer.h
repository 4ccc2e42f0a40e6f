// SPDX-License-Identifier: Apache-2.0
// The data path of M3UA: DATA in, DATA out (RFC 4666 3.3.1). No allocation, no state; workers call
// it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/drop.h"
#include "base/numbers.h"
#include "sigtran/distribution.h"
#include "wire/m3ua.h"

namespace signalbox::sigtran {

/// RFC 4666 3.3.1 Protocol Data, fields in host order; `user_data` is a view into the message.
struct ProtocolData {
    PointCode opc;
    PointCode dpc;
    std::uint8_t si = 0;
    std::uint8_t ni = 0;
    std::uint8_t mp = 0;
    Sls sls;
    std::span<const std::uint8_t> user_data;
};

/// The message's class and type, nullopt when the common header is bad (the control side answers
/// with ERR).
struct MessageKind {
    std::uint8_t message_class = 0;
    std::uint8_t message_type = 0;
};
inline std::optional<MessageKind> kind_of(std::span<const std::uint8_t> message) {
    const auto header = wire::m3ua::parse_header(message);
    if (!header || header->version != wire::m3ua::kVersion) return std::nullopt;
    if (!wire::m3ua::parameters_of(message, *header)) return std::nullopt;
    return MessageKind{header->message_class, header->message_type};
}
inline constexpr MessageKind kDataKind{1, 1};

struct Accepted {
    AsIndex from_as = kNoAs;  // the sending ASP's AS
    ProtocolData data;
};
/// Judges one DATA from `peer` received on `stream`: parse, stream, routing context, state of the
/// ASP, network appearance. On refusal `why` names the drop; the control side is told so that it
/// can answer with ERR.
std::optional<Accepted> accept_data(const Distribution& d, PeerIndex peer, const Quirks& quirks,
                                    StreamId stream, std::span<const std::uint8_t> message,
                                    Drop& why);

/// A DATA that was encoded for `to` and came back undelivered: for which AS it was, and its
/// content. nullopt: no DATA of ours.
std::optional<Accepted> reclaim_data(const Distribution& d, PeerIndex to,
                                     std::span<const std::uint8_t> message);

/// Everything of an outgoing DATA but the user data: header to be followed by the data, then the
/// trailer (padding, Correlation Id).
struct DataHeader {
    std::array<std::uint8_t, 48> bytes;
    std::size_t length = 0;
    std::array<std::uint8_t, 12> trailer_bytes;
    std::size_t trailer_length = 0;
    std::span<const std::uint8_t> span() const { return {bytes.data(), length}; }
    std::span<const std::uint8_t> trailer() const { return {trailer_bytes.data(), trailer_length}; }
};
DataHeader encode_data_header(const AsView& to, const ProtocolData& data,
                              const std::optional<std::uint32_t>& correlation_id = {});

/// Stream = 1 + h(SLS) mod (streams_out - 1); 0 only with one stream and the quirk; nullopt: refuse
/// (decision 3).
inline std::optional<StreamId> stream_for(Sls sls, std::uint16_t streams_out,
                                          const Quirks& quirks) {
    if (streams_out > 1)
        return StreamId{static_cast<std::uint16_t>(1 + sls.value % (streams_out - 1))};
    if (streams_out == 1 && quirks.data_on_stream_0) return StreamId{0};
    return std::nullopt;
}

}  // namespace signalbox::sigtran
