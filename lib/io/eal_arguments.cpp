// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdio>

#include "io/eal.h"

namespace signalbox::io {

namespace {

std::string mac_text(const std::array<std::uint8_t, 6>& mac) {
    char text[18];
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                  mac[3], mac[4], mac[5]);
    return text;
}

/// device: PATH or PATH,role=client,id=1,...: what follows the path goes to the driver as it
/// stands.
std::string memif_arguments(const PortSettings& port) {
    const auto comma = port.device.find(',');
    std::string out = ",socket=" + port.device.substr(0, comma) + ",socket-abstract=no";
    const std::string rest = comma == std::string::npos ? "" : port.device.substr(comma);
    if (rest.find("role=") == std::string::npos) out += ",role=server";
    if (port.mac) out += ",mac=" + mac_text(*port.mac);
    return out + rest;
}

std::string device_arguments(const PortSettings& port, std::size_t workers) {
    switch (port.driver) {
        case Driver::tap:
            return ",iface=" + port.device + (port.mac ? ",mac=" + mac_text(*port.mac) : "");
        case Driver::af_packet: {
            const std::string frame = std::to_string(packet_frame_bytes(port.mtu_bytes));
            std::string out = ",iface=" + port.device + ",qdisc_bypass=1,blocksz=" + frame +
                              ",framesz=" + frame + ",framecnt=512";
            if (workers > 1) out += ",qpairs=" + std::to_string(workers);
            return out;
        }
        case Driver::af_xdp:
            return ",iface=" + port.device + ",queue_count=" + std::to_string(workers);
        case Driver::memif:
            return memif_arguments(port);
        case Driver::ring:
        case Driver::pci:
            break;
    }
    return "";
}

std::string lcores(const CpuPlan& plan) {
    std::string out = "--lcores=0@" + std::to_string(plan.control);
    for (std::size_t i = 0; i < plan.workers.size(); ++i)
        out += "," + std::to_string(i + 1) + "@" + std::to_string(plan.workers[i]);
    return out;
}

}  // namespace

std::size_t packet_frame_bytes(std::uint16_t mtu_bytes) {
    constexpr std::size_t kOwnHeader = 128;  // of the ring, before each packet
    constexpr std::size_t kReassembled = 2048;
    return std::bit_ceil(mtu_bytes + kOwnHeader + kReassembled);
}

std::string device_name(const PortSettings& port, std::size_t index) {
    const std::string number = std::to_string(index);
    switch (port.driver) {
        case Driver::tap:
            return "net_tap" + number;
        case Driver::af_packet:
            return "net_af_packet" + number;
        case Driver::af_xdp:
            return "net_af_xdp" + number;
        case Driver::memif:
            return "net_memif" + number;
        case Driver::ring:
            return "net_ring" + number;
        case Driver::pci:
            break;
    }
    return port.device;
}

std::vector<std::string> eal_arguments(const Settings& settings, const CpuPlan& plan,
                                       bool hugepages, std::size_t buffer_bytes,
                                       const std::string& file_prefix) {
    std::vector<std::string> args{"signalboxd", lcores(plan), "--main-lcore=0",
                                  "--file-prefix=" + file_prefix, "--no-telemetry"};
    // --in-memory needs neither a hugetlbfs mount nor root, and excludes --no-huge.
    if (hugepages) {
        args.emplace_back("--in-memory");
    } else {
        args.insert(args.end(),
                    {"--no-huge", "--no-shconf", "-m", std::to_string((buffer_bytes >> 20) + 1)});
    }
    const bool pci = std::any_of(settings.ports.begin(), settings.ports.end(),
                                 [](const PortSettings& p) { return p.driver == Driver::pci; });
    if (!pci) args.emplace_back("--no-pci");
    for (std::size_t i = 0; i < settings.ports.size(); ++i) {
        const PortSettings& port = settings.ports[i];
        if (port.driver == Driver::pci)
            args.push_back("--allow=" + port.device);
        else
            args.push_back("--vdev=" + device_name(port, i) +
                           device_arguments(port, plan.workers.size()));
    }
    return args;
}

}  // namespace signalbox::io
