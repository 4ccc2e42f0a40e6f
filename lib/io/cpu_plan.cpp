// SPDX-License-Identifier: Apache-2.0
#include "io/cpu_plan.h"

#include <algorithm>

namespace signalbox::io {

namespace {

bool contains(std::span<const unsigned> list, unsigned cpu) {
    return std::find(list.begin(), list.end(), cpu) != list.end();
}

CpuPlan plan_automatically(bool share, std::span<const unsigned> available) {
    CpuPlan plan{available.front(), {available.begin(), available.end()}};
    if (!share && plan.workers.size() > 1) plan.workers.erase(plan.workers.begin());
    if (plan.workers.size() > kMaxAutomaticWorkers) plan.workers.resize(kMaxAutomaticWorkers);
    return plan;
}

std::vector<Problem> problems_of_list(const std::vector<unsigned>& cpus,
                                      std::span<const unsigned> available) {
    std::vector<Problem> problems;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        if (!contains(available, cpus[i]))
            problems.push_back({Severity::fatal,
                                "workers.cpus: CPU " + std::to_string(cpus[i]) +
                                    " is not available to this process",
                                "choose from what `taskset -cp $$` shows, or widen the cpuset"});
        if (contains({cpus.data(), i}, cpus[i]))
            problems.push_back({Severity::fatal,
                                "workers.cpus: CPU " + std::to_string(cpus[i]) + " stands twice",
                                "name each CPU once"});
    }
    if (cpus.size() > kMaxWorkers)
        problems.push_back(
            {Severity::fatal, "workers.cpus: more than 64 workers", "name at most 64 CPUs"});
    return problems;
}

}  // namespace

std::variant<CpuPlan, std::vector<Problem>> plan_cpus(const Settings& settings,
                                                      std::span<const unsigned> available) {
    if (available.empty())
        return std::vector<Problem>{{Severity::fatal, "no CPU is available to this process", ""}};
    if (settings.cpus.empty()) return plan_automatically(settings.share_cpu, available);
    auto problems = problems_of_list(settings.cpus, available);
    if (!problems.empty()) return problems;
    for (unsigned cpu : available)
        if (!contains(settings.cpus, cpu)) return CpuPlan{cpu, settings.cpus};
    if (settings.share_cpu) return CpuPlan{settings.cpus.front(), settings.cpus};
    return std::vector<Problem>{
        {Severity::fatal, "workers.cpus takes every CPU and leaves none for the control thread",
         "name one CPU less, or set workers.share_cpu: true"}};
}

}  // namespace signalbox::io
