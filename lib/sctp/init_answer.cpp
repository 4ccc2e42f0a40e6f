// SPDX-License-Identifier: Apache-2.0
// The listener's side of the handshake, without state: RFC 9260 5.1, HS-1, HS-2.
#include "sctp/association.h"
#include "sctp/init_parameters.h"
#include "wire/error_causes.h"

namespace signalbox::sctp {

namespace {

class Answer {
 public:
    Answer(Environment& env, const Packet& packet, TransmitSink& sink, VerificationTag tag)
        : env_(env),
          packet_(packet),
          sink_(sink),
          room_(sink.lend(first_mtu(env.profile, packet.source.is_v4()) -
                          (packet.source.is_v4() ? 20u : 40u))),
          out_(room_, {packet.destination_port, packet.source_port, tag}) {
        if (room_.empty()) env.counters.drop(Drop::transmit_no_buffer);
    }
    wire::PacketWriter& out() { return out_; }
    bool send() {
        if (room_.empty() || out_.overflowed()) return false;
        sink_.commit({packet_.destination, packet_.source, env_.profile.dscp, true}, out_.size());
        return true;
    }

 private:
    Environment& env_;
    const Packet& packet_;
    TransmitSink& sink_;
    std::span<std::uint8_t> room_;
    wire::PacketWriter out_;
};

bool refuse(Environment& env, const Packet& packet, TransmitSink& sink, VerificationTag tag,
            Drop reason, wire::Cause cause, wire::Bytes information = {}) {
    env.counters.drop(reason);
    constexpr std::size_t kMaxQuote = 64;  // never longer than what came (HS-2)
    Answer answer{env, packet, sink, tag};
    wire::write_abort(answer.out(), false, cause,
                      information.first(std::min(information.size(), kMaxQuote)));
    return answer.send();
}

}  // namespace

bool answer_init(Environment& env, const Packet& packet, TransmitSink& sink) {
    wire::ChunkWalker walker{packet.chunks};
    const auto chunk = walker.next();
    const auto dropped = [&env](Drop reason) {
        env.counters.drop(reason);
        return false;
    };
    if (!chunk) return dropped(Drop::chunk_bad_length);
    if (packet.tag.value != 0) return dropped(Drop::bad_tag);  // 8.5.1 A
    if (!walker.rest().empty()) return dropped(Drop::init_bundled);
    const auto init = wire::parse_init(chunk->value);
    if (!init || init->tag.value == 0) return dropped(Drop::init_malformed);
    if (init->streams_in == 0 || init->streams_out == 0)  // 3.3.2, H03
        return refuse(env, packet, sink, init->tag, Drop::init_malformed,
                      wire::Cause::invalid_mandatory_parameter);
    if (init->a_rwnd_bytes < 1500)
        return refuse(env, packet, sink, init->tag, Drop::init_malformed,
                      wire::Cause::protocol_violation);
    const InitParameters parameters = read_init_parameters(env, init->parameters, packet.source);
    switch (parameters.verdict) {
        case InitVerdict::malformed:
            return dropped(Drop::init_malformed);
        case InitVerdict::host_name:
            return refuse(env, packet, sink, init->tag, Drop::init_malformed,
                          wire::Cause::unresolvable_address, parameters.host_name);
        case InitVerdict::too_many_addresses:
            return refuse(env, packet, sink, init->tag, Drop::init_refused_resources,
                          wire::Cause::out_of_resource);
        case InitVerdict::ok:
            break;
    }
    Answer answer{env, packet, sink, init->tag};
    const InitAckIdentity identity{env.tags.draw(), {env.random.u32()}, {}, {}};
    if (!write_init_ack(env, packet, *init, parameters, identity, answer.out())) return false;
    if (!answer.send()) return false;
    env.counters.add(Count::inits_answered);
    return true;
}

bool answer_stale_cookie(Environment& env, const Packet& packet, const CookieContents& cookie,
                         TransmitSink& sink) {
    const auto late_us = std::chrono::duration_cast<std::chrono::microseconds>(
        env.now - cookie.created - cookie.life);
    Answer answer{env, packet, sink, cookie.remote_tag};
    answer.out().begin_chunk(wire::ChunkType::error);
    wire::write_cause_stale_cookie(answer.out(),
                                   static_cast<std::uint32_t>(std::min<std::int64_t>(
                                       std::max<std::int64_t>(late_us.count(), 0), 0xffffffff)));
    answer.out().end_chunk();
    return answer.send();
}

}  // namespace signalbox::sctp
