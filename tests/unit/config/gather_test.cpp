// SPDX-License-Identifier: Apache-2.0
// Configurations of several files: include and peers_from.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "unit/config/loaded.h"

namespace signalbox::config::test {
namespace {

/// A directory of its own that goes with the test.
class Directory {
 public:
    Directory() {
        char name[] = "/tmp/signalbox-config-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
        return (path_ / name).string();
    }
    std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
    std::filesystem::path path_;
};

const std::string kMain =
    "node: {name: n}\n"
    "ports: [{name: p, driver: tap, device: tap0, addresses: [10.0.0.1/24]}]\n"
    "listeners: [{name: l}]\n";

}  // namespace

TEST_CASE("included files join lists and maps, in the order of their names") {
    const Directory d;
    d.write("conf.d/20-b.yaml", "peers: [{name: b, listener: l, addresses: [10.0.0.12]}]\n");
    d.write("conf.d/10-a.yaml",
            "peers: [{name: a, listener: l, addresses: [10.0.0.11]}]\n"
            "sctp_profiles: {fast: {rto_min: 50ms}}\n");
    const auto main = d.write("main.yaml", kMain +
                                               "include: [conf.d/*.yaml, none.d/*.yaml]\n"
                                               "sctp_profiles: {slow: {rto_min: 2s}}\n");
    const Configuration c = good(load_file(main));
    REQUIRE(c.core.peers.size() == 2);
    CHECK(c.core.peers[0].m3ua.name == "a");
    CHECK(c.core.peers[1].m3ua.name == "b");
    CHECK(c.core.profiles.size() == 5);
}

TEST_CASE("a value that two files give is an error that names both") {
    const Directory d;
    const auto more = d.write("more.yaml", "log: {level: debug}\n");
    const auto main = d.write("main.yaml", kMain + "include: more.yaml\nlog: {level: info}\n");
    const auto errors = refused(load_file(main));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].file == more);
    CHECK(errors[0].line == 1);
    CHECK(errors[0].text == "duplicate key 'level': first given in " + main + ":5");
}

TEST_CASE("peers come from a CSV file with lists, maps of limits and defaults") {
    const Directory d;
    d.write("peers.csv",
            "name, listener, addresses, asp_id, limits.messages_per_second, application_servers\r\n"
            "# a comment\r\n"
            "a, l, 10.0.0.11;10.0.1.11, 7, , s\r\n"
            "\r\n"
            "\"b\", l, 10.0.0.12 10.0.1.12, , 500, s\r\n");
    const auto main = d.write("main.yaml", kMain +
                                               "peers_from: peers.csv\n"
                                               "instances: [{name: i, point_code: 1-1-1}]\n"
                                               "application_servers: [{name: s, instance: i}]\n");
    const Configuration c = good(load_file(main));
    REQUIRE(c.core.peers.size() == 2);
    CHECK(c.core.peers[0].addresses.size() == 2);
    CHECK(c.core.peers[0].m3ua.asp_id == 7u);
    CHECK(c.core.peers[1].m3ua.name == "b");
    CHECK_FALSE(c.core.peers[1].m3ua.asp_id);
    CHECK(c.core.peers[1].messages_per_second == 500u);
    CHECK(c.core.servers[0].members.size() == 2);
}

TEST_CASE("a CSV file's errors point into it") {
    const Directory d;
    const auto peers = d.write("peers.csv", "name,listner,addresses\na,l,10.0.0.300\nb,l\n");
    const auto errors = refused(load_file(d.write("main.yaml", kMain + "peers_from: peers.csv\n")));
    CHECK(briefly(errors) ==
          std::vector<std::string>{
              "1:6 unknown column 'listner'; did you mean 'listener'?",
              "2:1 missing key 'listener' in peers: the listener that the peer belongs to",
              "2:5 addresses: '10.0.0.300' is not an IP address",
              "3:1 2 cells in a table of 3 columns"});
    REQUIRE_FALSE(errors.empty());
    CHECK(errors[0].file == peers);
    CHECK(errors[0].source_line == "name,listner,addresses");
}

TEST_CASE("a device or a pipe in the place of an included file holds nobody") {
    const Directory d;
    for (const char* name : {"/dev/zero", "/proc/self/fd", "missing.yaml"}) {
        const auto main = d.write("main.yaml", kMain + "include: " + name + "\n");
        const auto errors = refused(load_file(main));
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].line == 4);
    }
}

TEST_CASE("a configuration as text gives the same configuration, presets and all") {
    const Directory d;
    const auto main = d.write(
        "main.yaml", kMain +
                         "sctp_profiles: {site: {preset: sigtran-wan, rto_max: 3s}}\n"
                         "peers: [{name: 'a', listener: l, addresses: ['fd00::2', 10.0.0.2]}]\n"
                         "peer_templates: [{name: 'cell-{n}', count: 3, listener: l, "
                         "first_address: 10.0.0.100, profile: site}]\n");
    // The IPv6 address needs one of ours.
    CHECK(refused(load_file(main)).size() == 1);
    const auto fixed =
        d.write("main.yaml", kMain +
                                 "sctp_profiles: {site: {preset: sigtran-wan, rto_max: 3s}}\n"
                                 "peers: [{name: 'a', listener: l, addresses: [10.0.0.2]}]\n"
                                 "peer_templates: [{name: 'cell-{n}', count: 3, listener: l, "
                                 "first_address: 10.0.0.100, profile: site}]\n");
    const Configuration first = good(load_file(fixed));
    const Configuration second = good(load_text(first.effective, "again"));
    CHECK(second.effective == first.effective);
    CHECK(second.core.peers.size() == 4);
    CHECK(second.core.profiles.back().values.rto_max == std::chrono::seconds{3});
    CHECK(first.effective.find("streams_out: ") != std::string::npos);
}

}  // namespace signalbox::config::test
