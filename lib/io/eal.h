// SPDX-License-Identifier: Apache-2.0
// DPDK's environment layer: started with an allow list, so that no device that the configuration
// does not name is touched; its log goes where ours goes, from before it starts.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/cpu_plan.h"
#include "io/problem.h"
#include "io/settings.h"

namespace signalbox::io {

/// Level as in RFC 5424: 3 error, 4 warning, 5 notice, 6 information, 7 debug. Called on any
/// thread.
using LogLine = std::function<void(unsigned level, std::string_view line)>;

/// EAL's command line. lcore 0 is the control thread, 1.. are the workers.
std::vector<std::string> eal_arguments(const Settings& settings, const CpuPlan& plan,
                                       bool hugepages, std::size_t buffer_bytes,
                                       const std::string& file_prefix);

/// A frame in af_packet's ring: an MTU and what a reassembled packet has more, for the driver asks
/// the kernel to reassemble before it spreads packets over queues. What is longer is cut by the
/// kernel and dropped by us.
std::size_t packet_frame_bytes(std::uint16_t mtu_bytes);

/// The name under which DPDK knows the device of port number `index`.
std::string device_name(const PortSettings& port, std::size_t index);

/// One in a process: EAL cannot be started twice.
class Eal {
 public:
    static std::variant<std::unique_ptr<Eal>, Problem> start(const std::vector<std::string>& args,
                                                             LogLine log);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

 private:
    explicit Eal(LogLine log) : log_(std::move(log)) {}
    bool capture_log();
    static ssize_t write_log(void* self, const char* text, std::size_t size);

    LogLine log_;
    std::string last_error_;
    std::FILE* stream_ = nullptr;
    bool running_ = false;
};

}  // namespace signalbox::io
