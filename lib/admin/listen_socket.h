// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket on a numeric IPv4 or IPv6 address, and an error that says what to do.
#pragma once
#include <cstdint>
#include <string>

#include "admin/settings.h"

namespace signalbox::admin {

struct ListenSocket {
    int descriptor = -1;  // the caller closes it
    bool ipv6 = false;
    std::uint16_t port = 0;  // as bound
    std::string error;       // why there is none
};

ListenSocket listen_on(const ListenAddress& address);

/// "host:port", with brackets around IPv6.
std::string text_of(const ListenAddress& address);

/// "name (pid N)" of the process that listens on the TCP port, as far as /proc shows; empty when it
/// does not.
std::string listener_of_port(std::uint16_t port);

}  // namespace signalbox::admin
