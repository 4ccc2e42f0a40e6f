// SPDX-License-Identifier: Apache-2.0
// The part of the host check that asks the kernel.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/host_check.h"

namespace signalbox::io {

namespace {

namespace fs = std::filesystem;

std::uint64_t effective_capabilities() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("CapEff:", 0) == 0) return std::stoull(line.substr(7), nullptr, 16);
    return 0;
}

std::size_t available_memory() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("MemAvailable:", 0) == 0)
            return static_cast<std::size_t>(std::stoull(line.substr(13))) << 10;
    return 0;
}

std::size_t free_hugepages() {
    // Only the default size: mmap(MAP_HUGETLB) and EAL both take it without further words.
    std::ifstream in("/proc/meminfo");
    std::size_t pages = 0, size_kib = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("HugePages_Free:", 0) == 0) pages = std::stoull(line.substr(15));
        if (line.rfind("Hugepagesize:", 0) == 0) size_kib = std::stoull(line.substr(13));
    }
    return pages * (size_kib << 10);
}

std::vector<unsigned> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<unsigned> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

std::vector<std::string> default_route_interfaces() {
    std::vector<std::string> names;
    std::ifstream in("/proc/net/route");
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields(line);
        std::string name, destination, gateway, flags, references, use, metric, mask;
        fields >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
        if (destination == "00000000" && mask == "00000000") names.push_back(name);
    }
    return names;
}

IpAddress from_sockaddr(const sockaddr* address) {
    IpAddress out;
    if (address->sa_family == AF_INET) {
        sockaddr_in in4{};
        std::memcpy(&in4, address, sizeof in4);
        return IpAddress::v4(ntohl(in4.sin_addr.s_addr));
    }
    sockaddr_in6 in6{};
    std::memcpy(&in6, address, sizeof in6);
    std::memcpy(out.bytes.data(), &in6.sin6_addr, out.bytes.size());
    return out;
}

void look_at_interfaces(HostFacts& facts) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return;
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
        InterfaceFacts& interface = facts.interfaces[i->ifa_name];
        interface.up = (i->ifa_flags & IFF_UP) != 0;
        if (i->ifa_addr == nullptr) continue;
        if (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6)
            facts.kernel_addresses.push_back(from_sockaddr(i->ifa_addr));
    }
    freeifaddrs(list);
    // /sys shows the interfaces of the namespace in which it was mounted: hence the ioctl.
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    for (auto& [name, interface] : facts.interfaces) {
        ifreq request{};
        name.copy(request.ifr_name, IFNAMSIZ - 1);
        if (ioctl(fd, SIOCGIFMTU, &request) == 0)
            interface.mtu_bytes = static_cast<unsigned>(request.ifr_mtu);
    }
    close(fd);
    for (const std::string& name : default_route_interfaces())
        facts.interfaces[name].holds_default_route = true;
}

void look_at_pci(HostFacts& facts) {
    for (const char* driver : {"vfio-pci", "uio_pci_generic", "igb_uio"}) {
        std::error_code error;
        for (const auto& entry :
             fs::directory_iterator(fs::path("/sys/bus/pci/drivers") / driver, error))
            if (entry.path().filename().string().find(':') != std::string::npos)
                facts.userspace_pci.push_back(entry.path().filename().string());
    }
}

}  // namespace

HostFacts look_at_host() {
    HostFacts facts;
    const std::uint64_t capabilities = effective_capabilities();
    facts.net_raw = (capabilities >> CAP_NET_RAW & 1) != 0;
    facts.net_admin = (capabilities >> CAP_NET_ADMIN & 1) != 0;
    facts.tun_device = access("/dev/net/tun", R_OK | W_OK) == 0;
    facts.cpus = usable_cpus();
    facts.free_hugepage_bytes = free_hugepages();
    facts.available_memory_bytes = available_memory();
    look_at_interfaces(facts);
    look_at_pci(facts);
    return facts;
}

}  // namespace signalbox::io
