// SPDX-License-Identifier: Apache-2.0
// DPDK's environment for the rivals that need it: no hugepages, no devices, one lcore.
#pragma once
#include <rte_eal.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace signalbox::perf {

inline void start_eal(unsigned megabytes) {
    // Nothing is shared, so that two runs at once do not meet.
    std::istringstream line(
        "perf --no-huge --no-pci --no-shconf --no-telemetry -l 0 --log-level=error "
        "--file-prefix signalbox-perf -m " +
        std::to_string(megabytes));
    std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0) return;
    std::fprintf(stderr, "rte_eal_init failed\n");
    std::exit(1);
}

}  // namespace signalbox::perf
