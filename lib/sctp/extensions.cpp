// SPDX-License-Identifier: Apache-2.0
#include "sctp/extensions.h"

namespace signalbox::sctp {

namespace {

struct Listed {
    wire::ChunkType type;
    Extension extension;
};
/// Chunk types of the Supported Extensions parameter.
constexpr Listed kListed[] = {{wire::ChunkType::i_data, Extension::i_data},
                              {wire::ChunkType::re_config, Extension::re_config},
                              {wire::ChunkType::forward_tsn, Extension::forward_tsn},
                              {wire::ChunkType::i_forward_tsn, Extension::i_forward_tsn}};

}  // namespace

Extensions offered_extensions(const Profile& profile) {
    Extensions offered;
    if (profile.partial_reliability) offered.add(Extension::forward_tsn);
    if (profile.stream_reset) offered.add(Extension::re_config);
    if (profile.message_interleaving) {
        offered.add(Extension::i_data);
        if (profile.partial_reliability) offered.add(Extension::i_forward_tsn);
    }
    return offered;
}

Extensions read_extensions(wire::Bytes parameters) {
    Extensions found;
    wire::ParameterWalker walker{parameters};
    while (const auto parameter = walker.next()) {
        if (parameter->type == wire::code(wire::ParameterType::forward_tsn_supported))
            found.add(Extension::forward_tsn);
        if (parameter->type != wire::code(wire::ParameterType::supported_extensions)) continue;
        for (const std::uint8_t type : parameter->value)
            for (const Listed& listed : kListed)
                if (type == static_cast<std::uint8_t>(listed.type)) found.add(listed.extension);
    }
    return found;
}

void write_extensions(wire::PacketWriter& out, Extensions extensions) {
    if (extensions.has(Extension::forward_tsn))
        out.parameter(wire::code(wire::ParameterType::forward_tsn_supported));
    Extensions others = extensions;  // FORWARD TSN has its own parameter: RFC 3758 3.3.1
    others.bits &= static_cast<std::uint8_t>(~static_cast<unsigned>(Extension::forward_tsn));
    if (others.bits == 0) return;
    out.begin_parameter(wire::code(wire::ParameterType::supported_extensions));
    for (const Listed& listed : kListed)
        if (extensions.has(listed.extension)) out.u8(static_cast<std::uint8_t>(listed.type));
    out.end_parameter();
}

}  // namespace signalbox::sctp
