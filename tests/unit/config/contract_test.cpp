// SPDX-License-Identifier: Apache-2.0
// Files that must load, value by value.
#include <chrono>

#include "unit/config/loaded.h"

namespace signalbox::config::test {
namespace {

using namespace std::chrono_literals;

IpAddress ip(const char* text) {
    return IpAddress::parse(text).value();
}

Configuration contract() {
    return good(load_file(in_source("tests/unit/config/contract.yaml")));
}

}  // namespace

TEST_CASE("the contract file loads: node, machine and ports") {
    const Configuration c = contract();
    CHECK(c.core.node_name == "stp-lab");
    CHECK(c.core.node_id == 1);
    CHECK(c.io.cpus.empty());
    CHECK_FALSE(c.io.share_cpu);
    CHECK(c.io.idle == io::Idle::adaptive);
    CHECK(c.io.hugepages == io::Hugepages::automatic);
    CHECK(c.core.memory_limit_bytes == 512u << 20);
    REQUIRE(c.io.ports.size() == 2);
    const io::PortSettings& left = c.io.ports[0];
    CHECK(left.name == "left");
    CHECK(left.driver == io::Driver::af_packet);
    CHECK(left.device == "vd0");
    CHECK_FALSE(left.mac);
    CHECK(left.mtu_bytes == 1500);
    CHECK_FALSE(left.vlan);
    REQUIRE(left.addresses.size() == 2);
    CHECK(left.addresses[0].address == ip("10.77.0.3"));
    CHECK(left.addresses[0].prefix_length == 24);
    CHECK(left.addresses[1].address == ip("fd77::3"));
    CHECK(left.addresses[1].prefix_length == 64);
    REQUIRE(left.routes.size() == 2);
    CHECK(left.routes[0].prefix == ip("0.0.0.0"));
    CHECK(left.routes[0].prefix_length == 0);
    CHECK(left.routes[0].via == ip("10.77.0.1"));
    CHECK(left.routes[1].prefix == ip("::"));
    CHECK(left.routes[1].via == ip("fd77::1"));
    CHECK(c.io.ports[1].name == "right");
    CHECK(c.io.ports[1].device == "vd1");
    CHECK(c.io.ports[1].addresses.at(0).address == ip("10.77.1.3"));
}

TEST_CASE("the contract file loads: profiles, listeners and instances") {
    const Configuration c = contract();
    REQUIRE(c.core.profiles.size() == 4);
    CHECK(c.core.profiles[0].name == "rfc9260");
    CHECK(c.core.profiles[3].name == "site");
    const sctp::Profile& site = c.core.profiles[3].values;
    CHECK(site.rto_initial == 120ms);
    CHECK(site.rto_min == 100ms);
    CHECK(site.rto_max == 400ms);
    CHECK(site.rto_backoff == sctp::Backoff::exponential);
    CHECK(site.path_max_retransmits == 4);
    CHECK(site.association_max_retransmits == 8);
    CHECK(site.potentially_failed_after == 0);
    CHECK(site.heartbeat_interval == 1s);
    CHECK(site.sack_delay == 50ms);
    CHECK(site.streams_out == 16);
    CHECK(site.streams_in == 65535);
    CHECK(site.receive_window_bytes == 256u << 10);
    CHECK(site.send_buffer_bytes == 1u << 20);
    CHECK(site.path_mtu_bytes == 1500);
    CHECK(site.dscp == 40);
    REQUIRE(c.core.listeners.size() == 1);
    const core::ListenerSettings& listener = c.core.listeners[0];
    CHECK(listener.name == "sigtran");
    CHECK(listener.port == 2905);
    CHECK(listener.addresses == std::vector{ip("10.77.0.3"), ip("10.77.1.3")});
    CHECK(listener.accept == core::Accept::configured);
    CHECK(listener.profile == 3);
    CHECK(listener.max_associations == 10000);
    REQUIRE(c.core.instances.size() == 1);
    const mtp3::Instance& national = c.core.instances[0];
    CHECK(national.name == "national");
    CHECK(national.point_code_format == "3-8-3");
    CHECK(national.point_code.value == (1u << 11 | 1u << 3 | 1u));
    REQUIRE(national.aliases.size() == 1);
    CHECK(national.aliases[0].value == (1u << 11 | 1u << 3 | 2u));
    CHECK(national.network_indicator == 2);
    CHECK(national.point_code_bits == 14);
    CHECK(national.sls_bits == 4);
}

TEST_CASE("the contract file loads: peers, the template's among them") {
    const Configuration c = contract();
    REQUIRE(c.core.peers.size() == 2501);
    const core::PeerSettings& msc1 = c.core.peers[0];
    CHECK(msc1.m3ua.name == "msc1");
    CHECK(msc1.m3ua.asp_id == 11u);
    CHECK(msc1.m3ua.admin == sigtran::Admin::enabled);
    CHECK_FALSE(msc1.m3ua.quirks.no_notify);
    CHECK(msc1.listener == 0);
    CHECK(msc1.addresses == std::vector{ip("10.77.0.11"), ip("10.77.1.11")});
    CHECK_FALSE(msc1.remote_port);
    CHECK_FALSE(msc1.connect);
    CHECK(msc1.profile == 3);
    CHECK(msc1.messages_per_second == 100000u);
    CHECK(c.core.peers[1].m3ua.name == "cell-0");
    CHECK(c.core.peers[1].addresses == std::vector{ip("10.77.16.1")});
    CHECK(c.core.peers[1].profile == 3);
    CHECK_FALSE(c.core.peers[1].m3ua.asp_id);
    CHECK(c.core.peers[256].addresses == std::vector{ip("10.77.17.0")});
    CHECK(c.core.peers[2500].m3ua.name == "cell-2499");
    CHECK(c.core.peers[2500].addresses == std::vector{ip("10.77.25.196")});
}

TEST_CASE("the contract file loads: application servers and the daemon's own") {
    const Configuration c = contract();
    REQUIRE(c.core.servers.size() == 2);
    const sigtran::AsSettings& msc = c.core.servers[0];
    CHECK(msc.name == "msc");
    CHECK(msc.instance == 0);
    CHECK(msc.routing_context == 100u);
    CHECK_FALSE(msc.network_appearance);
    REQUIRE(msc.keys.size() == 1);
    CHECK(msc.keys[0].dpc.value == (2u << 11 | 2u << 3 | 2u));
    CHECK(msc.keys[0].mask_bits == 0);
    CHECK(msc.mode == sigtran::TrafficMode::loadshare);
    CHECK(msc.required_active == 1);
    CHECK(msc.recovery_timer == 2s);
    CHECK(msc.recovery_queue_messages == 1024);
    CHECK(msc.recovery_queue_bytes == 4u << 20);
    CHECK(msc.sls_bits == 4);
    REQUIRE(msc.members.size() == 1);
    CHECK(msc.members[0].peer == PeerIndex{0});
    CHECK(msc.members[0].weight == 1);
    REQUIRE(c.core.servers[1].members.size() == 2500);
    CHECK(c.core.servers[1].members[2499].peer == PeerIndex{2500});
    REQUIRE(c.admin.http_listen.size() == 1);
    CHECK(c.admin.http_listen[0].host == "127.0.0.1");
    CHECK(c.admin.http_listen[0].port == 12905);
    CHECK(c.admin.control_socket == "/run/signalbox/control.sock");
    CHECK(c.metrics.max_peers == 1000);
    CHECK_FALSE(c.metrics.required);
    CHECK(c.log_level == LogLevel::info);
    CHECK(c.log_format == LogFormat::text);
    CHECK(c.core.init_per_second == 50000);
    CHECK(c.core.out_of_the_blue_per_second == 1000);
}

TEST_CASE("what a file does not say has the default of the settings") {
    const Configuration c = good(load_text(kBase, "base.yaml"));
    const Configuration defaults;
    CHECK(c.core.node_id == defaults.core.node_id);
    CHECK(c.core.memory_limit_bytes == defaults.core.memory_limit_bytes);
    CHECK(c.core.init_per_second == defaults.core.init_per_second);
    CHECK(c.core.out_of_the_blue_per_second == defaults.core.out_of_the_blue_per_second);
    CHECK(c.io.idle == defaults.io.idle);
    CHECK(c.io.hugepages == defaults.io.hugepages);
    CHECK(c.admin.control_socket == defaults.admin.control_socket);
    REQUIRE(c.admin.http_listen.size() == 1);
    CHECK(c.admin.http_listen[0].host == defaults.admin.http_listen[0].host);
    CHECK(c.admin.http_listen[0].port == defaults.admin.http_listen[0].port);
    CHECK(c.metrics.max_peers == defaults.metrics.max_peers);
    CHECK(c.log_level == defaults.log_level);
    CHECK(c.core.listeners[0].port == core::ListenerSettings{}.port);
    CHECK(c.core.listeners[0].max_associations == core::ListenerSettings{}.max_associations);
    CHECK(c.core.listeners[0].addresses == std::vector{ip("10.0.0.1")});
    CHECK(c.core.listeners[0].profile == 0);
    CHECK(c.io.ports[0].mtu_bytes == io::PortSettings{}.mtu_bytes);
}

TEST_CASE("the files of config/ load") {
    for (const char* file :
         {"config/lab.yaml", "config/minimal.yaml", "config/example-site.yaml"}) {
        INFO(file);
        CHECK_FALSE(good(load_file(in_source(file))).core.peers.empty());
    }
}

TEST_CASE("the lab has two application servers on a TAP port") {
    const Configuration c = good(load_file(in_source("config/lab.yaml")));
    REQUIRE(c.io.ports.size() == 1);
    CHECK(c.io.ports[0].driver == io::Driver::tap);
    CHECK(c.io.ports[0].device == "sbtap0");
    CHECK(c.io.share_cpu);
    REQUIRE(c.core.peers.size() == 2);
    CHECK(c.core.peers[1].addresses == std::vector{ip("10.77.0.12")});
    REQUIRE(c.core.servers.size() == 2);
    CHECK(c.core.servers[1].routing_context == 2u);
}

TEST_CASE("the example has every quirk, mask and preset that it names") {
    const Configuration c = good(load_file(in_source("config/example-site.yaml")));
    CHECK(c.io.cpus == std::vector<unsigned>{1, 2});
    CHECK(c.io.ports[1].driver == io::Driver::pci);
    CHECK(c.io.ports[1].vlan == 100);
    CHECK(c.io.ports[1].mac == std::array<std::uint8_t, 6>{2, 0, 0, 0, 0, 2});
    CHECK(c.core.peers[1].connect);
    CHECK(c.core.peers[1].remote_port == 2905);
    CHECK(c.core.peers[1].m3ua.quirks.no_notify);
    CHECK(c.core.peers[1].m3ua.quirks.ppid_any);
    CHECK_FALSE(c.core.peers[1].m3ua.quirks.daud_in_asp);
    CHECK(c.core.profiles[c.core.peers[2].profile].name == "sigtran-wan");
    CHECK(c.core.servers[0].keys.at(1).mask_bits == 3);
    CHECK(c.core.servers[2].mode == sigtran::TrafficMode::override_);
    CHECK_FALSE(c.core.servers[2].routing_context);
    CHECK(c.admin.http_listen.at(1).host == "::1");
}

}  // namespace signalbox::config::test
