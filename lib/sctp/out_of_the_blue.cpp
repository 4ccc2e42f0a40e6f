// SPDX-License-Identifier: Apache-2.0
// RFC 9260 8.4: a packet for no association. What is answered, is answered once and no longer than
// it came (END-2).
#include "sctp/association.h"
#include "wire/error_causes.h"
#include "wire/shutdown.h"

namespace signalbox::sctp {

namespace {

enum class BlueAnswer : std::uint8_t { none, abort_reflected, abort_init, shutdown_complete };

/// 8.4 rules 1 to 8, decided over the whole packet before anything is written.
BlueAnswer judge(const Packet& packet, VerificationTag& tag) {
    if (!packet.source.is_usable_unicast() || !packet.destination.is_usable_unicast())
        return BlueAnswer::none;
    wire::ChunkWalker walker{packet.chunks};
    BlueAnswer answer = BlueAnswer::none;
    tag = packet.tag;
    for (bool first = true;; first = false) {
        const auto chunk = walker.next();
        if (!chunk) return walker.malformed() && first ? BlueAnswer::none : answer;
        switch (static_cast<wire::ChunkType>(chunk->type)) {
            case wire::ChunkType::abort:
            case wire::ChunkType::shutdown_complete:
            case wire::ChunkType::cookie_ack:
                return BlueAnswer::none;
            case wire::ChunkType::error:
                if (wire::has_cause(chunk->value, wire::Cause::stale_cookie))
                    return BlueAnswer::none;
                break;
            case wire::ChunkType::init:
                if (first) {
                    if (packet.tag.value != 0 || chunk->value.size() < 4) return BlueAnswer::none;
                    tag = {wire::load_u32(chunk->value, 0)};
                    return tag.value != 0 ? BlueAnswer::abort_init : BlueAnswer::none;
                }
                break;
            case wire::ChunkType::shutdown_ack:
                if (first) answer = BlueAnswer::shutdown_complete;
                break;
            default:
                break;
        }
        if (answer == BlueAnswer::none) answer = BlueAnswer::abort_reflected;
    }
}

}  // namespace

bool answer_out_of_the_blue(Environment& env, const Packet& packet, TransmitSink& sink) {
    env.counters.drop(Drop::out_of_the_blue);
    VerificationTag tag;
    const BlueAnswer kind = judge(packet, tag);
    if (kind == BlueAnswer::none) return false;
    constexpr std::size_t kBytes = wire::SctpHeader::kBytes + wire::kTlvHeader;
    const auto room = sink.lend(kBytes);
    if (room.size() < kBytes) {
        env.counters.drop(Drop::transmit_no_buffer);
        return false;
    }
    wire::PacketWriter out{room, {packet.destination_port, packet.source_port, tag}};
    if (kind == BlueAnswer::shutdown_complete)
        wire::write_shutdown_complete(out, true);
    else
        wire::write_abort(out, kind == BlueAnswer::abort_reflected);
    sink.commit({packet.destination, packet.source, env.profile.dscp, true}, out.size());
    return true;
}

}  // namespace signalbox::sctp
