// SPDX-License-Identifier: Apache-2.0
// The operator's questions and interventions: control thread, and the worker's answer.
#include <algorithm>
#include <type_traits>

#include "core/node.h"
#include "core/shared.h"
#include "core/slot.h"
#include "core/worker_state.h"
#include "sigtran/transfer.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kAskedPerTurn = 64;  // an answer is up to 1 KiB of a worker's ring
constexpr Duration kAnswerWithin = std::chrono::seconds{2};

/// An answer in a ring: this, then the paths.
struct Described {
    std::uint16_t local_port;
    std::uint16_t remote_port;
    std::uint16_t streams_out;
    std::uint16_t streams_in;
    std::uint32_t queued_bytes;
    std::uint32_t ready_bytes;
    std::uint32_t receive_window;
    std::uint32_t path_count;
    std::int64_t stalled_ns;
    bool blocked;
};
static_assert(std::is_trivially_copyable_v<Described> && std::is_trivially_copyable_v<PathInfo>);

std::span<const std::uint8_t> bytes_of(const void* data, std::size_t size) {
    return {static_cast<const std::uint8_t*>(data), size};
}

PathInfo info_of(const sctp::PathView& p) {
    return {.remote = p.remote,
            .local = p.local,
            .confirmed = p.confirmed,
            .active = p.active,
            .potentially_failed = p.potentially_failed,
            .error_count = p.error_count,
            .cwnd_bytes = p.cwnd_bytes,
            .outstanding_bytes = p.outstanding_bytes,
            .rto = p.rto};
}

}  // namespace

void Worker::State::describe(const RecordHeader& question, Time now) {
    RecordHeader answer = question;
    answer.kind = RecordKind::described;
    Slot* slot = find(question.ref);
    if (slot == nullptr) {
        push(Site::ring_described, mine.to_control,
             answer);  // it ended meanwhile: an answer without content
        return;
    }
    const sctp::Association& a = slot->association;
    const Time since = a.stalled_since();
    std::array<PathInfo, sctp::kMaxRemoteAddresses> paths;
    const std::size_t count = std::min(a.path_count(), paths.size());
    for (std::size_t i = 0; i < count; ++i) paths[i] = info_of(a.path(i));
    const Described described{.local_port = a.local_port(),
                              .remote_port = a.remote_port(),
                              .streams_out = a.streams_out(),
                              .streams_in = a.streams_in(),
                              .queued_bytes = a.queued_bytes(),
                              .ready_bytes = a.ready_bytes(),
                              .receive_window = a.receive_window(),
                              .path_count = static_cast<std::uint32_t>(count),
                              .stalled_ns = since == kNever ? 0 : (now - since).count(),
                              .blocked = slot->blocked};
    const std::span<const std::uint8_t> pieces[] = {
        bytes_of(&described, sizeof described), bytes_of(paths.data(), count * sizeof(PathInfo))};
    // A full ring: the asker's time will be over.
    push(Site::ring_described, mine.to_control, answer, pieces);
}

void Node::Shared::described(const Record& record) {
    if (survey.awaited > 0) --survey.awaited;
    if (record.bytes.size() < sizeof(Described)) return;
    Described d;
    std::memcpy(&d, record.bytes.data(), sizeof d);
    AssociationInfo info{.peer = record.header.peer,
                         .worker = record.header.ref.worker,
                         .local_port = d.local_port,
                         .remote_port = d.remote_port,
                         .streams_out = d.streams_out,
                         .streams_in = d.streams_in,
                         .queued_bytes = d.queued_bytes,
                         .ready_bytes = d.ready_bytes,
                         .receive_window = d.receive_window,
                         .blocked = d.blocked,
                         .stalled = Duration{d.stalled_ns},
                         .path_count = d.path_count,
                         .paths = {}};
    const auto rest = record.bytes.subspan(sizeof d);
    info.paths.resize(std::min<std::size_t>(d.path_count, rest.size() / sizeof(PathInfo)));
    if (!info.paths.empty())
        std::memcpy(info.paths.data(), rest.data(), info.paths.size() * sizeof(PathInfo));
    survey.found.push_back(std::move(info));
}

void Node::Shared::continue_survey() {
    for (std::size_t n = 0; n < kAskedPerTurn && survey.next < survey.to_ask.size(); ++n) {
        const PeerIndex peer = survey.to_ask[survey.next++];
        const PeerLink& link = links[peer.value];
        if (!link.up) continue;
        command({.kind = RecordKind::describe, .ref = link.ref, .peer = peer}, {});
        ++survey.awaited;
    }
}

void Node::ask_associations(PeerIndex only, Time now) {
    Shared& s = *shared_;
    s.survey = {};
    s.survey.deadline = now + kAnswerWithin;
    for (std::uint32_t p = 0; p < s.links.size(); ++p)
        if (s.links[p].up && (only == kNoPeer || only.value == p))
            s.survey.to_ask.push_back(PeerIndex{p});
}

bool Node::associations_known(Time now) const {
    const auto& survey = shared_->survey;
    const bool all_asked = survey.next == survey.to_ask.size();
    return (all_asked && survey.awaited == 0) || now >= survey.deadline;
}

std::vector<AssociationInfo> Node::take_associations() {
    auto found = std::move(shared_->survey.found);
    shared_->survey = {};
    std::sort(found.begin(), found.end(), [](const AssociationInfo& a, const AssociationInfo& b) {
        return a.peer.value < b.peer.value;
    });
    return found;
}

RouteAnswer Node::explain(const RouteQuestion& q) const {
    const Shared& s = *shared_;
    const Snapshot& now = *s.snapshot.load(std::memory_order_relaxed);  // control's own
    const Settings& settings = s.settings();
    const std::uint16_t instance = settings.servers[q.from.value].instance;
    const mtp3::Decision decision = s.plan->routes.route(
        instance,
        {.opc = q.opc,
         .dpc = q.dpc,
         .service_indicator = q.service_indicator,
         .network_indicator = settings.instances[instance].network_indicator,
         .priority = 0,
         .sls = q.sls},
        [&now](AsIndex as) { return reach_of(now.distribution.servers[as.value].state); });
    RouteAnswer answer;
    answer.refused = decision.refused;
    answer.as = decision.as;
    if (answer.refused) return answer;
    if (decision.as == q.from || s.plan->routes.comes_back(instance, q.opc, q.dpc, decision.as))
        answer.refused = Drop::mtp3_loop;
    const sigtran::AsView& as = now.distribution.servers[decision.as.value];
    answer.as_state = as.state;
    const bool carries =
        as.state == sigtran::AsState::active || as.state == sigtran::AsState::pending;
    if (!carries && !answer.refused) answer.refused = Drop::as_unavailable;
    if (as.state != sigtran::AsState::active) return answer;
    answer.copies = as.mode == sigtran::TrafficMode::broadcast ? as.active.size() : 1;
    answer.peer = as.serving[q.sls.value];
    if (answer.peer == kNoPeer) return answer;
    const PeerLink& link = now.links[answer.peer.value];
    answer.associated = link.up;
    answer.worker = link.ref.worker;
    answer.stream =
        sigtran::stream_for(q.sls, link.streams_out, settings.peers[answer.peer.value].m3ua.quirks);
    return answer;
}

std::vector<PeerIndex> Node::bindings(AsIndex as) const {
    const Snapshot& now = *shared_->snapshot.load(std::memory_order_relaxed);
    const auto& serving = now.distribution.servers[as.value].serving;
    const unsigned bits = shared_->settings().servers[as.value].sls_bits;
    return {serving.begin(), serving.begin() + (std::ptrdiff_t{1} << std::min(bits, 8u))};
}

void Node::block(PeerIndex peer, Time now) {
    shared_->gateway->block(peer, now);
}

void Node::unblock(PeerIndex peer) {
    shared_->gateway->unblock(peer);
}

bool Node::drop_association(PeerIndex peer) {
    Shared& s = *shared_;
    const PeerLink& link = s.links[peer.value];
    if (link.up) s.command({.kind = RecordKind::abort, .ref = link.ref, .peer = peer}, {});
    return link.up;
}

}  // namespace signalbox::core
