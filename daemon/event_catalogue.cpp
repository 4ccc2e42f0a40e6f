// SPDX-License-Identifier: Apache-2.0
#include "event_catalogue.h"

#include <array>
#include <iterator>

#include "events.h"

namespace signalbox::daemon {

namespace {

constexpr auto kInfo = Level::info;
constexpr auto kWarning = Level::warning;
constexpr auto kError = Level::error;

constexpr CataloguedEvent kEvents[] = {
    {"association_up", kInfo, kInfo, "", "peer", "an association with the peer is established",
     "nothing"},
    {"association_closed", kInfo, kInfo, "", "peer", "an association ended by SHUTDOWN",
     "nothing, unless nobody meant it"},
    {"association_aborted", kWarning, kWarning, "cause", "peer, cause",
     "an association ended by ABORT of either side; the cause is RFC 9260's number, 0 for none",
     "look at the log of the peer; runbook: SignalboxPeerDown"},
    {"association_lost", kWarning, kWarning, "", "peer",
     "the peer did not answer as often as the profile allows",
     "look at the network between; runbook: SignalboxPeerDown"},
    {"association_restarted", kWarning, kWarning, "", "peer",
     "the peer began the association anew without ending the old one", "ask why it restarted"},
    {"path_down", kWarning, kWarning, "path", "peer, path",
     "one address of the peer does not answer; path is its index in `show paths`",
     "look at that network; runbook: SignalboxPathsFailing"},
    {"path_up", kInfo, kInfo, "path", "peer, path", "the address answers again", "nothing"},
    {"path_potentially_failed", kWarning, kWarning, "path", "peer, path",
     "the address missed answers and is avoided for now (RFC 7829)",
     "watch whether path_down follows"},
    {"primary_changed", kWarning, kWarning, "path", "peer, path",
     "another path became the primary one after too many errors", "look at the one before"},
    {"asp_state", kInfo, kInfo, "", "peer, as, from, to",
     "the peer's state in the application server changed", "nothing, unless nobody meant it"},
    {"as_state", kInfo, kWarning, "", "as, from, to",
     "the state of the application server changed; a warning unless it became active",
     "runbook: SignalboxAsDown"},
    {"m3ua_error_received", kWarning, kWarning, "code", "peer, code",
     "the peer sent ERR; the code is RFC 4666's number",
     "compare routing contexts and modes of both sides"},
    {"m3ua_error_sent", kWarning, kWarning, "code", "peer, code",
     "the peer was sent ERR; the code is RFC 4666's number",
     "compare routing contexts and modes of both sides"},
    {"memory_low", kError, kError, "free_pages", "free_pages",
     "fewer pages are free than the low-water mark", "runbook: SignalboxMemoryLow"},
    {"memory_recovered", kInfo, kInfo, "", "", "twice as many pages as that are free again",
     "nothing"},
    {"transport_table_deep", kError, kError, "depth", "depth",
     "a chain of the transport table is too long; depth is in buckets",
     "runbook: SignalboxTransportTableDeep"},
    {"transport_table_flat", kInfo, kInfo, "", "", "no chain is too long any more", "nothing"},
    {"send_queue_congested", kWarning, kWarning, "level", "peer, level",
     "the queue towards the peer passed a threshold; others were sent SCON",
     "the peer or its path is slow; `show associations`"},
    {"send_queue_relieved", kInfo, kInfo, "", "peer", "that queue is short again", "nothing"},
    // What follows does not come from core.
    {"command", kInfo, kInfo, "", "uid, pid", "somebody gave a command that changes something",
     "nothing: this is the audit trail; lines of this kind never fold"},
    {"control_socket", kWarning, kWarning, "", "",
     "the control socket cannot be opened; signaling runs without it",
     "look at control.socket and control.group"},
    {"dpdk", Level::debug, kError, "", "", "a line of DPDK's own log",
     "`signalboxctl doctor` says what the host lacks"},
    {"draining", kInfo, kInfo, "", "",
     "application servers are told and associations shut down; the daemon ends then", "nothing"},
    {"duplicate_address", kError, kError, "", "",
     "another station of the network uses an address of ours", "take it away from one of the two"},
    {"host_check", kWarning, kError, "", "",
     "the host lacks something; after an error the daemon does not start",
     "`signalboxd doctor --config FILE` has the command that mends it"},
    {"http", kWarning, kError, "", "",
     "HTTP cannot listen; an error and the end when metrics.required says so",
     "the line says who has the port"},
    {"link_down", kWarning, kWarning, "", "", "the link of a port went down",
     "look at cable and switch"},
    {"link_up", kInfo, kInfo, "", "", "the link of a port came up", "nothing"},
    {"log_lost", kWarning, kWarning, "", "",
     "log lines could not be written, the disk being full or slow; how many",
     "make room; the lines are gone"},
    {"no_route_discards", kWarning, kWarning, "", "count",
     "messages had no application server, within the last ten seconds",
     "runbook: SignalboxNoRoute"},
    {"configuration_reloaded", kInfo, kInfo, "", "", "a reload is in force", "nothing"},
    {"reload_planned", kInfo, kInfo, "", "", "somebody asked what a reload would do",
     "nothing: it was a dry run"},
    {"reload_refused", kError, kError, "", "",
     "a reload by SIGHUP was refused whole, for the reasons given; what was in force stays",
     "`signalboxctl reload --dry-run`, then mend the file"},
    {"started", kInfo, kInfo, "", "", "the daemon runs: its workers, peers and ports", "nothing"},
    {"stopped", kInfo, kInfo, "", "", "the daemon ended in order", "nothing"},
};
constexpr std::size_t kCoreEvents =
    static_cast<std::size_t>(core::EventKind::send_queue_relieved) + 1;
static_assert(kEvents[kCoreEvents - 1].name == "send_queue_relieved");
static_assert(kEvents[kCoreEvents].name == "command");

constexpr std::array<std::string_view, 5> kLevels{"trace", "debug", "info", "warning", "error"};

}  // namespace

std::string_view name_of(Level level) {
    return kLevels[static_cast<std::size_t>(level)];
}

std::span<const CataloguedEvent> event_catalogue() {
    return kEvents;
}

const CataloguedEvent& catalogued(core::EventKind kind) {
    return kEvents[static_cast<std::size_t>(kind)];
}

std::string events_markdown() {
    std::string text =
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Generated by `signalboxd --print-document events.md`. -->\n"
        "# Events\n\n"
        "Each line of the log begins with the name of an event. Names are stable. With "
        "`log.format: json` a line is one object with `time`, `level`, `event`, the fields below "
        "as strings, and `text` where there is one; in text they stand as `name=value`. Under "
        "systemd each line carries its priority.\n\n"
        "Lines of one event about one peer and application server are written at most " +
        std::to_string(Damper::kBurst) + " times in " +
        std::to_string(Damper::kInterval / std::chrono::seconds{1}) + " s, and " +
        std::to_string(Damper::kLinesPerInterval) +
        " of all together; of the others the last is written when that time is over, with "
        "`similar` saying how many it stands for besides itself.\n\n"
        "The disk is never waited for: a line that it does not take is lost, and `log_lost` says "
        "how many.\n\n"
        "| event | severity | fields | what it means | what to do |\n|---|---|---|---|---|\n";
    for (const CataloguedEvent& e : kEvents) {
        std::string severity{name_of(e.least)};
        if (e.most != e.least) severity += " to " + std::string(name_of(e.most));
        text += "| `" + std::string(e.name) + "` | " + severity + " | " + std::string(e.fields) +
                " | " + std::string(e.meaning) + " | " + std::string(e.action) + " |\n";
    }
    return text;
}

}  // namespace signalbox::daemon
