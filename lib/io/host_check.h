// SPDX-License-Identifier: Apache-2.0
// Is the host ready for the configured ports? Asked before EAL starts, because EAL's own answers
// are poor: a wrong interface name leaves zero ports and carries on, unmounted hugepages show as
// "Permission denied".
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "io/problem.h"
#include "io/settings.h"

namespace signalbox::io {

struct InterfaceFacts {
    bool up = false;
    unsigned mtu_bytes = 0;
    bool holds_default_route = false;
};

/// What the host was found to be; tests make their own.
struct HostFacts {
    bool net_raw = false;    // CAP_NET_RAW: packet sockets
    bool net_admin = false;  // CAP_NET_ADMIN: making a TAP interface, the kernel's interfaces
    bool tun_device = false;
    std::vector<unsigned> cpus;  // available to this process, ascending
    std::size_t free_hugepage_bytes = 0;
    std::size_t available_memory_bytes = 0;
    std::map<std::string, InterfaceFacts> interfaces;
    std::vector<IpAddress> kernel_addresses;
    std::vector<std::string>
        userspace_pci;  // addresses bound to vfio-pci, uio_pci_generic or igb_uio
};

HostFacts look_at_host();

/// All problems at once. `memory_bytes`: the configured limit.
std::vector<Problem> check_host(const Settings& settings, std::size_t memory_bytes,
                                const HostFacts& host);

bool any_fatal(const std::vector<Problem>& problems);

/// Whether memory comes from hugepages: what is configured, and for `automatic` whether enough are
/// free.
bool use_hugepages(const Settings& settings, std::size_t memory_bytes, const HostFacts& host);

}  // namespace signalbox::io
