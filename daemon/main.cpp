// SPDX-License-Identifier: Apache-2.0
// signalboxd: the gateway in the foreground.
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <variant>

#include "config/configuration.h"
#include "gateway.h"
#include "options.h"

namespace signalbox::daemon {

namespace {

int refuse(const std::vector<config::Error>& errors) {
    for (const config::Error& error : errors) std::fprintf(stderr, "%s\n", error.format().c_str());
    return kExitRefused;
}

/// Every thread inherits the mask: the control loop alone waits for these.
void block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

/// Keys and subscribers' messages stay out of files. The hard limit stays: prlimit(1) turns them
/// on.
void forbid_core_dumps() {
    rlimit limit{};
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
}

int act(const Options& options) {
    auto loaded = config::load_file(options.configuration);
    if (const auto* errors = std::get_if<std::vector<config::Error>>(&loaded))
        return refuse(*errors);
    const auto& configuration = *std::get_if<config::Configuration>(&loaded);
    if (options.action == Options::Action::check_configuration) {
        std::fputs(config::describe(configuration).c_str(), stdout);
        return kExitOk;
    }
    forbid_core_dumps();
    block_signals();
    return run_gateway(configuration);
}

}  // namespace

}  // namespace signalbox::daemon

int main(int argc, char** argv) {
    using namespace signalbox::daemon;
    const Options options = parse_options(
        {const_cast<const char* const*>(argv + 1), static_cast<std::size_t>(argc - 1)});
    switch (options.action) {
        case Options::Action::help:
            std::fputs(kUsage.data(), stdout);
            return kExitOk;
        case Options::Action::version:
            std::puts("signalboxd " SIGNALBOX_VERSION);
            return kExitOk;
        case Options::Action::wrong:
            std::fprintf(stderr, "signalboxd: %s\n%s", options.error.c_str(), kUsage.data());
            return kExitUsage;
        case Options::Action::run:
        case Options::Action::check_configuration:
            break;
    }
    try {
        return act(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "signalboxd: %s\n", error.what());
        return kExitFailed;
    }
}
