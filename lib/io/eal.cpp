// SPDX-License-Identifier: Apache-2.0
#include "io/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <unistd.h>

#include <array>

namespace signalbox::io {

namespace {

/// net_tap says at error level that the kernel has no multiq qdisc (which only its flow rules need)
/// and that there is no secondary process. Neither is one.
constexpr std::array<std::string_view, 5> kHarmless{
    "tap_nl_dump_ext_ack", "qdisc_create_multiq", "failed to create multiq qdisc",
    "Disabling rte flow support", "tap_mp_req_on_rxtx"};

constexpr unsigned kDebug = 7;  // RFC 5424

bool is_harmless(std::string_view line) {
    for (std::string_view text : kHarmless)
        if (line.find(text) != std::string_view::npos) return true;
    return false;
}

}  // namespace

ssize_t Eal::write_log(void* self, const char* text, std::size_t size) {
    Eal& eal = *static_cast<Eal*>(self);
    const int level = rte_log_cur_msg_loglevel();
    std::string_view rest{text, size};
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (line.empty()) continue;
        if (is_harmless(line)) {
            eal.log_(kDebug, line);
            continue;
        }
        // EAL numbers its levels one above syslog's.
        if (!eal.running_ && level <= static_cast<int>(RTE_LOG_ERR)) eal.last_error_ = line;
        eal.log_(level > 0 ? static_cast<unsigned>(level - 1) : 6u, line);
    }
    return static_cast<ssize_t>(size);
}

bool Eal::capture_log() {
    cookie_io_functions_t functions{};
    functions.write = &Eal::write_log;
    stream_ = fopencookie(this, "w", functions);
    if (stream_ == nullptr) return false;
    setvbuf(stream_, nullptr, _IOLBF, 1024);
    return rte_openlog_stream(stream_) == 0;
}

std::variant<std::unique_ptr<Eal>, Problem> Eal::start(const std::vector<std::string>& args,
                                                       LogLine log) {
    std::unique_ptr<Eal> eal{new Eal(std::move(log))};
    if (!eal->capture_log()) return Problem{Severity::fatal, "EAL's log cannot be captured", ""};
    std::vector<std::string> copy = args;  // EAL permutes its arguments
    std::vector<char*> argv;
    for (std::string& arg : copy) argv.push_back(arg.data());
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
        return Problem{Severity::fatal,
                       std::string("EAL does not start: ") + rte_strerror(rte_errno) +
                           (eal->last_error_.empty() ? "" : " (" + eal->last_error_ + ")"),
                       ""};
    eal->running_ = true;
    return eal;
}

Eal::~Eal() {
    if (running_) {
        const std::string directory = rte_eal_get_runtime_dir();
        rte_eal_cleanup();
        rmdir(directory.c_str());  // EAL leaves its empty run-time directory behind
    }
    if (stream_ != nullptr) {
        rte_openlog_stream(nullptr);
        std::fclose(stream_);
    }
}

}  // namespace signalbox::io
