// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sctp_socket.h"

namespace interop {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct Options {
    bool gateway =
        false;  // --mode sg: a minimal gateway, to try the application server without the daemon
    std::string fault;  // what that gateway does to one message: drop, duplicate, swap, corrupt
    std::vector<std::string> local;
    std::vector<std::string> remote;
    std::uint16_t port = m3ua::kPort;
    std::uint16_t local_port = m3ua::kPort;
    std::uint16_t streams = 16;
    std::optional<std::uint32_t> asp_id;
    std::optional<std::uint32_t> routing_context;
    std::optional<std::uint32_t> traffic_mode = m3ua::kLoadshare;
    std::uint32_t opc = 0;
    std::uint32_t dpc = 0;
    std::uint8_t network_indicator = 2;
    std::uint64_t send = 0;
    std::uint64_t rate = 0;  // messages/s; 0: as fast as the socket takes
    std::size_t payload_bytes = 100;
    std::uint64_t expect = 0;
    std::uint32_t sls_count = 16;
    bool listen = false;  // the gateway opens the association; --remote is not needed then
    bool share = false;   // one of several that share the flows: what it has not seen is not lost
    std::string start_file;  // sending starts when it exists
    bool audit = true;       // sending starts when DAUD is answered by DAVA
    std::string record;  // 16 octets per message received: sender(4) sls(4) sequence(8), big-endian
    double linger_s = 0.2;  // time to stay after all is done
    double timeout_s = 60;
    double stall_s = 20;  // nothing new for so long: what is missing will not come
    bool progress = false;
    StackSettings stack;
};

/// Exits 64 with a line on standard error where the command line is wrong.
Options parse_options(int argc, char** argv);

}  // namespace interop
