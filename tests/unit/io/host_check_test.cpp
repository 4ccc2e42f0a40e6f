// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "io/cpu_plan.h"
#include "io/eal.h"
#include "io/host_check.h"

namespace signalbox::io {

namespace {

constexpr std::size_t kMemoryBytes = std::size_t{512} << 20;

PortSettings port(Driver driver, std::string device) {
    PortSettings settings;
    settings.name = "left";
    settings.driver = driver;
    settings.device = std::move(device);
    settings.addresses = {{IpAddress::v4(0x0a4d0003), 24}};
    return settings;
}

HostFacts good_host() {
    HostFacts host;
    host.net_raw = host.net_admin = host.tun_device = true;
    host.cpus = {0, 1};
    host.available_memory_bytes = std::size_t{8} << 30;
    host.interfaces["vd0"] = {true, 1500, false};
    return host;
}

bool mentions(const std::vector<Problem>& problems, const std::string& text) {
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& p) {
        return p.format().find(text) != std::string::npos;
    });
}

CpuPlan planned(const Settings& settings, std::vector<unsigned> cpus) {
    const auto plan = plan_cpus(settings, cpus);
    REQUIRE(std::holds_alternative<CpuPlan>(plan));
    return std::get<CpuPlan>(plan);
}

bool has(const std::vector<std::string>& args, const std::string& arg) {
    return std::find(args.begin(), args.end(), arg) != args.end();
}

}  // namespace

TEST_CASE("a good host has no problems") {
    Settings settings;
    settings.ports = {port(Driver::af_packet, "vd0"), port(Driver::tap, "sb0")};
    CHECK(check_host(settings, kMemoryBytes, good_host()).empty());
}

TEST_CASE("an absent interface is named, with what lists those that exist") {
    Settings settings;
    settings.ports = {port(Driver::af_packet, "vd9")};
    const auto problems = check_host(settings, kMemoryBytes, good_host());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].text == "port left: interface vd9 does not exist in this network namespace");
    CHECK(mentions(problems, "ip link show"));
    CHECK(any_fatal(problems));
}

TEST_CASE("af_packet sets the flags of its interface, which CAP_NET_RAW alone does not allow") {
    Settings settings;
    settings.ports = {port(Driver::af_packet, "vd0")};
    HostFacts host = good_host();
    CHECK_FALSE(any_fatal(check_host(settings, kMemoryBytes, host)));
    host.net_admin = false;
    const auto problems = check_host(settings, kMemoryBytes, host);
    CHECK(any_fatal(problems));
    CHECK(mentions(problems, "CAP_NET_ADMIN is missing, which af_packet needs"));
}

TEST_CASE("all problems come at once, each with the command that mends it") {
    Settings settings;
    settings.hugepages = Hugepages::required;
    settings.cpus = {7};
    settings.ports = {port(Driver::af_packet, "vd0"), port(Driver::tap, "sb0")};
    HostFacts host = good_host();
    host.net_raw = host.net_admin = host.tun_device = false;
    const auto problems = check_host(settings, kMemoryBytes, host);
    CHECK(mentions(problems, "CAP_NET_RAW is missing"));
    CHECK(mentions(problems, "CAP_NET_ADMIN is missing"));
    CHECK(mentions(problems, "/dev/net/tun is absent"));
    CHECK(mentions(problems, "modprobe tun"));
    CHECK(mentions(problems, "CPU 7 is not available"));
    CHECK(mentions(problems, "sysctl vm.nr_hugepages=288"));
}

TEST_CASE("an address that the kernel has too is refused") {
    Settings settings;
    settings.ports = {port(Driver::af_packet, "vd0")};
    HostFacts host = good_host();
    host.kernel_addresses = {IpAddress::v4(0x0a4d0003)};
    CHECK(mentions(check_host(settings, kMemoryBytes, host),
                   "ip address delete 10.77.0.3/24 dev vd0"));
}

TEST_CASE("an interface that is down, too small, or holds the default route is told of") {
    Settings settings;
    settings.ports = {port(Driver::af_packet, "vd0")};
    settings.ports[0].mtu_bytes = 9000;
    HostFacts host = good_host();
    host.interfaces["vd0"] = {false, 1500, true};
    const auto problems = check_host(settings, kMemoryBytes, host);
    CHECK(mentions(problems, "ip link set vd0 up"));
    CHECK(mentions(problems, "ip link set vd0 mtu 9000"));
    CHECK(mentions(problems, "default route"));
}

TEST_CASE("automatic hugepages are used only when enough are free") {
    Settings settings;
    HostFacts host = good_host();
    CHECK_FALSE(use_hugepages(settings, kMemoryBytes, host));
    host.free_hugepage_bytes = std::size_t{1} << 30;
    CHECK(use_hugepages(settings, kMemoryBytes, host));
    settings.hugepages = Hugepages::off;
    CHECK_FALSE(use_hugepages(settings, kMemoryBytes, host));
}

TEST_CASE("the control thread takes the first free CPU and workers the others") {
    Settings settings;
    auto plan = planned(settings, {0, 1, 2});
    CHECK(plan.control == 0);
    CHECK(plan.workers == std::vector<unsigned>{1, 2});
    settings.cpus = {0, 2};
    plan = planned(settings, {0, 1, 2});
    CHECK(plan.control == 1);
    CHECK(plan.workers == std::vector<unsigned>{0, 2});
}

TEST_CASE("a CPU is shared when there is only one, or when that is configured") {
    Settings settings;
    CHECK(planned(settings, {3}).workers == std::vector<unsigned>{3});
    settings.cpus = {0, 1};
    CHECK(std::holds_alternative<std::vector<Problem>>(
        plan_cpus(settings, std::vector<unsigned>{0, 1})));
    settings.share_cpu = true;
    CHECK(planned(settings, {0, 1}).control == 0);
    settings.cpus.clear();
    CHECK(planned(settings, {0, 1}).workers.size() == 2);
}

TEST_CASE("EAL is given an allow list and its lcores") {
    Settings settings;
    settings.ports = {port(Driver::tap, "sb0"), port(Driver::af_packet, "vd0"),
                      port(Driver::memif, "/run/m.sock,id=2")};
    settings.ports[0].mac = std::array<std::uint8_t, 6>{2, 0, 0, 0, 0, 1};
    const auto args = eal_arguments(settings, {0, {1}}, false, std::size_t{64} << 20, "p");
    CHECK(has(args, "--lcores=0@0,1@1"));
    CHECK(has(args, "--no-pci"));
    CHECK(has(args, "--no-huge"));
    CHECK_FALSE(has(args, "--in-memory"));
    CHECK(has(args, "--vdev=net_tap0,iface=sb0,mac=02:00:00:00:00:01"));
    CHECK(has(
        args,
        "--vdev=net_af_packet1,iface=vd0,qdisc_bypass=1,blocksz=4096,framesz=4096,framecnt=512"));
    CHECK(has(args, "--vdev=net_memif2,socket=/run/m.sock,socket-abstract=no,role=server,id=2"));
}

TEST_CASE("only a configured PCI device is touched, and memory files are none with hugepages") {
    Settings settings;
    settings.ports = {port(Driver::pci, "0000:01:00.0")};
    const auto args = eal_arguments(settings, {0, {1, 2}}, true, 0, "p");
    CHECK(has(args, "--allow=0000:01:00.0"));
    CHECK(has(args, "--in-memory"));
    CHECK_FALSE(has(args, "--no-pci"));
    CHECK(has(args, "--lcores=0@0,1@1,2@2"));
}

}  // namespace signalbox::io
