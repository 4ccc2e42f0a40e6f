// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"

#include "config/key_builders.h"
#include "sctp/association.h"

namespace signalbox::config {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMs;
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGiB = 1 << 30;

constexpr std::int64_t kMaxNodeId = 255;  // it travels in one byte of cookies
constexpr std::int64_t kMaxCpus = 64;     // a tag's hint names at most 64 workers
constexpr std::int64_t kMaxCpu = 1023;
constexpr std::int64_t kMaxPorts = 16;
constexpr std::int64_t kMaxPortAddresses = 16;
constexpr std::int64_t kMaxRoutes = 64;  // per port, looked up one by one
constexpr std::int64_t kMaxListeners = 256;
constexpr std::int64_t kMaxProfiles = 1024;  // thousands of peers share a few
constexpr std::int64_t kMaxInstances = 64;
constexpr std::int64_t kMaxAliases = 256;
constexpr std::int64_t kMaxPeers = 65536;  // templates expanded are checked apart
constexpr std::int64_t kMaxServers = 16384;
constexpr std::int64_t kMaxKeysOfServer = 1024;
constexpr std::int64_t kMaxMtpRoutes = 200'000;
constexpr std::int64_t kMaxRules = 1024;  // looked at one by one
constexpr std::int64_t kMaxFiles = 256;
constexpr std::int64_t kMinMtu = 576;  // RFC 1122 3.3.3
constexpr std::int64_t kMaxMtu = 9600;
constexpr std::int64_t kMinReceiveWindow = 1500;  // RFC 9260 3.3.2
constexpr std::int64_t kMaxUint32 = 0xffffffff;

constexpr Key kNode[] = {
    as_in("stp1", required(name("name", "", "what this node is called in logs and metrics"))),
    integer("id", 0, kMaxNodeId, "0", "number of this node; it is part of tags and state cookies"),
};
constexpr Key kWorkers[] = {
    or_word(list(integer("cpus", 0, kMaxCpu, "", "CPUs of the workers"), 1, kMaxCpus), "auto",
            "auto"),
    flag("share_cpu", "false", "true: control thread and a worker may share a CPU"),
    word("idle", "adaptive|poll", "adaptive", "adaptive: a worker sleeps when nothing comes"),
};
constexpr Key kMemory[] = {
    word("hugepages", "auto|required|off", "auto", "hugepages for associations and buffers"),
    size("limit", 16 * kMiB, 1024 * kGiB, "512MiB", "memory for associations and their queues"),
};

constexpr Key kPortRoutes[] = {
    as_in("0.0.0.0/0", required(plain(Type::prefix, "prefix", "where to, as 0.0.0.0/0"))),
    as_in("192.0.2.1", required(plain(Type::address, "via", "gateway, on a network of the port"))),
};
constexpr Key kPorts[] = {
    as_in("lan", required(name("name", "", "what the port is called"))),
    required(as_in("af_packet", word("driver", "tap|af_packet|!af_xdp|memif|pci|ring", "",
                                     "how packets come in and out"))),
    as_in("eth1",
          text("device", "", "interface (tap: the one to make), socket path or PCI address")),
    or_word(plain(Type::mac, "mac", "hardware address, as 02:00:00:00:00:01"), "auto", "auto"),
    integer("mtu", kMinMtu, kMaxMtu, "1500", "largest IP packet in bytes"),
    integer("vlan", 1, 4094, "", "802.1Q tag"),
    as_in("[192.0.2.3/24]",
          required(list(plain(Type::prefix, "addresses", "own addresses with prefix length"), 1,
                        kMaxPortAddresses))),
    list(section("routes", kPortRoutes, "gateways for packets from this port's addresses"), 0,
         kMaxRoutes),
};

constexpr auto kMaxSchedulerValues =
    static_cast<std::int64_t>(sctp::Profile{}.scheduler_values.size());

// Without a default: the preset has it.
constexpr Key kProfile[] = {
    fresh(word("preset", "rfc9260|sigtran-lan|sigtran-wan", "rfc9260",
               "values of what is not given here")),
    fresh(duration("rto_initial", 10 * kMs, 60 * kSecond, "", "RTO before the first measurement")),
    fresh(duration("rto_min", 10 * kMs, 60 * kSecond, "", "least RTO")),
    fresh(duration("rto_max", 10 * kMs, 60 * kSecond, "", "greatest RTO")),
    fresh(word("rto_backoff", "exponential|linear", "exponential",
               "linear: RTO stays as it is (not RFC 9260 6.3.3), for closed networks")),
    fresh(integer("path_max_retransmits", 0, 255, "", "errors that a path survives")),
    fresh(
        integer("association_max_retransmits", 0, 255, "", "errors that the association survives")),
    fresh(integer("max_init_retransmits", 0, 255, "", "attempts to connect after the first")),
    fresh(
        integer("potentially_failed_after", 0, 255, "", "errors before traffic moves (RFC 7829)")),
    fresh(integer("primary_switchover_after", 0, 65535, "",
                  "errors before another path is the primary for good (RFC 7829 5); 65535: never")),
    fresh(duration("heartbeat_interval", 10 * kMs, 3600 * kSecond, "",
                   "between heartbeats of an idle path")),
    fresh(duration("sack_delay", 0, 500 * kMs, "", "longest wait for a SACK (RFC 9260 6.2)")),
    fresh(duration("cookie_life", kSecond, 3600 * kSecond, "", "how long a state cookie is good")),
    fresh(duration("stall_limit", 0, 3600 * kSecond, "",
                   "a peer that answers but consumes nothing is aborted after it; 0: never")),
    fresh(duration("reassembly_limit", 0, 3600 * kSecond, "",
                   "received data may wait so long for a missing part; 0: for ever")),
    fresh(integer("streams_out", 1, 65535, "", "outgoing streams asked for")),
    fresh(integer("streams_in", 1, 65535, "", "incoming streams allowed")),
    fresh(size("receive_window", kMinReceiveWindow, kGiB, "", "received bytes that may wait")),
    fresh(size("send_buffer", kMinReceiveWindow, kGiB, "", "bytes to send that may wait")),
    fresh(or_word(integer("path_mtu", kMinMtu, kMaxMtu, "", "IP packet size"), "probe", "probe")),
    fresh(integer("dscp", 0, 63, "", "code point of outgoing packets")),
    fresh(flag("partial_reliability", "true",
               "offer to pass over messages that the peer gives up (RFC 3758)")),
    fresh(flag("stream_reset", "false", "offer reset and adding of streams (RFC 6525)")),
    fresh(flag("message_interleaving", "false",
               "offer I-DATA, which sends parts of messages in turns (RFC 8260)")),
    fresh(word("scheduler", "fcfs|round_robin|priority|fair|weighted", "fcfs",
               "which stream goes next (RFC 8260 3)")),
    fresh(list(integer("scheduler_values", 0, 65534, "",
                       "priorities, 0 first, or weights of streams 0, 1, ..."),
               0, kMaxSchedulerValues)),
};

constexpr Key kListeners[] = {
    as_in("sigtran", required(name("name", "", "what peers call the listener"))),
    word("protocol", "m3ua|!m2pa|!sua|!m2ua|!relay", "m3ua", "what is spoken"),
    integer("port", 1, 65535, "2905", "SCTP port"),
    list(plain(Type::address, "addresses", "own addresses (default: those of all ports)"), 1,
         static_cast<std::int64_t>(sctp::kMaxLocalAddresses)),
    live(word("accept", "configured|!prefix|any", "configured", "whose associations are taken")),
    fresh(name("profile", "rfc9260", "SCTP profile of unknown peers")),
    live(integer("max_associations", 1, 1'000'000, "10000", "most associations at a time")),
};
constexpr Key kInstances[] = {
    as_in("national", required(name("name", "", "what application servers call the network"))),
    word("variant", "itu|ansi|china|japan", "itu", "kind of MTP network"),
    text("point_code_format", "",
         "widths in bits of a point code's parts (default: 3-8-3, 8-8-8, 8-8-8, 5-4-7)"),
    integer("sls_bits", 1, 8, "", "bits of the SLS that count (default: 4; ansi 8)"),
    flag("sls_rotation", "", "rotate the SLS after a choice in a combined set (default: ansi)"),
    as_in("1-1-1", required(text("point_code", "", "our own, in the format"))),
    list(text("aliases", "", "further point codes of ours"), 0, kMaxAliases),
    word("network_indicator", "international|spare|national|reserved", "international",
         "network indicator of messages"),
};

constexpr std::string_view kQuirks =
    "etsi_rc_error|no_notify|snm_in_inactive|data_on_stream_0|daud_in_asp|ppid_any";
constexpr Key kPeerLimits[] = {
    live(integer("messages_per_second", 1, kMaxUint32, "", "messages taken from the peer")),
};
constexpr Key kListener = as_in(
    "sigtran", resets(required(name("listener", "", "the listener that the peer belongs to"))));
constexpr Key kRemotePort =
    resets(or_word(integer("remote_port", 1, 65535, "", "the peer's SCTP port"), "any", "any"));
constexpr Key kRole = resets(word("role", "asp|!ipsp|!gateway", "asp", "what the peer is"));
constexpr Key kConnect = resets(flag("connect", "false", "true: we open the association"));
constexpr Key kPeerProfile = fresh(name("profile", "rfc9260", "SCTP profile"));
constexpr Key kAdmin = live(word("admin", "enabled|blocked|shutdown", "enabled", "wanted state"));
constexpr Key kBeat =
    live(duration("beat_interval", 0, 3600 * kSecond, "0ms",
                  "T(beat) of our own M3UA BEAT; 0: none (SCTP has its HEARTBEAT)"));
constexpr Key kPeerQuirks =
    live(list(word("quirks", kQuirks, "", "what the peer does otherwise"), 0, 6));
constexpr Key kLimitsOfPeer = section("limits", kPeerLimits, "what one peer may use");

constexpr Key kServersOfPeer =
    live(list(name("application_servers", "", "application servers that it serves, with weight 1"),
              0, kMaxServers));

constexpr Key kPeers[] = {
    as_in("msc1", required(name("name", "", "what application servers call the peer"))),
    kListener,
    as_in("[192.0.2.11]",
          resets(required(
              list(plain(Type::address, "addresses", "the peer's addresses, primary first"), 1,
                   static_cast<std::int64_t>(sctp::kMaxRemoteAddresses))))),
    kRemotePort,
    live(integer("asp_id", 0, kMaxUint32, "", "ASP identifier (RFC 4666 3.5.1)")),
    kRole,
    kConnect,
    kPeerProfile,
    kAdmin,
    kBeat,
    kPeerQuirks,
    kLimitsOfPeer,
    kServersOfPeer,
};
constexpr Key kTemplates[] = {
    as_in("\"cell-{n}\"", required(text("name", "", "names of the peers: {n} counts from 0"))),
    as_in("100", live(required(integer("count", 1, kMaxPeers, "", "how many peers")))),
    kListener,
    as_in("192.0.2.100", resets(required(plain(Type::address, "first_address",
                                               "address of the first; the others count up")))),
    kRemotePort,
    kRole,
    kConnect,
    kPeerProfile,
    kAdmin,
    kBeat,
    kPeerQuirks,
    kLimitsOfPeer,
    kServersOfPeer,
};

// What a message must show besides its destination; everything absent: any.
constexpr Key kOpc = live(text("opc", "", "origin point code"));
constexpr Key kOpcMask = live(integer("opc_mask", 0, 24, "0", "low bits of opc not compared"));
constexpr Key kSi = live(list(integer("si", 0, 15, "", "service indicators"), 0, 16));
constexpr Key kSsn = live(list(integer("ssn", 0, 255, "", "SSNs of the called party"), 0, 256));
constexpr Key kCic = live(text("cic", "", "circuits, as 1-31 (ISUP)"));

constexpr Key kRoutingKeys[] = {
    as_in("2-2-2",
          live(required(text("dpc", "", "destination point code, in the instance's format")))),
    live(integer("mask", 0, 24, "0", "low bits of dpc that are not compared")),
    kOpc,
    kOpcMask,
    kSi,
    kSsn,
    kCic,
};
constexpr Key kRoutes[] = {
    as_in("national", live(required(name("instance", "", "the network that it is in")))),
    as_in("2-2-2", live(required(text("dpc", "", "destination point code, or default: all")))),
    live(integer("mask", 0, 24, "0", "low bits of dpc that are not compared")),
    kOpc,
    kOpcMask,
    kSi,
    kSsn,
    kCic,
    as_in("msc", live(required(name("via", "", "application server that is the next hop")))),
    live(integer("priority", 1, 9, "2", "1 is taken first; keys of application servers have 1")),
    live(integer("weight", 1, 1000, "1", "share among routes of the same priority, by SLS")),
};
constexpr Key kRecovery[] = {
    live(duration("timer", 0, 60 * kSecond, "2s", "T(r): how long messages wait for an ASP")),
    live(integer("queue_messages", 0, 1'000'000, "1024", "messages that may wait")),
    live(size("queue_bytes", 0, kGiB, "4MiB", "bytes that may wait")),
    live(word("on_loss", "resend|report", "resend", "what becomes of unacknowledged messages")),
};
constexpr Key kMembers[] = {
    as_in("msc1", live(required(name("peer", "", "a peer")))),
    live(integer("weight", 1, 1000, "1", "share of the load")),
};
constexpr Key kServers[] = {
    as_in("msc", required(name("name", "", "what the application server is called"))),
    as_in("national", resets(required(name("instance", "", "the network that it is in")))),
    resets(integer("routing_context", 0, kMaxUint32, "", "absent: none on the wire")),
    resets(integer("network_appearance", 0, kMaxUint32, "", "absent: none on the wire")),
    list(section("keys", kRoutingKeys, "which messages it gets"), 0, kMaxKeysOfServer),
    resets(
        word("mode", "override|loadshare|broadcast", "loadshare", "traffic mode (RFC 4666 3.5.1)")),
    live(integer("required_active", 1, 65535, "1", "ASPs that must be active")),
    section("recovery", kRecovery, "while no ASP is active"),
    list(section("members", kMembers, "peers that serve it"), 0, kMaxPeers),
};

constexpr Key kScreeningRules[] = {
    live(name("name", "", "for the reader")),
    live(list(name("peers", "", "senders; none named: all"), 0, kMaxPeers)),
    live(name("instance", "", "network of the point codes; needed with opc or dpc")),
    kOpc,
    kOpcMask,
    live(text("dpc", "", "destination point code")),
    live(integer("mask", 0, 24, "0", "low bits of dpc that are not compared")),
    kSi,
    live(list(word("ni", "international|spare|national|reserved", "", "network indicators"), 0, 4)),
    kSsn,
    live(word("action", "allow|drop|!count|!log|!redirect", "drop", "what becomes of the message")),
};
constexpr Key kScreening[] = {
    live(word("default", "allow|deny", "allow", "what becomes of messages that no rule names")),
    live(list(section("rules", kScreeningRules, "the first one that fits decides"), 0, kMaxRules)),
};
constexpr Key kHttp[] = {
    or_word(list(plain(Type::endpoint, "listen", "addresses with port, as 127.0.0.1:12905"), 0, 16),
            "", "127.0.0.1:12905"),
};
constexpr Key kMetrics[] = {
    live(integer("max_peers", 0, 1'000'000, "1000", "peers that get series of their own")),
    flag("required", "false", "true: without the HTTP port the daemon does not start"),
};
constexpr Key kControl[] = {
    ranged(Type::path, "socket", 1, kMaxSocketPath, "/run/signalbox/control.sock",
           "control socket"),
    name("group", "", "group that may use the control socket (default: the daemon's)"),
};
constexpr Key kLog[] = {
    live(word("level", "trace|debug|info|warning|error", "info", "least severity that is logged")),
    word("format", "text|json", "text", "form of a line"),
};
constexpr Key kLimits[] = {
    live(integer("init_per_second", 1, kMaxUint32, "50000", "INITs answered by the node")),
    live(integer("out_of_the_blue_per_second", 0, kMaxUint32, "1000",
                 "strangers' packets answered")),
    live(
        integer("icmp_per_second", 0, kMaxUint32, "1000", "ICMP errors looked at, by each worker")),
};

constexpr Key kRoot[] = {
    required(section("node", kNode, "this node")),
    section("workers", kWorkers, "threads and CPUs"),
    section("memory", kMemory, "memory"),
    required(list(section("ports", kPorts, "network ports"), 1, kMaxPorts)),
    {.name = "sctp_profiles",
     .type = Type::named,
     .fallback = "{}",
     .help = "SCTP values by name",
     .keys = kProfile,
     .most = kMaxProfiles,
     .reload = Reload::live},
    live(required(
        list(section("listeners", kListeners, "SCTP ports that are served"), 1, kMaxListeners))),
    live(list(section("instances", kInstances, "MTP networks"), 0, kMaxInstances)),
    live(list(section("peers", kPeers, "peers"), 0, kMaxPeers)),
    live(list(section("peer_templates", kTemplates, "peers by the dozen"), 0, kMaxPeers)),
    live(list(section("application_servers", kServers, "application servers"), 0, kMaxServers)),
    later("linksets", ""),
    list(section("routes", kRoutes, "what the keys of application servers do not say"), 0,
         kMaxMtpRoutes),
    live(list(text("include", "", "further files, as conf.d/*.yaml: lists join, maps merge"), 0,
              kMaxFiles)),
    live(list(text("peers_from", "", "CSV files of peers; the first line names the keys of peers"),
              0, kMaxFiles)),
    section("screening", kScreening, "which messages are refused"),
    section("http", kHttp, "metrics and health"),
    section("metrics", kMetrics, "metrics"),
    section("control", kControl, "control socket"),
    section("log", kLog, "log"),
    section("limits", kLimits, "limits of the node"),
};

}  // namespace

std::string_view type_name(Type type) {
    switch (type) {
        case Type::flag:
            return "true or false";
        case Type::integer:
            return "a whole number";
        case Type::duration:
            return "a duration such as 500ms or 3s";
        case Type::size:
            return "a size such as 64KiB or 1MiB";
        case Type::word:
            return "a word";
        case Type::name:
            return "a name";
        case Type::text:
            return "a text";
        case Type::path:
            return "a path";
        case Type::address:
            return "an IP address";
        case Type::prefix:
            return "an IP address with prefix length";
        case Type::endpoint:
            return "an IP address with port";
        case Type::mac:
            return "a hardware address";
        case Type::section:
        case Type::named:
            return "a map";
        case Type::later:
            return "nothing";
    }
    return "";
}

std::string_view reload_name(Reload reload) {
    switch (reload) {
        case Reload::live:
            return "live";
        case Reload::fresh:
            return "new associations";
        case Reload::peer:
            return "resets the peer";
        case Reload::restart:
            break;
    }
    return "restart";
}

std::span<const Key> root_keys() {
    return kRoot;
}

}  // namespace signalbox::config
