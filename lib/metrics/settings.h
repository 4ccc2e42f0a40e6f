// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace signalbox::metrics {

struct Settings {
    std::uint32_t max_peers = 1000;  // series per peer are capped
    bool required = false;           // true: without the HTTP port the daemon does not start
};

}  // namespace signalbox::metrics
