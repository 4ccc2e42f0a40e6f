// SPDX-License-Identifier: Apache-2.0
// signalboxd: the gateway in the foreground.
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <variant>

#include "config/configuration.h"
#include "doctor.h"
#include "documents.h"
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

int print(const std::string& text) {
    const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return whole && std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
}

int print_document(const std::string& name) {
    const std::string text = document(name);
    if (!text.empty()) return print(text);
    std::fprintf(stderr, "signalboxd: documents are\n%s", document_names().c_str());
    return kExitUsage;
}

int print_configuration(const std::string& path) {
    const auto printed = config::print_file(path);
    if (const auto* errors = std::get_if<std::vector<config::Error>>(&printed))
        return refuse(*errors);
    return print(*std::get_if<std::string>(&printed));
}

int act(const Options& options) {
    if (options.action == Options::Action::print_document) return print_document(options.document);
    if (options.action == Options::Action::print_configuration)
        return print_configuration(options.configuration);
    auto loaded = config::load_file(options.configuration);
    if (const auto* errors = std::get_if<std::vector<config::Error>>(&loaded))
        return refuse(*errors);
    const auto& configuration = *std::get_if<config::Configuration>(&loaded);
    if (options.action == Options::Action::doctor) {
        const std::string report = report_of(configuration);
        return print(report) == kExitOk && !has_failure(report) ? kExitOk : kExitFailed;
    }
    if (options.action == Options::Action::check_configuration) {
        std::fputs(config::describe(configuration).c_str(), stdout);
        return kExitOk;
    }
    forbid_core_dumps();
    block_signals();
    return run_gateway(configuration, options.configuration);
}

}  // namespace

}  // namespace signalbox::daemon

int main(int argc, char** argv) {
    using namespace signalbox::daemon;
    const Options options = parse_options(
        {const_cast<const char* const*>(argv + 1), static_cast<std::size_t>(argc - 1)});
    switch (options.action) {
        case Options::Action::help:
            std::fputs(usage().c_str(), stdout);
            return kExitOk;
        case Options::Action::version:
            std::puts("signalboxd " SIGNALBOX_VERSION);
            return kExitOk;
        case Options::Action::wrong:
            std::fprintf(stderr, "signalboxd: %s\n%s", options.error.c_str(), usage().c_str());
            return kExitUsage;
        case Options::Action::run:
        case Options::Action::check_configuration:
        case Options::Action::print_configuration:
        case Options::Action::print_document:
        case Options::Action::doctor:
            break;
    }
    try {
        return act(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "signalboxd: %s\n", error.what());
        return kExitFailed;
    }
}
