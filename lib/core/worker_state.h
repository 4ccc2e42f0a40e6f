// SPDX-License-Identifier: Apache-2.0
// What one worker keeps. Its functions are spread by concern:
//   worker.cpp     the three passes over a burst, timers, flush
//   icmp.cpp       ICMP errors about packets that we sent
//   listener.cpp   packets of no association: INIT, COOKIE ECHO, out of the blue
//   lifecycle.cpp  slots, table entries, events of associations, taking down
//   router.cpp     delivered messages: decode, route, encode, send, hold
//   pending.cpp    messages that wait for an AS-PENDING server
//   commands.cpp   records from control and from other workers
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/timer_wheel.h"
#include "core/budget.h"
#include "core/shared.h"
#include "core/slot.h"
#include "core/worker.h"
#include "mem/block_pool.h"
#include "sctp/association.h"
#include "sigtran/transfer.h"
#include "wire/ip_packet.h"

namespace signalbox::core {

/// Blocks and pages of associations that ended, freed in one turn (STR-3).
inline constexpr std::size_t kFreedPerTurn = 256;

/// Messages taken back from associations that ended, in one turn; of one of them a part.
inline constexpr std::size_t kSalvagedPerTurn = 1024;

class KeptBack {
 public:
    explicit KeptBack(mem::BlockPool& blocks) : blocks_(blocks) { blocks_.use_kept(true); }
    ~KeptBack() { blocks_.use_kept(false); }
    KeptBack(const KeptBack&) = delete;
    KeptBack& operator=(const KeptBack&) = delete;

 private:
    mem::BlockPool& blocks_;
};

/// A received packet between the passes.
struct Arrival {
    sctp::Packet sctp;
    std::span<const std::uint8_t> ip;  // whole, for the hand-off
    std::uint16_t listener = 0;
    bool listening = false;
    bool icmp = false;  // an ICMP error: nothing but `ip` is set
};

/// A message that waits for its AS: one block. The user data follows.
struct PendingMessage {
    PendingMessage* next = nullptr;
    std::uint32_t length = 0;
    PointCode opc, dpc;
    std::uint8_t si = 0, ni = 0, mp = 0;
    Sls sls;
    AsIndex from = kNoAs;        // whose ASP sent it; unknown when it came back
    bool routed_before = false;  // it came back from an association
    std::uint16_t room = 0;      // bytes of its block
};

/// A queue through the slots themselves: the first is served, and what is not finished goes to the
/// end. So a bounded number a turn serves all in turn, however many wait.
template <Slot* Slot::*Next>
class SlotQueue {
 public:
    bool empty() const { return first_ == nullptr; }
    void push(Slot& slot) {
        slot.*Next = nullptr;
        (last_ != nullptr ? last_->*Next : first_) = &slot;
        last_ = &slot;
        ++size_;
    }
    Slot& pop() {
        Slot& slot = *first_;
        first_ = slot.*Next;
        if (first_ == nullptr) last_ = nullptr;
        slot.*Next = nullptr;
        --size_;
        return slot;
    }
    std::size_t size() const { return size_; }
    /// The first of `limit` that fits; nullptr: none.
    template <class Fits>
    Slot* find(std::size_t limit, Fits&& fits) const {
        Slot* slot = first_;
        for (; slot != nullptr && limit > 0 && !fits(*slot); slot = slot->*Next) --limit;
        return limit > 0 ? slot : nullptr;
    }

 private:
    Slot* first_ = nullptr;
    Slot* last_ = nullptr;
    std::size_t size_ = 0;
};

struct PendingQueue {
    PendingMessage* first = nullptr;
    PendingMessage* last = nullptr;
    bool empty() const { return first == nullptr; }
};

/// Of one AS. What came back is older than all else that waits, on any worker.
struct Waiting {
    PendingQueue returned;
    PendingQueue fresh;
    PendingMessage* behind = nullptr;  // the last one of `batch` that still waits
    std::uint64_t batch = 0;
    bool empty() const { return returned.empty() && fresh.empty(); }
    PendingQueue& older() { return returned.empty() ? fresh : returned; }
};

/// Where a message joins those that wait for its AS.
enum class Place : std::uint8_t {
    fresh,      // new: behind all, within the bounds of the AS
    returned,   // on its way already: before all that is new
    taken_back  // from an association that ended: before all that came back earlier
};

enum class Indexed : std::uint8_t { all, busy, no_memory, full };

enum class Routed : std::uint8_t {
    done,   // sent, queued for a pending AS, or discarded by name: the incoming association is rid
            // of it
    again,  // nothing took it now: it stays charged to the incoming association
};

/// Refused messages that control may answer; a flood of them must not fill its ring.
inline constexpr std::uint32_t kRefusalsPerSecond = 20000;

struct Worker::State {
    State(Node& node, WorkerIndex index);
    ~State();

    Node::Shared& shared;
    WorkerIndex index;
    WorkerShared& mine;
    Counters& counters;
    FaultPoints& faults;
    mem::BlockPool blocks;
    RandomSource random;
    sctp::CookieKeys cookies;
    SteeredTags tags;
    TimerWheel wheel;
    sctp::Effects effects;
    std::vector<std::uint8_t> scratch;  // sized once
    Budget init_budget;
    Budget out_of_the_blue_budget;
    Budget icmp_budget;
    const Snapshot* snapshot = nullptr;       // of this turn
    const Snapshot* last_snapshot = nullptr;  // address only: tells a change, never read
    std::vector<Waiting> pending;             // by AS, sized once
    std::uint64_t plan_generation = 0;        // whose budgets are in force
    AsIndex routing_from = kNoAs;             // whose ASP sent the message being routed
    std::optional<Drop> refused;              // of the message being routed
    Budget refusal_budget{kRefusalsPerSecond};
    using Flows = std::array<std::uint32_t, 256>;         // by SLS
    std::vector<std::unique_ptr<Flows>> broadcast_flows;  // by AS, for broadcast: see to_all()
    std::uint32_t correlations = 0;
    std::size_t salvage_left = kSalvagedPerTurn;  // in this turn
    void* waiting_room = nullptr;                 // see prepare_room()
    Time management_waits = kNever;   // since when a message from control finds no memory
    std::vector<Time> rate_paid;      // by peer: its messages fill their share of time until then
    bool first_routing = true;        // false: a message that was counted as routed before
    AsIndex sent_from_queue = kNoAs;  // whose queue the message being sent comes from
    bool sent_returned = false;       // and it had come back
    bool in_transit = false;          // it went to another worker, and counts until it arrives
    std::vector<std::uint64_t> fence_marks;  // by worker, sized once: see fence()
    bool fence_set = false;
    Slot* salvaging = nullptr;  // one after the other: see join()
    std::uint64_t salvages = 0;
    Time turn_time{};                 // of the turn that goes on
    bool waits_for_control = false;   // the message being delivered, for room in its ring
    bool offered = false;             // the message being delivered has met its AS
    PeerIndex full_peer = kNoPeer;    // whose full send queue the message being routed met
    std::vector<Time> full_too_long;  // by peer, sized once: see to_peer()
    std::size_t pending_here = 0;     // messages in all of them
    std::vector<Slot*> free_slots;    // reserved once
    Slot* dirty = nullptr;            // lists through the slots
    Slot* blocked = nullptr;
    SlotQueue<&Slot::next_ending> ending;        // being taken down
    SlotQueue<&Slot::next_unsettled> unsettled;  // owe the table an entry or control a report

    SIGNALBOX_ALWAYS_INLINE void prefetch_peer(PeerIndex peer) const {
        if (peer.value >= settings().peers.size()) return;
        prefetch_lines(&settings().peers[peer.value], &settings().peers[peer.value] + 1);
        if (peer.value < snapshot->distribution.peers.size())
            __builtin_prefetch(&snapshot->distribution.peers[peer.value]);
        prefetch_ledger(peer);
    }
    SIGNALBOX_ALWAYS_INLINE void prefetch_ledger(PeerIndex peer) const {
        if (peer.value < mine.ledger.peers.size())
            __builtin_prefetch(&mine.ledger.peers[peer.value], 1);
    }
    SIGNALBOX_ALWAYS_INLINE void prefetch_memberships(PeerIndex peer) const {
        if (peer.value < snapshot->distribution.peers.size())
            __builtin_prefetch(snapshot->distribution.peers[peer.value].memberships.data());
    }

    // worker.cpp
    /// The snapshot that is valid until the next quiescent report, and what a reload changed.
    void take_snapshot();
    const Plan& plan() const { return *snapshot->plan; }
    const Settings& settings() const { return snapshot->plan->settings; }
    bool judge(const PacketView& view, Arrival& out);
    bool impossible_source(const wire::IpPacket& ip) const;
    void take_burst(std::span<const Arrival> arrivals, Time now, sctp::TransmitSink& sink,
                    bool handed_off);
    void to_association(Slot& slot, const sctp::Packet& packet, Time now);
    sctp::Environment environment(std::uint16_t listener, std::uint16_t profile, Time now);
    sctp::Environment environment(const Slot& slot, Time now) {
        return environment(slot.listener, slot.profile, now);
    }
    /// For sending DATA: a part of the send buffer stays free for management, whose overflow is the
    /// end of an association.
    sctp::Environment environment_for_data(const Slot& slot, Time now) {
        constexpr std::uint32_t kPart = 16;
        sctp::Environment env = environment(slot, now);
        env.kept_send_bytes = env.profile.send_buffer_bytes / kPart;
        return env;
    }
    void mark_dirty(Slot& slot) {
        if (slot.dirty) return;
        slot.dirty = true;
        slot.next_dirty = dirty;
        dirty = &slot;
    }
    void rearm(Slot& slot);
    bool flush_dirty(Time now, sctp::TransmitSink& sink);
    /// False: no room.
    bool push(Site site, ByteRing& ring, const RecordHeader& header,
              std::span<const std::span<const std::uint8_t>> pieces) {
        return !faults.refuse(site) && push_record(ring, header, pieces);
    }
    bool push(Site site, ByteRing& ring, const RecordHeader& header,
              std::span<const std::uint8_t> bytes = {}) {
        return !faults.refuse(site) && push_record(ring, header, bytes);
    }
    sctp::SendStatus send(Site site, Slot& slot, sctp::Environment& env, StreamId stream,
                          std::span<const std::span<const std::uint8_t>> pieces);
    void judge_congestion(Slot& slot);

    // icmp.cpp
    void icmp_received(const Arrival& arrival, Time now, bool handed_off);

    // listener.cpp
    table::Node* listed(const sctp::Packet& packet) const;
    bool met_by_list(const Arrival& arrival, Time now);
    bool met_by_unindexed(const Arrival& arrival, Time now, bool handed_off);
    void no_association(const Arrival& arrival, Time now, sctp::TransmitSink& sink,
                        bool handed_off);
    void init_received(const Arrival& arrival, PeerIndex peer, Time now, sctp::TransmitSink& sink);
    void cookie_received(const Arrival& arrival, PeerIndex peer, Time now,
                         sctp::TransmitSink& sink);
    void stale_cookie(const Arrival& arrival, const sctp::CookieContents& cookie, Time now,
                      sctp::TransmitSink& sink);
    void out_of_the_blue(const Arrival& arrival, bool known_peer, Time now,
                         sctp::TransmitSink& sink);
    std::uint16_t profile_of(std::uint16_t listener, PeerIndex peer) const;
    bool hand_off(WorkerIndex to, const Arrival& arrival);

    // lifecycle.cpp
    /// nullptr: the listener has as many as it may, or there is no memory.
    Slot* new_slot(std::uint16_t listener, PeerIndex peer);
    Slot* take_slot(std::uint16_t listener, PeerIndex peer);
    Indexed index_paths(Slot& slot);
    void* take_more_nodes();
    table::InsertResult insert(table::Node& node);
    void count_refusal(Indexed why);
    void apply_effects(Slot& slot, Time now);
    void happened(Slot& slot, const sctp::EventRecord& event, Time now);
    void tell(const Slot& slot, EventKind kind, std::uint16_t detail, Time now);
    void report(Slot& slot, RecordKind kind, Time now);
    bool push_report(const Slot& slot, Time now);
    void end(Slot& slot, EventKind why, std::uint16_t cause);
    bool take_down(Time now, std::size_t budget_blocks);  // some of those that end, a slice of each
    bool take_down_one(Slot& slot, Time now, std::size_t& budget_blocks);
    void owe(Slot& slot);
    void index_later(Slot& slot, Indexed so_far);
    bool index_owed(Slot& slot);
    bool settle(Time now);                   // what was owed; true: something was settled
    bool connect(PeerIndex peer, Time now);  // false: not even its failure can be told now
    AssociationRef ref_of(const Slot& slot) const;
    Slot* find(const AssociationRef& ref);

    // router.cpp
    Routed deliver(Slot& from, const sctp::Message& message, Time now);
    Routed take_in(Slot& from, const sctp::Message& message, Time now);
    void enter(PeerIndex peer, PeerEntry what) {
        if (peer.value < mine.ledger.peers.size()) mine.ledger.peers[peer.value].add(what);
    }
    void enter(AsIndex as, AsEntry what, std::uint64_t n = 1) {
        mine.ledger.servers[as.value].add(what, n);
    }
    /// Discards a message that had met its AS.
    void lose(AsIndex as, Drop why) {
        counters.drop(why);
        enter(as, AsEntry::discarded);
    }
    Routed refuse_at(AsIndex as, Drop why) {
        enter(as, AsEntry::discarded);
        return refuse(why);
    }
    Routed deliver_data(Slot& from, const sctp::Message& message, Time now);
    Routed to_control(Slot& from, const sctp::Message& message, RecordKind kind, Drop why);
    /// The SLS may be rotated on the way.
    Routed route(PeerIndex from_peer, AsIndex from_as, sigtran::ProtocolData& data);
    static mtp3::Label label_of(const sigtran::ProtocolData& data);
    mtp3::Decision find_route(std::uint16_t instance, const mtp3::Label& label,
                              bool& others_first) const;
    bool within_rate(const Slot& from, std::uint32_t per_second, Time now);
    Routed to_server(AsIndex as, const sigtran::ProtocolData& data);
    Routed to_all(AsIndex as, const sigtran::AsView& server, const sigtran::ProtocolData& data);
    Routed to_peer(PeerIndex peer, AsIndex as_index, const sigtran::AsView& as,
                   const sigtran::ProtocolData& data,
                   const std::optional<std::uint32_t>& correlation_id = {});
    Routed met_full(PeerIndex peer, AsIndex as);
    /// The message goes nowhere; deliver_data() tells control why.
    Routed refuse(Drop why) {
        counters.drop(why);
        refused = why;
        return Routed::done;
    }
    void report_refusal(Slot& from, const sctp::Message& message, Time now);
    /// `sent`: it was on the wire, so that it may have arrived.
    void reroute(PeerIndex to, std::span<const std::uint8_t> message, bool came_back = false,
                 bool sent = false);
    bool salvage(Slot& slot, Time now);
    bool salvage_restarted(Slot& slot, Time now);
    bool take_back(Slot& slot, Time now);  // true: nothing is left in the ended association
    void block(Slot& slot, Time now);
    bool drain_ready(Slot& slot, Time now);  // false: something is still held
    bool retry_blocked(Time now);

    // pending.cpp
    Routed enqueue_pending(AsIndex as, const sigtran::ProtocolData& data,
                           Place place = Place::fresh);
    void join(Waiting& waiting, PendingMessage* message, Place place);
    void* take_for_pending(std::size_t& bytes, bool bounded);
    /// True: the next message that must wait here finds room, whatever happens meanwhile.
    bool prepare_room();
    void give_room();
    bool settle_pending();
    void give_pending(AsIndex as, Drop* why);
    bool settle_oldest(AsIndex as);  // false: nothing waits, or it must go on waiting
    void arrived(AsIndex as, bool returned);
    AsIndex alternative(AsIndex as, const PendingMessage& message) const;
    static sigtran::ProtocolData data_of(const PendingMessage& message);
    Routed send_pending(AsIndex from, AsIndex as, const PendingMessage& message);

    // commands.cpp
    bool take_commands(Time now);
    bool take_handed(Time now, sctp::TransmitSink& sink);
    bool obey(const Record& record, Time now);  // false: not yet, offer it again
    bool send_management(Slot& slot, const Record& record, Time now);
    void abort(Slot& slot, Time now);
    bool message_for(const Record& record, Time now);  // false: not yet, offer it again
    bool hand_in(const Record& record, Time now);
    bool wait_for_other(const Record& record);
    // handover.cpp
    bool fence(const Record& record);
    bool answer_drain(const Record& record);
    void describe(const RecordHeader& question, Time now);  // inspect.cpp
};

}  // namespace signalbox::core
