// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace signalbox::admin {

struct ListenAddress {
    std::string host;  // numeric IPv4 or IPv6
    std::uint16_t port = 0;
};

struct Settings {
    std::vector<ListenAddress> http_listen{{"127.0.0.1", 12905}};
    std::string control_socket = "/run/signalbox/control.sock";
    std::string control_group;  // of the socket; empty: the daemon's own
};

}  // namespace signalbox::admin
