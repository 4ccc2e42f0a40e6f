// SPDX-License-Identifier: Apache-2.0
#include "io/host_check.h"

#include <algorithm>
#include <variant>

#include "io/cpu_plan.h"

namespace signalbox::io {

namespace {

/// Packet buffers beside the configured memory.
constexpr std::size_t kBufferMemoryBytes = std::size_t{64} << 20;
constexpr std::size_t kInterfaceNameMax = 15;  // IFNAMSIZ - 1

class Checker {
 public:
    Checker(const Settings& settings, const HostFacts& host) : settings_(settings), host_(host) {}

    std::vector<Problem> run(std::size_t memory_bytes) {
        const auto plan = plan_cpus(settings_, host_.cpus);
        if (const auto* problems = std::get_if<std::vector<Problem>>(&plan)) problems_ = *problems;
        check_memory(memory_bytes);
        if (settings_.ports.empty()) fatal("no port is configured", "add one under `ports:`");
        for (const PortSettings& port : settings_.ports) check_port(port);
        return std::move(problems_);
    }

 private:
    void fatal(std::string text, std::string mend) {
        problems_.push_back({Severity::fatal, std::move(text), std::move(mend)});
    }
    void warn(std::string text, std::string mend) {
        problems_.push_back({Severity::warning, std::move(text), std::move(mend)});
    }

    void check_memory(std::size_t memory_bytes) {
        const std::size_t wanted = memory_bytes + kBufferMemoryBytes;
        const std::string mib = std::to_string(wanted >> 20) + " MiB";
        if (settings_.hugepages == Hugepages::required && host_.free_hugepage_bytes < wanted)
            fatal("memory.hugepages is required, but of " + mib + " only " +
                      std::to_string(host_.free_hugepage_bytes >> 20) +
                      " MiB are free in hugepages",
                  "sysctl vm.nr_hugepages=" + std::to_string((wanted + (2u << 20) - 1) >> 21));
        if (!use_hugepages(settings_, memory_bytes, host_) && host_.available_memory_bytes != 0 &&
            host_.available_memory_bytes < wanted)
            warn("memory.limit and packet buffers take " + mib + ", but only " +
                     std::to_string(host_.available_memory_bytes >> 20) + " MiB are available",
                 "lower memory.limit");
    }

    void check_port(const PortSettings& port) {
        switch (port.driver) {
            case Driver::tap:
                check_tap(port);
                break;
            case Driver::af_packet:
                check_interface(port, "af_packet");
                break;
            case Driver::af_xdp:
                check_interface(port, "af_xdp");
                break;
            case Driver::pci:
                check_pci(port);
                break;
            case Driver::memif:
            case Driver::ring:
                break;
        }
        for (const InterfaceAddress& mine : port.addresses)
            if (std::find(host_.kernel_addresses.begin(), host_.kernel_addresses.end(),
                          mine.address) != host_.kernel_addresses.end())
                fatal(where(port) + "address " + mine.address.text() +
                          " is also the kernel's, which would answer for SCTP",
                      "ip address delete " + mine.address.text() + "/" +
                          std::to_string(mine.prefix_length) + " dev " + port.device);
    }

    void check_tap(const PortSettings& port) {
        if (!host_.tun_device)
            fatal(where(port) + "/dev/net/tun is absent",
                  "modprobe tun (in a container: pass the device /dev/net/tun)");
        if (!host_.net_admin)
            fatal(where(port) + "CAP_NET_ADMIN is missing, which making a TAP interface needs",
                  "run as root, or add AmbientCapabilities=CAP_NET_ADMIN to the systemd unit");
        if (port.device.empty() || port.device.size() > kInterfaceNameMax)
            fatal(where(port) + "`" + port.device + "` is no interface name",
                  "use 1 to 15 characters");
        if (host_.interfaces.contains(port.device))
            fatal(where(port) + "interface " + port.device + " exists already",
                  "ip link delete " + port.device + ", or choose another name");
    }

    // Both drivers set the interface's flags or address when they start.
    void check_interface(const PortSettings& port, const char* driver) {
        if (!host_.net_raw)
            fatal(where(port) + "CAP_NET_RAW is missing, which " + driver + " needs",
                  "run as root, or add AmbientCapabilities=CAP_NET_RAW to the systemd unit");
        if (!host_.net_admin)
            fatal(where(port) + "CAP_NET_ADMIN is missing, which " + driver + " needs",
                  "run as root, or add AmbientCapabilities=CAP_NET_ADMIN to the systemd unit");
        const auto found = host_.interfaces.find(port.device);
        if (found == host_.interfaces.end()) {
            fatal(where(port) + "interface " + port.device +
                      " does not exist in this network namespace",
                  "`ip link show` lists those that do");
            return;
        }
        const InterfaceFacts& facts = found->second;
        if (!facts.up)
            fatal(where(port) + "interface " + port.device + " is down",
                  "ip link set " + port.device + " up");
        if (facts.mtu_bytes < port.mtu_bytes)
            fatal(where(port) + "mtu " + std::to_string(port.mtu_bytes) + " is more than the " +
                      std::to_string(facts.mtu_bytes) + " of " + port.device,
                  "ip link set " + port.device + " mtu " + std::to_string(port.mtu_bytes));
        if (facts.holds_default_route)
            warn(where(port) + "interface " + port.device + " holds this host's default route",
                 "give Signalbox an interface of its own");
    }

    void check_pci(const PortSettings& port) {
        if (settings_.hugepages == Hugepages::off || host_.free_hugepage_bytes == 0)
            fatal(where(port) + "a PCI device needs hugepages", "sysctl vm.nr_hugepages=512");
        const auto& bound = host_.userspace_pci;
        if (std::find(bound.begin(), bound.end(), port.device) == bound.end())
            fatal(where(port) + "PCI device " + port.device + " is not bound to vfio-pci",
                  "dpdk-devbind.py --bind=vfio-pci " + port.device);
    }

    static std::string where(const PortSettings& port) { return "port " + port.name + ": "; }

    const Settings& settings_;
    const HostFacts& host_;
    std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_host(const Settings& settings, std::size_t memory_bytes,
                                const HostFacts& host) {
    return Checker{settings, host}.run(memory_bytes);
}

bool any_fatal(const std::vector<Problem>& problems) {
    return std::any_of(problems.begin(), problems.end(),
                       [](const Problem& p) { return p.severity == Severity::fatal; });
}

bool use_hugepages(const Settings& settings, std::size_t memory_bytes, const HostFacts& host) {
    if (settings.hugepages == Hugepages::off) return false;
    if (settings.hugepages == Hugepages::required) return true;
    return host.free_hugepage_bytes >= memory_bytes + kBufferMemoryBytes;
}

}  // namespace signalbox::io
