// SPDX-License-Identifier: Apache-2.0
// Control's side of a handover, and what a worker answers.
#include "core/handover.h"

#include <algorithm>

#include "core/shared.h"
#include "core/worker_state.h"

namespace signalbox::core {

/// After the snapshot that holds the flows was published.
void Node::Shared::begin_handover() {
    const std::vector<sigtran::Move> moves = gateway->take_moves();
    std::vector<std::pair<PeerIndex, AssociationRef>> lost;
    lost.swap(lost_links);
    if (moves.empty()) return;
    Handover h;
    const auto wait_for = [&](const AssociationRef& ref) {
        const auto same = [&](const Handover::Target& t) { return t.ref == ref; };
        if (std::none_of(h.targets.begin(), h.targets.end(), same)) h.targets.push_back({ref});
    };
    for (const sigtran::Move& move : moves) {
        h.servers.push_back(move.as);
        for (const PeerIndex peer : move.from) {
            if (links[peer.value].up) wait_for(links[peer.value].ref);
            for (const auto& [who, ref] : lost)
                if (who == peer) wait_for(ref);
        }
    }
    h.token = reclaimer.begin();
    handovers.emplace(++last_handover, std::move(h));
}

void Node::Shared::advance_handovers(Time now) {
    for (auto it = handovers.begin(); it != handovers.end();) {
        Handover& h = it->second;
        if (h.stage == Handover::Stage::grace && reclaimer.done(h.token)) {
            h.stage = Handover::Stage::fence;
            h.awaited = workers;
            const HandoverRecord fence{.handover = it->first};
            for (unsigned w = 0; w < workers; ++w)
                command({.kind = RecordKind::fence,
                         .ref = {.worker = WorkerIndex{static_cast<std::uint8_t>(w)}}},
                        fence.bytes());
        }
        if (h.stage == Handover::Stage::fence && h.awaited == 0) {
            h.stage = Handover::Stage::drain;
            h.deadline = now + kDrainLimit;
        }
        if (h.stage == Handover::Stage::drain && drained(it->first, h, now)) {
            for (const AsIndex as : h.servers) gateway->moved(as);
            it = handovers.erase(it);
        } else {
            ++it;
        }
    }
}

/// True: it is over. Asks about the others.
bool Node::Shared::drained(std::uint64_t number, Handover& h, Time now) {
    const auto done = [](const Handover::Target& t) { return t.question.done; };
    if (std::all_of(h.targets.begin(), h.targets.end(), done)) return true;
    if (now >= h.deadline) {
        control_counters.add(Count::handovers_not_drained);
        return true;
    }
    if (now < h.ask_at) return false;
    h.ask_at = now + kDrainAskAgain;
    std::size_t left = kDrainQuestionsPerTurn;
    for (std::uint32_t i = 0; i < h.targets.size() && left > 0; ++i) {
        Handover::Target& t = h.targets[i];
        if (t.asked || t.question.done) continue;
        t.asked = true;
        --left;
        t.question.handover = number;
        t.question.target = i;
        command({.kind = RecordKind::drain, .ref = t.ref}, t.question.bytes());
    }
    return false;
}

void Node::Shared::handover_answer(const Record& record) {
    HandoverRecord answer;
    if (record.bytes.size() != sizeof answer) return;
    std::memcpy(&answer, record.bytes.data(), sizeof answer);
    const auto found = handovers.find(answer.handover);
    if (found == handovers.end()) return;  // its time was over
    Handover& h = found->second;
    if (record.header.kind == RecordKind::fence) {
        --h.awaited;
    } else if (answer.target < h.targets.size()) {
        h.targets[answer.target].asked = false;
        h.targets[answer.target].question = answer;
    }
}

/// True once all that other workers had handed to this one when the record came is taken.
bool Worker::State::fence(const Record& record) {
    for (unsigned from = 0; from < shared.workers; ++from) {
        if (from == index.value) continue;
        const ByteRing& ring = shared.ring(from, index.value);
        if (!fence_set) fence_marks[from] = ring.written();
    }
    fence_set = true;
    for (unsigned from = 0; from < shared.workers; ++from)
        if (from != index.value && !shared.ring(from, index.value).taken_up_to(fence_marks[from]))
            return false;
    if (!push(Site::ring_handover, mine.to_control, {.kind = RecordKind::fence}, record.bytes))
        return false;
    fence_set = false;
    return true;
}

/// Whether the association has delivered what it had when it was first asked, or given it back.
bool Worker::State::answer_drain(const Record& record) {
    HandoverRecord answer;
    std::memcpy(&answer, record.bytes.data(), sizeof answer);
    const AssociationRef& ref = record.header.ref;
    const Slot& slot = shared.slots[ref.slot];
    if (slot.generation != ref.generation) {
        answer.done = true;  // taken down: it gave back everything first
    } else if (slot.ended) {
        answer.done = slot.salvaged;
    } else {
        if (!answer.marked) {
            const auto last = slot.association.last_tsn(kDrainCounts);
            answer.marked = last.has_value();
            if (last) answer.mark = *last;
        }
        answer.done = answer.marked && slot.association.acknowledged(answer.mark);
    }
    return push(Site::ring_handover, mine.to_control, {.kind = RecordKind::drain}, answer.bytes());
}

}  // namespace signalbox::core
