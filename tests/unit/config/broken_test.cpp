// SPDX-License-Identifier: Apache-2.0
// Broken files, each with the place and the words of its errors.
#include <filesystem>
#include <fstream>
#include <regex>

#include "unit/config/loaded.h"

namespace signalbox::config::test {
namespace {

struct Broken {
    const char* what;
    const char* text;  // behind kBase: its first line is line 9
    std::vector<std::string> errors;
};

void check(const std::vector<Broken>& cases) {
    for (const Broken& broken : cases) {
        INFO(broken.what);
        CHECK(errors_after_base(broken.text) == broken.errors);
    }
}

}  // namespace

TEST_CASE("keys that are unknown, doubled or missing are named with their place") {
    check({
        {"misspelt at the top",
         "lisetners: []\n",
         {"9:1 unknown key 'lisetners'; did you mean 'listeners'?"}},
        {"like nothing", "zzzzzz: 1\n", {"9:1 unknown key 'zzzzzz'"}},
        {"misspelt in a list",
         "peers:\n  - name: a\n    listner: l\n    addresses: [10.0.0.2]\n",
         {"10:5 missing key 'listener' in peers: the listener that the peer belongs to",
          "11:5 unknown key 'listner' in peers; did you mean 'listener'?"}},
        {"doubled",
         "    port: 2905\n    port: 2906\n",
         {"10:5 duplicate key 'port': first given in line 9"}},
        {"doubled at the top",
         "node: {name: b}\n",
         {"9:1 duplicate key 'node': first given in line 1"}},
        {"doubled in braces",
         "log: {level: info, level: debug}\n",
         {"9:20 duplicate key 'level': first given in line 9"}},
        {"missing in a list",
         "instances:\n  - name: n\n",
         {"10:5 missing key 'point_code' in instances: our own, in the format"}},
        {"nothing behind the colon",
         "memory:\n  limit:\n",
         {"10:3 limit: a size such as 64KiB or 1MiB is due here, not nothing"}},
    });
}

TEST_CASE("values of a wrong type are refused as YAML's own readers would not") {
    check({
        {"octal", "    port: 02905\n", {"9:11 port: '02905' looks octal: write 2905"}},
        {"octal zero",
         "limits: {out_of_the_blue_per_second: 00}\n",
         {"9:38 out_of_the_blue_per_second: '00' looks octal: write 0"}},
        {"hexadecimal", "    port: 0x10\n", {"9:11 port: '0x10' is not a whole decimal number"}},
        {"in quotes",
         "    port: '2905'\n",
         {"9:11 port: '2905' is a text: write it without quotes"}},
        {"yes", "workers: {share_cpu: yes}\n", {"9:22 share_cpu: 'yes' is not true or false"}},
        {"on", "workers: {share_cpu: on}\n", {"9:22 share_cpu: 'on' is not true or false"}},
        {"True", "workers: {share_cpu: True}\n", {"9:22 share_cpu: 'True' is not true or false"}},
        {"no unit",
         "sctp_profiles: {s: {rto_min: 100}}\n",
         {"9:30 rto_min: '100' has no unit: write 100ms, 100s or 100m"}},
        {"a strange unit",
         "sctp_profiles: {s: {rto_min: 100sec}}\n",
         {"9:30 rto_min: '100sec' has an unknown unit: durations are in us, ms, s, m or h"}},
        {"a strange size",
         "memory: {limit: 64KB}\n",
         {"9:17 limit: '64KB' has an unknown unit: sizes are in B, KiB, MiB or GiB"}},
        {"a size that overflows",
         "memory: {limit: 9223372036854775807KiB}\n",
         {"9:17 limit: '9223372036854775807KiB' is too large"}},
        {"a map for a list", "peers: {name: a}\n", {"9:8 peers: a list is due here, not a map"}},
        {"a list for a word",
         "log: {level: [info]}\n",
         {"9:14 level: a word is due here, not a list"}},
        {"a tag", "limits: {init_per_second: !!int 5}\n", {"9:27 tags are not allowed"}},
        {"words or a list", "workers: {cpus: all}\n", {"9:17 cpus: 'all' is not auto or a list"}},
        {"words or a number",
         "peers: [{name: a, listener: l, addresses: [10.0.0.2], remote_port: all}]\n",
         {"9:68 remote_port: 'all' is not a whole decimal number (and not 'any')"}},
    });
}

TEST_CASE("values out of range or not of their list are refused") {
    check({
        {"a port", "    port: 65536\n", {"9:11 port: 65536 is out of range: 1 to 65535"}},
        {"negative",
         "    max_associations: -1\n",
         {"9:23 max_associations: -1 is out of range: 1 to 1000000"}},
        {"RTO",
         "sctp_profiles: {s: {rto_min: 9ms, rto_max: 2m}}\n",
         {"9:30 rto_min: 9ms is out of range: 10ms to 60s",
          "9:44 rto_max: 2m is out of range: 10ms to 60s"}},
        {"memory", "memory: {limit: 1KiB}\n", {"9:17 limit: 1KiB is out of range: 16MiB to 1TiB"}},
        {"a misspelt word",
         "    accept: configurd\n",
         {"9:13 accept: 'configurd' is not one of configured, any; did you mean 'configured'?"}},
        {"a quirk",
         "peers: [{name: a, listener: l, addresses: [10.0.0.2], quirks: [no_notfy]}]\n",
         {"9:64 quirks: 'no_notfy' is not one of etsi_rc_error, no_notify, snm_in_inactive, "
          "data_on_stream_0, "
          "daud_in_asp, ppid_any; did you mean 'no_notify'?"}},
        {"an address",
         "    addresses: [10.0.0.256]\n",
         {"9:17 addresses: '10.0.0.256' is not an IP address"}},
        {"an endpoint",
         "http: {listen: ['::1:80']}\n",
         {"9:17 listen: '::1:80' is not an IP address with port"}},
        {"a name",
         "peers: [{name: a b, listener: l, addresses: [10.0.0.2]}]\n",
         {"9:16 name: 'a b' is not a name: letters, digits, '-', '_' and '.'"}},
        {"no addresses", "    addresses: []\n", {"9:16 addresses: at least 1 must be given"}},
        {"a relative path",
         "control: {socket: run/x}\n",
         {"9:19 socket: 'run/x' is not an absolute path"}},
    });
}

TEST_CASE("what later releases have is refused by name") {
    check({
        {"a linkset", "linksets: [{name: a}]\n", {"9:11 linksets: not in this release"}},
        {"empty linksets", "linksets: []\nroutes: []\n", {}},
        {"M2PA", "    protocol: m2pa\n", {"9:15 protocol: 'm2pa' is not in this release"}},
        {"prefixes", "    accept: prefix\n", {"9:13 accept: 'prefix' is not in this release"}},
        {"a gateway",
         "peers: [{name: a, listener: l, addresses: [10.0.0.2], role: gateway}]\n",
         {"9:61 role: 'gateway' is not in this release"}},
        {"screening",
         "screening: {rules: [{action: redirect}]}\n",
         {"9:30 action: 'redirect' is not in this release"}},
    });
    CHECK(errors_of("node: {name: n}\nports: [{name: p, driver: af_xdp, device: e, addresses: "
                    "[10.0.0.1/24]}]\n"
                    "listeners: [{name: l}]\n") ==
          std::vector<std::string>{"2:27 driver: 'af_xdp' is not in this release"});
}

TEST_CASE("references name what exists") {
    check({
        {"listener",
         "peers: [{name: a, listener: m, addresses: [10.0.0.2]}]\n",
         {"9:29 no listener is called 'm'"}},
        {"profile",
         "sctp_profiles: {site: {}}\npeers: [{name: a, listener: l, addresses: [10.0.0.2], "
         "profile: sit}]\n",
         {"10:64 no profile is called 'sit'; did you mean 'site'?"}},
        {"instance",
         "application_servers: [{name: a, instance: i}]\n",
         {"9:43 no instance is called 'i'"}},
        {"peer",
         "instances: [{name: i, point_code: 1-1-1}]\n"
         "application_servers: [{name: a, instance: i, members: [{peer: x}]}]\n",
         {"10:63 no peer is called 'x'"}},
        {"template's server",
         "peer_templates: [{name: 'c{n}', count: 2, listener: l, first_address: 10.0.0.2,\n"
         "  application_servers: [cells]}]\n",
         {"10:25 no application server is called 'cells'"}},
        {"doubled peer",
         "peers:\n  - {name: a, listener: l, addresses: [10.0.0.2]}\n"
         "  - {name: a, listener: l, addresses: [10.0.0.3]}\n",
         {"11:12 peer 'a' already stands in line 10"}},
        {"a preset's name",
         "sctp_profiles: {rfc9260: {}}\n",
         {"9:17 profile 'rfc9260' is built in"}},
    });
}

TEST_CASE("addresses belong to ports, listeners and peers without a clash") {
    check({
        {"of no port",
         "    addresses: [10.0.0.9]\n",
         {"9:17 addresses: 10.0.0.9 is no address of a port"}},
        {"twice",
         "    addresses: [10.0.0.1, 10.0.0.1]\n",
         {"9:27 addresses: 10.0.0.1 is named twice"}},
        {"two listeners",
         "  - {name: m, port: 2905}\n",
         {"9:21 port: 2905 of 10.0.0.1 already belongs to listener 'l'"}},
        {"PATH-7",
         "peers:\n  - {name: a, listener: l, addresses: [10.0.0.2]}\n"
         "  - {name: b, listener: l, addresses: [10.0.0.3, 10.0.0.2]}\n",
         {"11:50 10.0.0.2 already belongs to peer 'a' on port 2905"}},
        {"PATH-7 in a template",
         "peers:\n  - {name: a, listener: l, addresses: [10.0.0.9]}\npeer_templates:\n"
         "  - {name: 'c{n}', count: 20, listener: l, first_address: 10.0.0.2}\n",
         {"12:59 10.0.0.9 already belongs to peer 'a' on port 2905"}},
        {"PATH-7 does not bind two ports",
         "  - {name: m, port: 2906}\npeers:\n"
         "  - {name: a, listener: l, addresses: [10.0.0.2]}\n"
         "  - {name: b, listener: m, addresses: [10.0.0.2]}\n",
         {}},
        {"ours",
         "peers: [{name: a, listener: l, addresses: [10.0.0.1]}]\n",
         {"9:44 10.0.0.1 is our own address, on port 'p'"}},
        {"multicast",
         "peers: [{name: a, listener: l, addresses: [224.0.0.1]}]\n",
         {"9:44 224.0.0.1 cannot be a peer's address"}},
        {"family",
         "peers: [{name: a, listener: l, addresses: ['fd77::2']}]\n",
         {"9:44 fd77::2: listener 'l' has no address of its family"}},
        {"no counter",
         "peer_templates: [{name: c, count: 2, listener: l, first_address: 10.0.0.2}]\n",
         {"9:25 name: 'c' has no {n}"}},
    });
}

TEST_CASE("profiles hold together") {
    check({
        {"RTO",
         "sctp_profiles: {s: {rto_min: 2s, rto_max: 1s}}\n",
         {"9:30 rto_min: 2s is more than rto_max, 1s"}},
        {"RTO and preset",
         "sctp_profiles: {s: {preset: sigtran-lan, rto_max: 50ms}}\n",
         {"9:51 rto_min: 100ms is more than rto_max, 50ms"}},
        {"retransmits",
         "sctp_profiles: {s: {path_max_retransmits: 11}}\n",
         {"9:43 path_max_retransmits: 11 is more than association_max_retransmits, 10"}},
        {"MTU",
         "sctp_profiles: {s: {path_mtu: 1501}}\n",
         {"9:31 path_mtu: 1501 is more than the mtu of every port"}},
        {"linear",
         "    accept: any\n    profile: s\nsctp_profiles: {s: {rto_backoff: linear}}\n",
         {"9:13 accept: any is refused with profile 's', whose rto_backoff is linear (closed "
          "networks only)"}},
        {"linear peer",
         "    accept: any\nsctp_profiles: {s: {rto_backoff: linear}}\n"
         "peers: [{name: a, listener: l, addresses: [10.0.0.2], profile: s}]\n",
         {"11:64 profile: 's' has rto_backoff: linear (closed networks only), the listener accepts "
          "any"}},
    });
}

TEST_CASE("application servers hold together") {
    const std::string before =
        "instances: [{name: i, point_code: 1-1-1}]\npeers:\n"
        "  - {name: a, listener: l, addresses: [10.0.0.2], asp_id: 1}\n"
        "  - {name: b, listener: l, addresses: [10.0.0.3], asp_id: 1}\napplication_servers:\n";
    const auto errors = [&](const std::string& text) { return errors_after_base(before + text); };
    using Lines = std::vector<std::string>;
    CHECK(errors("  - {name: s, instance: i, routing_context: 5}\n"
                 "  - {name: t, instance: i, routing_context: 5}\n") ==
          Lines{"15:45 routing_context: 5 already belongs to application server 's'"});
    CHECK(errors("  - {name: s, instance: i, routing_context: 5}\n"
                 "  - {name: t, instance: i, routing_context: 5, network_appearance: 0}\n")
              .empty());
    CHECK(errors("  - {name: s, instance: i, members: [{peer: a}, {peer: b}]}\n") ==
          Lines{"14:56 peer: asp_id 1 of 'b' is also that of 'a'"});
    CHECK(errors("  - {name: s, instance: i, members: [{peer: a}, {peer: a}]}\n") ==
          Lines{"14:56 peer: 'a' is named twice"});
    CHECK(errors("  - {name: s, instance: i, members: [{peer: a}]}\n"
                 "  - {name: t, instance: i, routing_context: 1, members: [{peer: a}]}\n") ==
          Lines{"14:5 missing key 'routing_context' in application_servers: peer 'a' serves "
                "another one too"});
    CHECK(errors("  - {name: s, instance: i, required_active: 2, members: [{peer: a}]}\n") ==
          Lines{"14:45 required_active: 2 of 1 members"});
    CHECK(errors("  - {name: s, instance: i, keys: [{dpc: 2-256-2}]}\n") ==
          Lines{"14:41 dpc: '2-256-2' is not a point code of format 3-8-3"});
    CHECK(errors("  - {name: s, instance: i, keys: [{dpc: 2-2-2}]}\n"
                 "  - {name: t, instance: i, keys: [{dpc: 2-2-2}]}\n") ==
          Lines{"15:41 dpc: 2-2-2 already belongs to application server 's'"});
}

TEST_CASE("instances and ports hold together") {
    check({
        {"format",
         "instances: [{name: i, point_code_format: 8-8-8, point_code: 1-1-1}]\n",
         {"9:42 point_code_format: '8-8-8' has 24 bits, variant itu has 14"}},
        {"no format",
         "instances: [{name: i, point_code_format: a, point_code: 1-1-1}]\n",
         {"9:42 point_code_format: 'a' is not a list of widths such as 3-8-3"}},
        {"point code",
         "instances: [{name: i, point_code: 8-1-1}]\n",
         {"9:35 '8-1-1' is not a point code of format 3-8-3"}},
        {"alias",
         "instances: [{name: i, point_code: 1-1-1, aliases: [1-1-1]}]\n",
         {"9:52 aliases: 1-1-1 is named twice"}},
    });
    CHECK(errors_of(
              "node: {name: n}\nports:\n"
              "  - {name: p, driver: tap, device: a-name-of-16-chr, addresses: [10.0.0.255/24]}\n"
              "  - {name: p, driver: pci, device: eth0, addresses: [10.0.1.1/33]}\n"
              "  - {name: q, driver: tap, addresses: ['fd77::1/64'], mtu: 1000,\n"
              "     routes: [{prefix: 10.1.0.0/8, via: 10.9.0.1}]}\n"
              "listeners: [{name: l}]\n") ==
          std::vector<std::string>{
              "3:36 device: 'a-name-of-16-chr' is not an interface name",
              "3:66 addresses: '10.0.0.255/24' is no host's address",
              "4:12 port 'p' already stands in line 3",
              "4:36 device: 'eth0' is not a PCI address such as 0000:03:00.0",
              "4:54 addresses: '10.0.1.1/33' is not an IP address with prefix length",
              "5:5 missing key 'device' in ports: interface (tap: the one to make), socket path or "
              "PCI address",
              "5:40 addresses: IPv6 needs an mtu of at least 1280 (RFC 8200 5)",
              "6:24 prefix: '10.1.0.0/8' has bits beyond its prefix length",
              "6:41 via: 10.9.0.1 is on no network of this port"});
}

TEST_CASE("all errors come at once, in the order of the file") {
    CHECK(errors_of("node: {name: n, id: 256}\n"
                    "ports: [{name: p, driver: tapp, device: t, addresses: [10.0.0.1/24]}]\n"
                    "peers: [{name: a, listener: nobody, addresses: [10.0.0.2], profile: none, "
                    "profile: x}]\n"
                    "log: {levle: info}\n") ==
          std::vector<std::string>{"1:1 missing key 'listeners': SCTP ports that are served",
                                   "1:21 id: 256 is out of range: 0 to 255",
                                   "2:27 driver: 'tapp' is not one of tap, af_packet, memif, pci, "
                                   "ring; did you mean 'tap'?",
                                   "3:69 no profile is called 'none'",
                                   "3:75 duplicate key 'profile': first given in line 3",
                                   "4:7 unknown key 'levle' in log; did you mean 'level'?"});
}

TEST_CASE("one slip does not make errors of what refers to it") {
    CHECK(errors_of("node: {name: n}\n"
                    "ports: [{name: p, driver: tap, device: t, addresses: [10.0.0.1/24]}]\n"
                    "lisetners: [{name: l}]\n"
                    "peers: [{name: a, listener: l, addresses: [10.0.0.2]}]\n") ==
          std::vector<std::string>{"1:1 missing key 'listeners': SCTP ports that are served",
                                   "3:1 unknown key 'lisetners'; did you mean 'listeners'?"});
    check({
        {"a template that fails half-way",
         "instances: [{name: i, point_code: 1-1-1}]\npeer_templates:\n"
         "  - {name: 'c{n}', count: 5, listener: l, first_address: 9.255.255.255}\n"
         "application_servers: [{name: s, instance: i, members: [{peer: c1}, {peer: c2}, {peer: "
         "c4}]}]\n",
         {"11:58 10.0.0.1 is our own address, on port 'p'"}},
        {"a profile that is no map",
         "    profile: s\nsctp_profiles: {s: 1}\n",
         {"10:20 sctp_profiles: a map is due here, not a value"}},
        {"a profile's name",
         "sctp_profiles: {'a\\b': {}}\n",
         {"9:17 'a\\b' is not a name: letters, digits, '-', '_' and '.'"}},
        {"an escape in quotes",
         "control: {socket: \"/a\\eb\"}\n",
         {"9:19 socket: '/a?b' has control characters"}},
    });
}

TEST_CASE("the broken files of the end-to-end test give the lines that it expects") {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(in_source("tests/e2e/broken-configs"))) {
        if (entry.path().extension() != ".yaml") continue;
        ++count;
        std::string output;
        for (const Error& e : refused(load_file(entry.path().string())))
            output += e.format() + "\n";
        std::filesystem::path expected = entry.path();
        std::ifstream in(expected.replace_extension(".expected"));
        std::size_t expressions = 0;
        for (std::string line; std::getline(in, line); ++expressions) {
            INFO(entry.path().string() << "\n" << line << "\n" << output);
            CHECK(std::regex_search(
                output, std::regex(line, std::regex::ECMAScript | std::regex::multiline)));
        }
        CHECK(expressions > 0);
    }
    CHECK(count >= 10);
}

}  // namespace signalbox::config::test
