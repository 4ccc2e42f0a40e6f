// SPDX-License-Identifier: Apache-2.0
// INIT and COOKIE ECHO for an association that exists: RFC 9260 5.2.
#include <algorithm>
#include <new>

#include "sctp/cookie_case.h"
#include "sctp/init_parameters.h"
#include "sctp/replies.h"
#include "wire/cookie_chunks.h"
#include "wire/error_causes.h"
#include "wire/shutdown.h"

namespace signalbox::sctp {

bool Association::knows_all(std::span<const IpAddress> addresses) const {
    return std::all_of(addresses.begin(), addresses.end(),
                       [this](const IpAddress& a) { return paths_.find(a) < paths_.size(); });
}

/// 5.2.4.1, 3.3.10.11: ABORT that names the addresses which the association did not have.
void Association::refuse_restart(wire::PacketWriter& out,
                                 std::span<const IpAddress> addresses) const {
    out.begin_chunk(wire::ChunkType::abort);
    out.begin_parameter(wire::code(wire::Cause::restart_with_new_addresses));
    for (const IpAddress& address : addresses)
        if (paths_.find(address) == paths_.size()) wire::write_bare_address(out, address);
    out.end_parameter();
    out.end_chunk();
}

/// HS-5. Nothing of the association changes.
void Association::on_init(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    const auto init = wire::parse_init(chunk.value);
    if (!init || init->tag.value == 0 || init->streams_in == 0 || init->streams_out == 0 ||
        init->a_rwnd_bytes < 1500)
        return env.counters.drop(Drop::init_malformed);
    if (state_ == State::shutdown_ack_sent) {  // 9.2
        pending_ |= kShutdownAck;
        return;
    }
    const InitParameters parameters =
        read_init_parameters(env, init->parameters, pass.packet.source);
    if (parameters.verdict != InitVerdict::ok) return env.counters.drop(Drop::init_malformed);
    constexpr std::size_t kRoom = 1024;
    pass.reply = reply_for(env, pass.packet, init->tag, kRoom);
    if (pass.reply == nullptr) return env.counters.drop(Drop::init_limited);
    wire::PacketWriter out{{pass.reply->bytes(), pass.reply->capacity},
                           {local_port_, remote_port_, init->tag}};
    if (state_ != State::cookie_wait && !knows_all(parameters.list())) {  // 5.2.1, 5.2.2; H14
        env.counters.drop(Drop::restart_new_addresses);
        refuse_restart(out, parameters.list());
    } else {
        const bool setting_up = state_ == State::cookie_wait || state_ == State::cookie_echoed;
        InitAckIdentity identity;
        identity.tag = setting_up ? local_tag_ : env.tags.draw();
        identity.initial_tsn = setting_up ? local_initial_tsn_ : Tsn{env.random.u32()};
        if (state_ != State::cookie_wait)
            identity.local_tie = local_tie_, identity.remote_tie = remote_tie_;
        if (write_init_ack(env, pass.packet, *init, parameters, identity, out))
            env.counters.add(Count::inits_answered);
    }
    pass.reply->size = static_cast<std::uint16_t>(out.size());
}

void Association::on_cookie_echo(Environment& env, ReceivePass& pass, const wire::Chunk& chunk) {
    if (pass.path >= paths_.size() && accepting_) return env.counters.drop(Drop::cookie_mismatch);
    const auto acknowledge = [&] {
        pending_ |= kCookieAck;
        const std::size_t path = paths_.find(pass.packet.source);
        if (path >= paths_.size()) return;
        control_path_ = static_cast<std::uint8_t>(path);             // HS-8
        if (!paths_[path].confirmed) paths_[path].hb_wanted = true;  // 5.4, H09
    };
    if (accepting_) {
        acknowledge();
        return establish(env, pass.effects, Event::up);
    }
    CookieContents cookie;
    const CookieVerdict verdict = env.cookies.open(chunk.value, pass.packet, env.now, cookie);
    if (verdict != CookieVerdict::good) pass.stop = true;  // until judged otherwise
    switch (verdict) {
        case CookieVerdict::malformed:
            return env.counters.drop(Drop::cookie_malformed);
        case CookieVerdict::bad_mac:
            return env.counters.drop(Drop::cookie_bad_mac);
        case CookieVerdict::mismatch:
            return env.counters.drop(Drop::cookie_mismatch);
        case CookieVerdict::stale:
        case CookieVerdict::good:
            break;
    }
    const CookieCase which =
        judge_cookie({local_tag_, remote_tag_, local_tie_, remote_tie_}, cookie);
    if (verdict == CookieVerdict::stale && which != CookieCase::expected) {  // HS-4
        env.counters.drop(Drop::cookie_stale);
        return report_stale(env, pass, cookie);
    }
    pass.stop = false;
    switch (which) {
        case CookieCase::restart:
            return restart(env, pass, cookie);
        case CookieCase::collision:
            return collide(env, pass, cookie);
        case CookieCase::late:
            pass.stop = true;
            return env.counters.drop(Drop::cookie_late);
        case CookieCase::stranger:
            pass.stop = true;
            return env.counters.drop(Drop::cookie_mismatch);
        case CookieCase::expected:
            acknowledge();
            if (state_ == State::cookie_echoed) establish(env, pass.effects, Event::up);
            return;
    }
}

void Association::report_stale(Environment& env, ReceivePass& pass, const CookieContents& cookie) {
    pass.reply = reply_for(env, pass.packet, cookie.remote_tag, 16);
    if (pass.reply == nullptr) return;
    const auto late_us = (env.now - cookie.created - cookie.life) / std::chrono::microseconds{1};
    wire::PacketWriter out{{pass.reply->bytes(), pass.reply->capacity},
                           {local_port_, remote_port_, cookie.remote_tag}};
    out.begin_chunk(wire::ChunkType::error);
    wire::write_cause_stale_cookie(
        out, static_cast<std::uint32_t>(std::min<std::int64_t>(late_us, 0xffffffff)));
    out.end_chunk();
    pass.reply->size = static_cast<std::uint16_t>(out.size());
}

/// Both halves of an association that was restarted: up to hundreds of pages.
struct Association::Retired {
    Retired* next;
    Reconfig* reconfig;  // `out` may have messages that wait there
    Inbound in;
    Outbound out;
};

/// Sets aside what the association holds. False: there is no memory for that now.
bool Association::retire(Environment& env) {
    static_assert(std::is_trivially_copyable_v<Inbound> && std::is_trivially_copyable_v<Outbound>);
    if (!in_.holds_memory() && !out_.holds_memory()) return true;
    void* const block = env.blocks.take(sizeof(Retired));
    if (block == nullptr) return false;
    retired_ = new (block) Retired{retired_, std::exchange(reconfig_, nullptr), in_, out_};
    retired_waits_ = true;
    return true;
}

/// Of the restart before all others first.
std::optional<Outbound::Taken> Association::take_back_retired(Environment& env) {
    for (Retired* newest = nullptr;;) {
        Retired* oldest = retired_;
        if (oldest == newest) return std::nullopt;
        while (oldest->next != newest) oldest = oldest->next;
        if (auto taken = oldest->out.take_back(env)) return taken;
        newest = oldest;
    }
}

bool Association::owes_messages() const {
    for (const Retired* old = retired_; old != nullptr; old = old->next)
        if (old->out.queued_bytes() != 0) return true;
    return state_ == State::closed && out_.queued_bytes() != 0;
}

/// What was queued and not taken back, or not yet delivered, is counted as lost.
void Association::release_retired(Environment& env, std::size_t& budget) {
    constexpr std::size_t kBytesOfBlock = 512;  // at least, but in the last fragment
    Retired& old = *retired_;
    const auto charge = [&](std::size_t bytes) {
        budget -= std::min(budget, 1 + bytes / kBytesOfBlock);
        env.counters.drop(Drop::association_lost);
    };
    while (budget != 0) {
        const auto taken = old.out.take_back(env);
        if (!taken) break;
        charge(taken->message.data.size());
    }
    while (budget != 0 && !old.in.nothing_ready()) {
        const std::uint32_t before = old.in.ready_bytes();
        old.in.pop_ready(env);
        charge(before - old.in.ready_bytes());
    }
    if (budget == 0) return;
    budget -= old.in.release(env, budget);
    budget -= old.out.release(env, budget);
    if (old.in.holds_memory() || old.out.holds_memory()) return;
    free_requests(env, old.reconfig);
    Retired* const next = old.next;
    env.blocks.give(retired_, sizeof(Retired));
    retired_ = next;
    retired_waits_ = next != nullptr;
}

/// Everything of the old association goes. After retire().
void Association::start_afresh(Environment& env, const CookieContents& cookie) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        Path& path = paths_[i];
        const bool confirmed = path.confirmed;
        path.reset(env, IpAddress{path.remote}, IpAddress{path.local});
        path.confirmed = confirmed;
    }
    adopt(env, cookie);
    local_tie_ = {env.random.u32() | 1u};
    remote_tie_ = {env.random.u32() | 1u};
}

/// Action A.
void Association::restart(Environment& env, ReceivePass& pass, const CookieContents& cookie) {
    if (state_ == State::shutdown_ack_sent) {  // HS-7
        pass.stop = true;
        pass.reply = reply_for(env, pass.packet, cookie.remote_tag, 16);
        if (pass.reply == nullptr) return;
        wire::PacketWriter out{{pass.reply->bytes(), pass.reply->capacity},
                               {local_port_, remote_port_, cookie.remote_tag}};
        wire::write_shutdown_ack(out);
        out.begin_chunk(wire::ChunkType::error);
        wire::write_cause(out, wire::Cause::cookie_while_shutting_down);
        out.end_chunk();
        pass.reply->size = static_cast<std::uint16_t>(out.size());
        return;
    }
    const auto addresses = std::span{cookie.addresses}.first(cookie.address_count);
    if (!knows_all(addresses)) {
        constexpr std::size_t kRoom = 16 + 20 * kMaxRemoteAddresses;
        pass.stop = true;
        env.counters.drop(Drop::restart_new_addresses);
        pass.reply = reply_for(env, pass.packet, cookie.remote_tag, kRoom);
        if (pass.reply == nullptr) return;
        wire::PacketWriter out{{pass.reply->bytes(), pass.reply->capacity},
                               {local_port_, remote_port_, cookie.remote_tag}};
        refuse_restart(out, addresses);
        pass.reply->size = static_cast<std::uint16_t>(out.size());
        return;
    }
    if (!retire(env)) {  // not received: the peer sends its COOKIE ECHO again
        pass.stop = true;
        return env.counters.drop(Drop::data_no_memory);
    }
    drop_replies(env);
    start_afresh(env, cookie);
    pass.path = paths_.find(pass.packet.source);
    pending_ = kCookieAck;
    if (pass.path < paths_.size()) control_path_ = static_cast<std::uint8_t>(pass.path);
    establish(env, pass.effects, Event::restarted);
}

/// Action B: the peer's INIT crossed ours; its tag is the one it uses now.
void Association::collide(Environment& env, ReceivePass& pass, const CookieContents& cookie) {
    remote_tag_ = cookie.remote_tag;
    pending_ |= kCookieAck;
    const bool setting_up = state_ == State::cookie_wait || state_ == State::cookie_echoed;
    if (setting_up) {
        const auto addresses = std::span{cookie.addresses}.first(cookie.address_count);
        if (!start_paths(env, addresses, cookie.local_address)) {
            start_paths(env, addresses.first(1), cookie.local_address);  // inline: cannot fail
        }
        paths_[0].confirmed = true;
        if (paths_.size() > 1) pass.effects.add(Event::paths_changed);
        extensions_ = cookie.extensions;
        out_.set_peer(env, cookie.streams_out, cookie.remote_window_bytes, extensions_);
        start_requests(env, cookie.remote_initial_tsn);
    }
    if (setting_up || !in_.received_anything())
        in_.start(env, cookie.remote_initial_tsn, cookie.streams_in, extensions_);
    pass.path = paths_.find(pass.packet.source);
    control_path_ =
        static_cast<std::uint8_t>(pass.path < paths_.size() ? pass.path : paths_.primary());
    if (setting_up) establish(env, pass.effects, Event::up);
}

}  // namespace signalbox::sctp
