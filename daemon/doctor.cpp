// SPDX-License-Identifier: Apache-2.0
#include "doctor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "admin/listen_socket.h"
#include "io/host_check.h"

namespace signalbox::daemon {

namespace {

namespace fs = std::filesystem;

std::string first_line(const char* path) {
    std::string line;
    std::getline(std::ifstream{path}, line);
    return line;
}

class Report {
 public:
    void pass(const std::string& text) { out_ += "PASS  " + text + "\n"; }
    void warn(const std::string& text, const std::string& mend) { add("WARN  ", text, mend); }
    void fail(const std::string& text, const std::string& mend) { add("FAIL  ", text, mend); }
    std::string take() { return std::move(out_); }

 private:
    void add(const char* what, const std::string& text, const std::string& mend) {
        out_ += what + text + "\n";
        if (!mend.empty()) out_ += "      to mend it: " + mend + "\n";
    }
    std::string out_;
};

void check_memory_lock(Report& report) {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (limit.rlim_cur == RLIM_INFINITY)
        report.pass("memory may be locked without limit");
    else
        report.warn("memory may be locked up to " + std::to_string(limit.rlim_cur >> 10) +
                        " KiB: hugepages and vfio need more",
                    "ulimit -l unlimited (LimitMEMLOCK=infinity in the unit)");
}

void check_clock(Report& report) {
    const std::string source =
        first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (source == "tsc" || source == "kvm-clock" || source.empty())
        report.pass("clock source " + (source.empty() ? "not shown" : source));
    else
        report.warn("clock source " + source + ": each look at the time is a system call",
                    "boot with clocksource=tsc if the hardware has a stable one");
}

void check_numa(Report& report, const config::Configuration& c) {
    for (const io::PortSettings& port : c.io.ports) {
        if (port.driver != io::Driver::pci) continue;
        const std::string node =
            first_line(("/sys/bus/pci/devices/" + port.device + "/numa_node").c_str());
        report.pass("port " + port.name + ": NUMA node " + (node.empty() ? "not shown" : node) +
                    "; workers.cpus should be on it");
    }
}

void check_http(Report& report, const config::Configuration& c) {
    for (const admin::ListenAddress& address : c.admin.http_listen) {
        const std::string holder = admin::listener_of_port(address.port);
        if (holder.empty())
            report.pass("HTTP port " + admin::text_of(address) + " is free");
        else
            report.warn("HTTP port " + admin::text_of(address) + " is held by " + holder,
                        "end it, or change http.listen");
    }
}

void check_control_socket(Report& report, const config::Configuration& c) {
    const fs::path directory = fs::path(c.admin.control_socket).parent_path();
    if (::access(directory.c_str(), W_OK) == 0)
        report.pass("control socket " + c.admin.control_socket + " can be made");
    else
        report.warn("control socket: " + directory.string() + " is not there or not ours",
                    "install -d -o signalbox -g signalbox " + directory.string());
}

}  // namespace

std::string report_of(const config::Configuration& c) {
    Report report;
    const io::HostFacts host = io::look_at_host();
    const auto problems = io::check_host(c.io, c.core.memory_limit_bytes, host);
    for (const io::Problem& problem : problems) {
        if (problem.severity == io::Severity::fatal)
            report.fail(problem.text, problem.mend);
        else
            report.warn(problem.text, problem.mend);
    }
    if (problems.empty()) report.pass("ports, CPUs, memory and capabilities suffice");
    report.pass(std::to_string(host.cpus.size()) + " CPU(s) usable, " +
                std::to_string(host.free_hugepage_bytes >> 20) + " MiB free in hugepages (" +
                (io::use_hugepages(c.io, c.core.memory_limit_bytes, host) ? "used" : "not used") +
                ")");
    check_memory_lock(report);
    check_clock(report);
    check_numa(report, c);
    check_http(report, c);
    check_control_socket(report, c);
    return report.take();
}

bool has_failure(const std::string& report) {
    return report.rfind("FAIL", 0) == 0 || report.find("\nFAIL") != std::string::npos;
}

}  // namespace signalbox::daemon
