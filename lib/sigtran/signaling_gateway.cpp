// SPDX-License-Identifier: Apache-2.0
// Entry points and dispatch of the signaling gateway.
#include "sigtran/signaling_gateway.h"

#include <algorithm>

#include "sigtran/gateway_state.h"
#include "sigtran/transfer.h"

namespace signalbox::sigtran {

using wire::m3ua::ErrorCode;
using wire::m3ua::Message;

namespace {

Server make_server(AsSettings settings, std::size_t peers) {
    const auto is_nobody = [peers](const Member& m) { return m.peer.value >= peers; };
    auto& members = settings.members;
    members.erase(std::remove_if(members.begin(), members.end(), is_nobody), members.end());
    settings.required_active = std::max<std::uint16_t>(settings.required_active, 1);
    std::vector<std::uint16_t> weights;
    std::vector<AspInAs> asps;
    for (const Member& m : members) {
        weights.push_back(m.weight);
        asps.push_back({m.peer});
    }
    SlsBinding binding{weights, settings.sls_bits};
    return {std::move(settings), AsState::down, std::move(asps), std::move(binding)};
}

}  // namespace

SignalingGateway::State::State(std::vector<PeerSettings> peer_settings,
                               std::vector<AsSettings> server_settings, Counters& c)
    : destinations(server_settings), counters(c) {
    for (PeerSettings& p : peer_settings) {
        peers.emplace_back().configured_admin = p.admin;
        peers.back().settings = std::move(p);
    }
    view.peers.resize(peers.size());
    view.servers.resize(server_settings.size());
    for (std::size_t i = 0; i < server_settings.size(); ++i) {
        const AsIndex as{static_cast<std::uint32_t>(i)};
        servers.push_back(make_server(std::move(server_settings[i]), peers.size()));
        const AsSettings& s = servers.back().settings;
        for (const AspInAs& asp : servers.back().asps) {
            at(asp.peer).servers.push_back(as);
            view.peers.edit(asp.peer.value)
                .memberships.push_back({as, s.routing_context, AspState::down});
        }
        show_settings(as);
        view.servers.edit(i).serving.fill(kNoPeer);
    }
}

/// RFC 4666 3.1: version, class, type, length, then the parameters' form.
std::optional<ErrorCode> SignalingGateway::State::judge(Request& rq) const {
    const auto header = wire::m3ua::parse_header(rq.message);
    if (!header) return ErrorCode::protocol_error;
    rq.header = *header;
    if (header->version != wire::m3ua::kVersion) return ErrorCode::invalid_version;
    // Registration is off, and a gateway without it knows no such class (4.4.1).
    if (!wire::m3ua::is_known_class(header->message_class) ||
        header->message_class == static_cast<std::uint8_t>(wire::m3ua::Class::rkm))
        return ErrorCode::unsupported_class;
    if (!wire::m3ua::is_known_type(header->message_class, header->message_type))
        return ErrorCode::unsupported_type;
    const auto bytes = wire::m3ua::parameters_of(rq.message, *header);
    if (!bytes) return ErrorCode::protocol_error;
    auto parameters = parse_management_parameters(*bytes);
    if (!parameters) return ErrorCode::parameter_field_error;
    rq.parameters = std::move(*parameters);
    return std::nullopt;
}

void SignalingGateway::State::dispatch(const Request& rq) {
    switch (rq.header.message()) {
        case Message::aspup:
            return on_aspup(rq);
        case Message::aspdn:
            return on_aspdn(rq);
        case Message::beat:
            return on_beat(rq);
        case Message::aspac:
            return on_aspac(rq);
        case Message::aspia:
            return on_aspia(rq);
        case Message::daud:
            return on_daud(rq);
        case Message::scon:
            return on_scon(rq);
        case Message::err:
            return on_error(rq);
        case Message::data:
            return on_data(rq);
        case Message::beat_ack:
            return;  // heard; an answer to no BEAT of ours is harmless
        default:
            return refuse(rq, ErrorCode::unexpected_message);  // what only an ASP receives
    }
}

void SignalingGateway::State::on_error(const Request& rq) {
    const auto code = static_cast<std::uint8_t>(rq.parameters.error_code.value_or(0));
    changes.push_back({ChangeKind::error_received, kNoAs, rq.peer, 0, code});
}

/// DATA that no worker has judged.
void SignalingGateway::State::on_data(const Request& rq) {
    Drop why{};
    if (accept_data(view, rq.peer, at(rq.peer).settings.quirks, rq.stream, rq.message, why)) {
        // The ASP became active behind the worker's snapshot: too late for this one, but no fault
        // of the peer.
        counters.drop(Drop::m3ua_unexpected);
        return;
    }
    counters.drop(why);
    refuse_data(rq, why);
}

AspState SignalingGateway::State::asp_state(AsIndex as, PeerIndex peer) const {
    for (const AspInAs& asp : at(as).asps)
        if (asp.peer == peer) return asp.state;
    return AspState::down;
}

bool SignalingGateway::State::has_state(PeerIndex peer, AspState wanted) const {
    const auto& memberships = view.peers[peer.value].memberships;
    return std::any_of(memberships.begin(), memberships.end(),
                       [wanted](const Membership& m) { return m.state == wanted; });
}

SignalingGateway::SignalingGateway(std::vector<PeerSettings> peers, std::vector<AsSettings> servers,
                                   Counters& counters)
    : state_(std::make_unique<State>(std::move(peers), std::move(servers), counters)) {}

SignalingGateway::~SignalingGateway() = default;

void SignalingGateway::association_up(PeerIndex peer, std::uint16_t, Time now) {
    State& s = *state_;
    if (peer.value >= s.peers.size()) return;
    s.now = now;
    if (s.at(peer).associated) s.fail(peer);  // the loss of the former one was not told
    s.at(peer).associated = true;
    s.outbox.settle();
}

void SignalingGateway::association_restarted(PeerIndex peer, std::uint16_t streams_out, Time now) {
    association_up(peer, streams_out,
                   now);  // sigtran.md 2.12: DOWN in all its AS, the others are told
}

void SignalingGateway::association_lost(PeerIndex peer, Time now) {
    State& s = *state_;
    if (peer.value >= s.peers.size()) return;
    s.now = now;
    s.fail(peer);
    s.at(peer).associated = false;
    s.outbox.settle();
}

void SignalingGateway::receive(PeerIndex peer, StreamId stream,
                               std::span<const std::uint8_t> message, Time now) {
    State& s = *state_;
    s.now = now;
    if (peer.value >= s.peers.size() || !s.at(peer).associated) {
        s.counters.drop(Drop::m3ua_unexpected);
        return;
    }
    s.at(peer).heard = now;
    if (!s.at(peer).management.take(now)) {
        s.counters.drop(Drop::m3ua_limited);
        return;
    }
    Request rq{peer, stream, message, {}, {}};
    if (const auto error = s.judge(rq))
        s.refuse(rq, *error);
    else
        s.dispatch(rq);
    s.outbox.settle();
    s.check();
}

void SignalingGateway::refuse_data(PeerIndex peer, StreamId stream,
                                   std::span<const std::uint8_t> message, Drop why, Time now) {
    State& s = *state_;
    s.now = now;
    if (peer.value >= s.peers.size() || !s.at(peer).associated) return;
    Request rq{peer, stream, message, {}, {}};
    // The worker has counted it. What is wrong with its form is found again here, in more detail.
    const auto error = s.judge(rq);
    if (error && why == Drop::m3ua_malformed)
        s.send_error(rq, *error);
    else
        s.refuse_data(rq, why);
    s.outbox.settle();
}

void SignalingGateway::send_queue_level(PeerIndex peer, std::uint32_t level, Time now) {
    if (peer.value >= state_->peers.size()) return;
    state_->now = now;
    state_->send_queue_level(peer, std::min(level, kCongestionLevelMax));
}

void SignalingGateway::advance(Time now) {
    State& s = *state_;
    s.now = now;
    while (!s.recoveries.empty() && s.recoveries.begin()->first <= now)
        s.recovery_over(AsIndex{s.recoveries.begin()->second});
    s.run_beats();
    s.outbox.settle();
    s.check();
}

Time SignalingGateway::next_deadline() const {
    const auto& recoveries = state_->recoveries;
    const auto& beats = state_->beats;
    const Time recovery = recoveries.empty() ? kNever : recoveries.begin()->first;
    const Time beat = beats.empty() ? kNever : beats.begin()->first;
    return std::min({recovery, beat, state_->announcement_due()});
}

std::vector<Outgoing> SignalingGateway::take_outgoing() {
    if (state_->draining)
        state_->drain_slice();
    else
        state_->announce_changes();
    return state_->outbox.take();
}

std::vector<Change> SignalingGateway::take_changes() {
    return std::exchange(state_->changes, {});
}

std::vector<Move> SignalingGateway::take_moves() {
    return std::exchange(state_->moves, {});
}

void SignalingGateway::moved(AsIndex as) {
    if (as.value < state_->servers.size()) state_->moved(as);
}

bool SignalingGateway::dirty() const {
    return state_->dirty;
}

Distribution SignalingGateway::distribution() {
    state_->dirty = false;
    return state_->view;
}

AsState SignalingGateway::as_state(AsIndex as) const {
    return as.value < state_->servers.size() ? state_->at(as).state : AsState::down;
}

AspState SignalingGateway::asp_state(AsIndex as, PeerIndex peer) const {
    return as.value < state_->servers.size() ? state_->asp_state(as, peer) : AspState::down;
}

}  // namespace signalbox::sigtran
