// SPDX-License-Identifier: Apache-2.0
// Flows that go to another ASP must not overtake themselves (sigtran.md decisions 5, 10, 13). What
// control does between "this SLS has a new ASP" and "send it there":
//
//   held    a snapshot holds the flows; nobody routes them any more
//   grace   every worker has seen it
//   fence   every worker has taken what others had handed to it until then: it is in an
//           association, or waits with what came back from an ended one
//   drain   the associations of the old ASPs, if they live, have delivered what they had; if they
//           ended, have given it back
//   over    a snapshot holds them no longer. What came back goes first (pending.cpp).
//
// All of it costs a message nothing while no flow moves.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/numbers.h"
#include "base/serial_number.h"
#include "base/time.h"
#include "core/records.h"

namespace signalbox::core {

/// An ASP that lives but does not acknowledge is waited for no longer. Longer than a dead one takes
/// to be found dead with the profile sigtran-lan; its messages come back then.
inline constexpr Duration kDrainLimit = std::chrono::seconds{2};
inline constexpr Duration kDrainAskAgain = std::chrono::milliseconds{2};
inline constexpr std::size_t kDrainQuestionsPerTurn = 256;
/// Chunks of an association that a worker counts for an answer.
inline constexpr std::uint32_t kDrainCounts = 4096;

/// The content of the records `fence` and `drain`, both ways.
struct HandoverRecord {
    std::uint64_t handover = 0;
    std::uint32_t target = 0;  // drain: index of Handover::targets
    Tsn mark;                  // drain: the last message that is waited for
    bool marked = false;
    bool done = false;
    std::span<const std::uint8_t> bytes() const {
        return {reinterpret_cast<const std::uint8_t*>(this), sizeof *this};
    }
};
static_assert(std::is_trivially_copyable_v<HandoverRecord>);

struct Handover {
    enum class Stage : std::uint8_t { grace, fence, drain };
    struct Target {
        AssociationRef ref;
        HandoverRecord question{};
        bool asked = false;  // its answer is under way
    };
    Stage stage = Stage::grace;
    std::vector<AsIndex> servers;
    std::vector<Target> targets;
    std::uint64_t token = 0;  // of the grace period
    unsigned awaited = 0;     // fence: workers
    Time ask_at{};
    Time deadline = kNever;
};

}  // namespace signalbox::core
