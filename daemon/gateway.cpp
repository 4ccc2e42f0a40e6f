// SPDX-License-Identifier: Apache-2.0
#include "gateway.h"

#include <string>
#include <variant>
#include <vector>

#include "admin/control_socket.h"
#include "admin/http_server.h"
#include "control_commands.h"
#include "events.h"
#include "io/runtime.h"
#include "log.h"
#include "metrics/exporter.h"
#include "options.h"

namespace signalbox::daemon {

namespace {

std::string summary(const io::Runtime& runtime, const config::Configuration& configuration) {
    std::string text = configuration.core.node_name + ": " +
                       std::to_string(runtime.cpus().workers.size()) + " worker(s), " +
                       std::to_string(configuration.core.peers.size()) + " peer(s), ports";
    for (const auto& port : runtime.ports()) text += " " + port->name();
    return text;
}

/// The core's events, damped, as lines of the log.
class EventLog {
 public:
    EventLog(Log& log, const core::Settings& settings) : log_(log), settings_(settings) {}
    void take(const core::EventRecord& record) {
        const auto verdict = damper_.judge(record, io::monotonic_now());
        if (!verdict.write) return;
        Line line = line_of(record, settings_);
        if (verdict.folded != 0) line.text = "(+" + std::to_string(verdict.folded) + " similar)";
        log_.write(line);
    }

 private:
    Log& log_;
    const core::Settings& settings_;
    Damper damper_;
};

admin::Response state_page(bool good, const char* yes, const char* no) {
    admin::Response response;
    response.status = good ? 200 : 503;
    response.body = good ? yes : no;
    return response;
}

admin::Routes pages(io::Runtime& runtime, const metrics::Exporter& exporter) {
    admin::Routes routes;
    routes["/metrics"] = [&] {
        admin::Response response;
        response.content_type = metrics::kContentType;
        response.body = exporter.render(runtime.node());
        return response;
    };
    routes["/-/healthy"] = [&] {
        return state_page(runtime.healthy(), "healthy\n", "a worker stands still\n");
    };
    routes["/-/ready"] = [&] {
        return state_page(runtime.ready(), "ready\n", "a port is down, or draining\n");
    };
    return routes;
}

}  // namespace

int run_gateway(const config::Configuration& configuration, const std::string& path) {
    Log log(configuration.log_level, configuration.log_format);
    auto made = io::Runtime::make(configuration.io, configuration.core,
                                  [&log](unsigned level, std::string_view text) {
                                      log.write(level_of_syslog(level), "dpdk", std::string(text));
                                  });
    if (const auto* problems = std::get_if<std::vector<io::Problem>>(&made)) {
        for (const io::Problem& problem : *problems)
            log.write(problem.severity == io::Severity::fatal ? Level::error : Level::warning,
                      "host_check", problem.format());
        return kExitFailed;
    }
    io::Runtime& runtime = **std::get_if<std::unique_ptr<io::Runtime>>(&made);
    log.write(Level::info, "started", summary(runtime, configuration));
    const metrics::Exporter exporter(configuration.metrics, SIGNALBOX_VERSION);
    admin::HttpServer http(pages(runtime, exporter));  // ends before the runtime that it asks
    if (const std::string error = http.start(configuration.admin.http_listen); !error.empty()) {
        // Signaling goes before its observation, unless the configuration says otherwise.
        const bool required = configuration.metrics.required;
        log.write(required ? Level::error : Level::warning, "http", error);
        if (required) return kExitFailed;
    }
    ControlCommands commands(runtime, log, path, configuration);
    admin::ControlSocket control([&](const admin::Client& client, const auto& words) {
        return commands.answer(client, words);
    });
    if (const std::string error =
            control.start(configuration.admin.control_socket, configuration.admin.control_group);
        !error.empty())
        log.write(Level::warning, "control_socket", error);
    EventLog events(log, configuration.core);
    runtime.run({.turn = [&](Time now) { commands.turn(now); },
                 .event = [&](const core::EventRecord& record) { events.take(record); },
                 .notice =
                     [&](unsigned level, std::string_view text) {
                         log.write(level_of_syslog(level), "daemon", std::string(text));
                     }});
    commands.end();
    control.stop();
    log.write(Level::info, "stopped", "");
    return kExitOk;
}

}  // namespace signalbox::daemon
