// SPDX-License-Identifier: Apache-2.0
// Parameters and causes in, and the packet writer out. First byte: size of the lent buffer in units
// of 4. The rest is walked as parameters; each that is found is written again. The writer must stay
// inside its buffer, and what it wrote without overflow must read back the same.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "wire/error_causes.h"
#include "wire/parameters.h"

using namespace signalbox;
using namespace signalbox::wire;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void read_every_way(const Parameter& parameter) {
    const auto address = parse_address(parameter);
    if (address) require(parameter.value.size() == (address->is_v4() ? 4u : 16u));
    (void)parse_supported_address_types(parameter.value);
    (void)parse_cookie_preservative_ms(parameter.value);
    (void)unknown_parameter_action(parameter.type);
}

bool same(const Parameter& a, const Parameter& b) {
    return a.type == b.type &&
           std::equal(a.value.begin(), a.value.end(), b.value.begin(), b.value.end());
}

void write_again(Bytes parameters, std::span<std::uint8_t> buffer) {
    PacketWriter out{buffer, {1, 2, VerificationTag{3}}};
    out.begin_chunk(ChunkType::init_ack);
    ParameterWalker walker{parameters};
    while (const auto parameter = walker.next()) {
        read_every_way(*parameter);
        out.parameter(parameter->type, parameter->value);
    }
    out.end_chunk();
    require(out.size() <= buffer.size());
    if (out.overflowed()) {
        out.discard_chunk();
        require(out.size() <= SctpHeader::kBytes);
        return;
    }
    const auto chunk = ChunkWalker{Bytes{out.packet()}.subspan(SctpHeader::kBytes)}.next();
    require(chunk.has_value());
    ParameterWalker first{parameters};
    ParameterWalker second{chunk->value};
    while (const auto parameter = first.next()) {
        const auto copy = second.next();
        require(copy && same(*parameter, *copy));
    }
    require(!second.next() && !second.malformed());
}

void quote(Bytes bytes, std::span<std::uint8_t> buffer) {
    PacketWriter out{buffer, {1, 2, VerificationTag{3}}};
    out.begin_chunk(ChunkType::error);
    write_cause_quoting(out, Cause::unrecognized_chunk, bytes);
    out.end_chunk();
    if (buffer.size() >= SctpHeader::kBytes + 2 * kTlvHeader) require(!out.overflowed());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::vector<std::uint8_t> bytes(data + 1, data + size);
    std::vector<std::uint8_t> buffer(std::size_t{data[0]} * 4);
    write_again(bytes, buffer);
    quote(bytes, buffer);
    (void)first_cause(bytes);
    return 0;
}
