// SPDX-License-Identifier: Apache-2.0
// A packet for an association: tag first, then chunk by chunk by a table of what each state
// accepts. RFC 9260 8.5, 3.2.
#include <algorithm>
#include <array>

#include "sctp/replies.h"
#include "wire/error_causes.h"
#include "wire/heartbeat.h"
#include "wire/shutdown.h"

namespace signalbox::sctp {

namespace {

using wire::ChunkType;

constexpr std::size_t kMaxControlChunks = 64;  // P12
constexpr std::size_t kMaxDataChunks = 4096;   // P12: any IP packet's worth of the shortest DATA

constexpr std::uint32_t bit(ChunkType type) {
    return 1u << static_cast<unsigned>(type);
}

// What each state takes (RFC 9260 4, 5, 6, 9); every other known chunk is a counted drop.
constexpr std::uint32_t kAlways =
    bit(ChunkType::init) | bit(ChunkType::abort) | bit(ChunkType::cookie_echo);
constexpr std::uint32_t kOpen = kAlways | bit(ChunkType::heartbeat) |
                                bit(ChunkType::heartbeat_ack) | bit(ChunkType::error) |
                                bit(ChunkType::cookie_ack);
constexpr std::array<std::uint32_t, 8> kAccepted{
    /* closed            */ 0,
    /* cookie_wait       */ kAlways | bit(ChunkType::init_ack) | bit(ChunkType::shutdown_ack),
    /* cookie_echoed     */ kOpen | bit(ChunkType::shutdown_ack),
    /* established       */ kOpen | bit(ChunkType::data) | bit(ChunkType::sack) |
        bit(ChunkType::shutdown),
    /* shutdown_pending  */ kOpen | bit(ChunkType::data) | bit(ChunkType::sack) |
        bit(ChunkType::shutdown),
    /* shutdown_sent     */ kOpen | bit(ChunkType::data) | bit(ChunkType::sack) |
        bit(ChunkType::shutdown) | bit(ChunkType::shutdown_ack),
    /* shutdown_received */ kOpen | bit(ChunkType::sack) | bit(ChunkType::shutdown),
    /* shutdown_ack_sent */ kOpen | bit(ChunkType::shutdown) | bit(ChunkType::shutdown_ack) |
        bit(ChunkType::shutdown_complete),
};

constexpr bool known(std::uint8_t type) {
    return type <= static_cast<std::uint8_t>(ChunkType::shutdown_complete) &&
           type != static_cast<std::uint8_t>(ChunkType::ecne) &&
           type != static_cast<std::uint8_t>(ChunkType::cwr);
}
/// What an agreed extension adds; without the agreement the chunk is an unknown one.
constexpr Extension extension_of(std::uint8_t type) {
    switch (static_cast<ChunkType>(type)) {
        case ChunkType::i_data:
            return Extension::i_data;
        case ChunkType::forward_tsn:
            return Extension::forward_tsn;
        case ChunkType::i_forward_tsn:
            return Extension::i_forward_tsn;
        case ChunkType::re_config:
            return Extension::re_config;
        default:
            return Extension::none;
    }
}
constexpr bool is_data(std::uint8_t type) {
    return type == static_cast<std::uint8_t>(ChunkType::data) ||
           type == static_cast<std::uint8_t>(ChunkType::i_data);
}
constexpr bool accepted(State state, std::uint8_t type) {
    return (kAccepted[static_cast<std::size_t>(state)] >> type & 1) != 0;
}

static_assert([] {  // every state but CLOSED can be ended by the peer
    for (std::size_t s = 1; s < kAccepted.size(); ++s)
        if ((kAccepted[s] & bit(ChunkType::abort)) == 0) return false;
    return true;
}());

}  // namespace

/// RFC 9260 8.5.1 and PKT-2: nothing answers or changes before the tag is right.
bool Association::tag_acceptable(Environment& env, const Packet& packet) {
    const auto first = wire::ChunkWalker{packet.chunks}.next();
    if (!first) {
        env.counters.drop(Drop::chunk_bad_length);
        return false;
    }
    const bool reflected =
        (first->flags & wire::kFlagT) != 0 && packet.tag == remote_tag_ && remote_tag_.value != 0;
    bool good = packet.tag == local_tag_;
    switch (static_cast<ChunkType>(first->type)) {
        case ChunkType::init:
            good = packet.tag.value == 0;
            break;
        case ChunkType::abort:
        case ChunkType::shutdown_complete:
            good = (first->flags & wire::kFlagT) != 0 ? reflected : good;
            break;
        case ChunkType::shutdown_ack:
            good =
                good || state_ == State::cookie_wait || state_ == State::cookie_echoed;  // 8.5.1 E
            break;
        case ChunkType::cookie_echo:
            good = true;
            break;  // judged by the cookie (5.2.4)
        default:
            break;
    }
    if (!good) env.counters.drop(Drop::bad_tag);
    return good;
}

void Association::receive(Environment& env, const Packet& packet, Effects& effects) {
    if (state_ == State::closed && !accepting_) {
        env.counters.drop(Drop::after_close);
        return;
    }
    if (!tag_acceptable(env, packet)) return;
    ReceivePass pass{.packet = packet, .effects = effects};
    pass.path = paths_.find(packet.source);
    std::size_t control = 0;
    std::size_t data = 0;
    wire::ChunkWalker walker{packet.chunks};
    bool first = true;
    while (const auto chunk = walker.next()) {
        if (is_data(chunk->type) ? ++data > kMaxDataChunks : ++control > kMaxControlChunks) {
            env.counters.drop(Drop::chunk_too_many);
            continue;
        }
        const auto type = static_cast<ChunkType>(chunk->type);
        const bool alone = type == ChunkType::init || type == ChunkType::init_ack ||
                           type == ChunkType::shutdown_complete;
        if (alone && (!first || !walker.rest().empty())) {  // 6.10
            env.counters.drop(Drop::init_bundled);
            break;
        }
        if (type == ChunkType::cookie_echo && !first) {
            env.counters.drop(Drop::chunk_unexpected);
            break;
        }
        first = false;
        process(env, pass, *chunk);
        if (pass.stop || state_ == State::closed) {
            if (!walker.rest().empty()) env.counters.drop(Drop::after_close);  // PKT-7
            break;
        }
    }
    if (walker.malformed()) env.counters.drop(Drop::chunk_bad_length);
    if (pass.data && state_ != State::closed) {
        // 6.4: a duplicate may mean that our SACK was lost on the way there.
        if (pass.path < paths_.size())
            in_.sack_path = static_cast<std::uint8_t>(
                pass.duplicate ? paths_.for_retransmission(pass.path) : pass.path);
        in_.packet_done(env);
        if (state_ == State::shutdown_sent) {  // 9.2: answered at once by SACK and SHUTDOWN
            in_.sack_at_once();
            pending_ |= kShutdown;
            arm_control(env, paths_[control_path_].rto);
        }
    }
    reconsider_request(env);
    advance_shutdown(env);
    check();
}

void Association::process(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    if (chunk.type == static_cast<std::uint8_t>(ChunkType::pad)) return;  // RFC 4820 3
    if (!known(chunk.type)) {
        return extensions_.has(extension_of(chunk.type)) ? process_extension(env, pass, chunk)
                                                         : on_unknown(env, pass, chunk);
    }
    const auto type = static_cast<ChunkType>(chunk.type);
    if (!accepted(state_, chunk.type) && !(accepting_ && type == ChunkType::cookie_echo)) {
        env.counters.drop(type == ChunkType::data ? Drop::data_not_accepted
                                                  : Drop::chunk_unexpected);
        return;
    }
    switch (type) {
        case ChunkType::data:
            return on_data(env, pass, chunk);
        case ChunkType::init:
            return on_init(env, pass, chunk);
        case ChunkType::init_ack:
            return on_init_ack(env, pass, chunk);
        case ChunkType::sack:
            return on_sack(env, pass, chunk);
        case ChunkType::heartbeat:
            return on_heartbeat(env, pass, chunk);
        case ChunkType::heartbeat_ack:
            return on_heartbeat_ack(env, pass, chunk);
        case ChunkType::abort:
            return on_abort(env, pass, chunk);
        case ChunkType::shutdown:
            return on_shutdown(env, pass, chunk);
        case ChunkType::shutdown_ack:
            return on_shutdown_ack(env, pass);
        case ChunkType::error:
            return on_error(env, pass, chunk);
        case ChunkType::cookie_echo:
            return on_cookie_echo(env, pass, chunk);
        case ChunkType::cookie_ack:
            return on_cookie_ack(env, pass);
        case ChunkType::shutdown_complete:
            return on_shutdown_complete(env, pass);
        default:
            return;
    }
}

void Association::process_extension(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const bool takes_data = accepted(state_, static_cast<std::uint8_t>(ChunkType::data));
    const bool of_data = chunk.type != static_cast<std::uint8_t>(ChunkType::re_config);
    if (of_data ? !takes_data : !takes_re_config()) {
        return env.counters.drop(is_data(chunk.type) ? Drop::data_not_accepted
                                                     : Drop::chunk_unexpected);
    }
    switch (static_cast<ChunkType>(chunk.type)) {
        case ChunkType::i_data:
            return on_i_data(env, pass, chunk);
        case ChunkType::forward_tsn:
        case ChunkType::i_forward_tsn:
            if (extensions_.has(Extension::i_data) !=
                (static_cast<ChunkType>(chunk.type) == ChunkType::i_forward_tsn)) {
                env.counters.drop(Drop::chunk_unexpected);  // RFC 8260 2.3: the other form
                return;
            }
            return on_forward_tsn(env, pass, chunk);
        default:
            return on_re_config(env, pass, chunk);
    }
}

/// RFC 9260 3.2: the two high bits say whether to stop and whether to report.
void Association::on_unknown(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    env.counters.drop(Drop::chunk_unknown);
    const wire::UnknownAction action = wire::unknown_action(chunk.type);
    pass.stop = action.stop;
    if (!action.report || state_ == State::cookie_wait) return;
    constexpr std::size_t kMaxEcho = 256;  // PKT-3
    std::array<std::uint8_t, kMaxEcho + wire::kTlvHeader> cause{};
    const std::size_t echoed = std::min(chunk.raw.size(), kMaxEcho);
    wire::store_u16(cause, 0, wire::code(wire::Cause::unrecognized_chunk));
    wire::store_u16(cause, 2, static_cast<std::uint16_t>(echoed + wire::kTlvHeader));
    std::copy_n(chunk.raw.begin(), echoed, cause.begin() + wire::kTlvHeader);
    reply_cause(env, pass, std::span{cause}.first(echoed + wire::kTlvHeader));
}

void Association::on_data(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    wire::Data data;
    const bool good = wire::read_data(chunk.flags, chunk.value, data);
    if (good && !extensions_.has(Extension::i_data))
        return on_fragment(env, pass, Fragment::of(data));
    env.counters.drop(good ? Drop::data_protocol_violation : Drop::chunk_malformed);  // D04
    abort_with(env, pass.effects, wire::code(wire::Cause::protocol_violation));
}

void Association::on_i_data(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto data = wire::parse_i_data(chunk);
    if (data) return on_fragment(env, pass, Fragment::of(*data));
    env.counters.drop(Drop::chunk_malformed);
    abort_with(env, pass.effects, wire::code(wire::Cause::protocol_violation));
}

void Association::on_fragment(Environment& env, ReceivePass& pass, const Fragment& data) {
    if (pass.path < paths_.size()) control_path_ = static_cast<std::uint8_t>(pass.path);
    if (data.payload.empty()) {  // D02, RFC 9260 6.2
        env.counters.drop(Drop::data_empty);
        return abort_with(env, pass.effects, wire::code(wire::Cause::no_user_data), data.tsn.value,
                          4);
    }
    pass.data = true;
    heard_at_ = env.now;
    if (env.short_of_pages) return env.counters.drop(Drop::data_no_memory);  // DAT-1
    switch (in_.receive(env, data, pass.effects)) {
        case DataOutcome::accepted:
            return env.counters.add(Count::rx_data_chunks);
        case DataOutcome::duplicate:
            pass.duplicate = true;
            return env.counters.drop(Drop::data_duplicate);
        case DataOutcome::no_memory:
            return env.counters.drop(Drop::data_no_memory);
        case DataOutcome::window_full:
            return env.counters.drop(Drop::data_window_full);
        case DataOutcome::out_of_range:
            return env.counters.drop(Drop::data_out_of_range);
        case DataOutcome::skipped:
            return env.counters.drop(Drop::data_skipped);
        case DataOutcome::violation:
            env.counters.drop(Drop::data_protocol_violation);
            return abort_with(env, pass.effects, wire::code(wire::Cause::protocol_violation));
        case DataOutcome::too_long:
            env.counters.drop(Drop::data_too_long);
            return abort_with(env, pass.effects, wire::code(wire::Cause::out_of_resource));
        case DataOutcome::invalid_stream: {  // 6.5, DAT-8
            env.counters.drop(Drop::data_invalid_stream);
            std::array<std::uint8_t, 8> cause{0, 1, 0, 8};
            wire::store_u16(cause, 4, data.stream.value);
            reply_cause(env, pass, cause);
            return;
        }
    }
}

void Association::on_sack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto sack = wire::parse_sack(chunk.value);
    if (!sack) return env.counters.drop(Drop::sack_malformed);
    on_acknowledged(env, pass, out_.apply_sack(env, paths_, *sack));
}

void Association::on_acknowledged(Environment& env, ReceivePass& pass, AckOutcome outcome) {
    switch (outcome) {
        case AckOutcome::applied:
            heard_at_ = env.now;
            error_count_ = out_.touched_paths() != 0 ? std::uint16_t{0} : error_count_;
            for (std::size_t i = 0; i < paths_.size(); ++i)
                if ((out_.touched_paths() >> i & 1) != 0) {
                    paths_[i].mtu.delivered();
                    path_answered(env, pass.effects, i);
                }
            return;
        case AckOutcome::old:
            return env.counters.drop(Drop::sack_old);
        case AckOutcome::malformed:
            return env.counters.drop(Drop::sack_malformed);
        case AckOutcome::unsent:  // S01
            env.counters.drop(Drop::sack_unsent);
            return abort_with(env, pass.effects, wire::code(wire::Cause::protocol_violation));
    }
}

void Association::on_heartbeat(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    if (!wire::parse_heartbeat_info(chunk.value)) return env.counters.drop(Drop::chunk_malformed);
    if (!reply_chunk(env, pass, ChunkType::heartbeat_ack, 0, chunk.value))
        env.counters.drop(Drop::chunk_too_many);
}

void Association::on_heartbeat_ack(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto info = wire::parse_heartbeat_info(chunk.value);
    const std::uint64_t nonce = info && info->size() == 8 ? load_be64(info->data()) : 0;
    std::size_t i = nonce != 0 ? 0 : paths_.size();
    for (; i < paths_.size() && paths_[i].hb_nonce != nonce; ++i)
        if (paths_[i].mtu.answered(nonce, env.now)) return path_answered(env, pass.effects, i);
    if (i == paths_.size()) return env.counters.drop(Drop::heartbeat_ack_unmatched);
    Path& path = paths_[i];
    heard_at_ = env.now;
    if (path.hb_timeout != kNever) path.measured(env.profile, env.now - path.hb_sent_at);
    path.hb_nonce = 0;
    path.hb_timeout = kNever;
    const bool was_confirmed = path.confirmed;
    path.confirmed = true;
    path_answered(env, pass.effects, i);
    if (!was_confirmed) {  // 5.4
        path.schedule_heartbeat(env);
        path.mtu.begin(env.profile, env.now);
        pass.effects.add(Event::path_up, static_cast<std::uint8_t>(i));
    }
}

void Association::on_abort(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    // 8.5.1 B: the flag must say whose tag it is, also for an ABORT behind other chunks.
    const bool reflected = (chunk.flags & wire::kFlagT) != 0;
    if (pass.packet.tag != (reflected ? remote_tag_ : local_tag_))
        return env.counters.drop(Drop::bad_tag);
    finish(env, pass.effects, Event::aborted, wire::first_cause(chunk.value));
}

void Association::on_error(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    if (!wire::parameters_well_formed(chunk.value)) return env.counters.drop(Drop::chunk_malformed);
    if (wire::has_cause(chunk.value, wire::Cause::stale_cookie))
        return on_stale_cookie(env, pass, chunk.value);
    pass.effects.add(Event::remote_error, 0, wire::first_cause(chunk.value));
}

}  // namespace signalbox::sctp
