// SPDX-License-Identifier: Apache-2.0
// Which CPU runs the control thread and which the workers.
#pragma once
#include <span>
#include <variant>
#include <vector>

#include "io/problem.h"
#include "io/settings.h"

namespace signalbox::io {

struct CpuPlan {
    unsigned control = 0;
    std::vector<unsigned> workers;
};

/// The verification tag's hint has 6 bits at most.
inline constexpr std::size_t kMaxWorkers = 64;
/// `cpus: auto` takes no more than these: more workers cost memory that few sites need.
inline constexpr std::size_t kMaxAutomaticWorkers = 16;

/// `available`: the CPUs that this process may use, ascending.
std::variant<CpuPlan, std::vector<Problem>> plan_cpus(const Settings& settings,
                                                      std::span<const unsigned> available);

}  // namespace signalbox::io
