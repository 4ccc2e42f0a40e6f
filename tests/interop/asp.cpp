// SPDX-License-Identifier: Apache-2.0
// A test peer on a foreign SCTP stack (see sctp_socket.h) with M3UA of its own. Its last line on
// standard output is a JSON object; it exits 0 only when traffic was neither lost, duplicated,
// reordered nor changed.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "application_server.h"
#include "options.h"
#include "test_gateway.h"

namespace {

constexpr unsigned kGraceS = 30;  // past its own time-out it is stuck in the stack

std::atomic<bool> stop{false};

void on_signal(int) {
    stop = true;
}

}  // namespace

int main(int argc, char** argv) {
    const interop::Options options = interop::parse_options(argc, argv);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGINT, on_signal);
    std::signal(SIGPIPE, SIG_IGN);
    alarm(static_cast<unsigned>(options.timeout_s) + kGraceS);
    interop::start_stack(options.stack);
    if (options.gateway) _exit(interop::run_test_gateway(options, stop));
    interop::ApplicationServer server(options, stop);
    const int code = server.run();
    std::fflush(nullptr);
    _exit(code);  // the stack's own threads are not waited for: a lost association would hold them
                  // for long
}
