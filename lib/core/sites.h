// SPDX-License-Identifier: Apache-2.0
// Every place in core that asks for something that may not be there: memory, a slot, a table entry,
// room in a ring. All of them ask through here, so that a test can refuse each in turn (adversarial
// F10); scripts/check-sites sees to it. What the associations take for themselves is refused at
// mem::BlockPool::faults() and mem::PageCache::faults().
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mem/fault_point.h"

namespace signalbox::core {

// X(name, what a refusal leads to)
#define SIGNALBOX_SITES(X)                                                                   \
    X(slot, "COOKIE ECHO or connect refused by name; the peer or control tries again")       \
    X(accept, "COOKIE ECHO refused by name; the peer sends it again")                        \
    X(connect, "association reported as lost; control tries again")                          \
    X(more_nodes, "as table_insert")                                                         \
    X(table_insert, "COOKIE ECHO refused by name; of an association that is up: owed")       \
    X(table_room, "as table_insert, and a client's association reported as lost")            \
    X(table_remove, "the association's end waits")                                           \
    X(pending_message, "held at the incoming association")                                   \
    X(waiting_room, "what an ended association had not delivered stays in it")               \
    X(hold, "message lost by name: what is kept back for it makes that impossible but here") \
    X(send_data, "held at the incoming association; of a broadcast: a copy lost by name")    \
    X(send_handed, "waits in its server's queue")                                            \
    X(send_management, "stays in the ring from control")                                     \
    X(ring_report, "owed")                                                                   \
    X(ring_connect_failed, "the command stays in the ring from control")                     \
    X(ring_management, "held at the incoming association")                                   \
    X(ring_refused_data, "goes unanswered, by name")                                         \
    X(ring_congestion, "told at the next look at the queue")                                 \
    X(ring_path_event, "one event fewer in the log, counted")                                \
    X(ring_handover, "the command stays in the ring from control")                           \
    X(ring_described, "the operator is told what else was known")                            \
    X(ring_packet, "packet lost by name; the peer sends again")                              \
    X(ring_message, "held at the incoming association")                                      \
    X(ring_command, "waits on the control thread's heap")                                    \
    X(snapshot, "published in a later turn, and before it no answer that builds on it")

enum class Site : std::uint8_t {
#define SIGNALBOX_SITE_ENUM(name, then) name,
    SIGNALBOX_SITES(SIGNALBOX_SITE_ENUM)
#undef SIGNALBOX_SITE_ENUM
};
#define SIGNALBOX_SITE_ONE(name, then) +1
inline constexpr std::size_t kSiteCount = 0 SIGNALBOX_SITES(SIGNALBOX_SITE_ONE);
#undef SIGNALBOX_SITE_ONE
inline constexpr std::array<std::string_view, kSiteCount> kSiteNames{
#define SIGNALBOX_SITE_NAME(name, then) #name,
    SIGNALBOX_SITES(SIGNALBOX_SITE_NAME)
#undef SIGNALBOX_SITE_NAME
};

/// One thread's. Until watch() is called it costs a look at a flag.
class FaultPoints {
 public:
    bool refuse(Site site) noexcept { return watched_ && at(site).refuses(); }
    mem::FaultPoint& watch(Site site) {
        watched_ = true;
        return at(site);
    }

 private:
    mem::FaultPoint& at(Site site) { return points_[static_cast<std::size_t>(site)]; }
    bool watched_ = false;
    std::array<mem::FaultPoint, kSiteCount> points_;
};

}  // namespace signalbox::core
