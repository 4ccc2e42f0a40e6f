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
#include "service_manager.h"

namespace signalbox::daemon {

namespace {

std::string summary(const io::Runtime& runtime, const config::Configuration& configuration) {
    std::string text = configuration.core.node_name + ": " +
                       std::to_string(runtime.cpus().workers.size()) + " worker(s), " +
                       std::to_string(configuration.core.peers.size()) + " peer(s), ports";
    for (const auto& port : runtime.ports()) text += " " + port->name();
    return text;
}

/// The core's events, damped, as lines of the log; and what the counters say now and then.
class EventLog {
 public:
    EventLog(Log& log, const core::Node& node) : log_(log), node_(node) {}
    void take(const core::EventRecord& record) {
        if (const auto told = damper_.judge(record, io::monotonic_now())) write(*told);
    }
    void turn(Time now) {
        if (now - looked_ < kLook) return;
        looked_ = now;
        for (const Damper::Told& told : damper_.due(now)) write(told);
        if (now - counted_ < Damper::kInterval) return;
        counted_ = now;
        tell("no_route_discards", "count", no_route_total(), no_route_);
        const std::uint64_t lost = log_.lost();
        if (lost != lost_)
            log_.write(Level::warning, "log_lost", std::to_string(lost) + " lines since start");
        lost_ = lost;
    }

 private:
    static constexpr Duration kLook = std::chrono::seconds{1};

    void write(const Damper::Told& told) {
        log_.write(line_of(told.record, node_.settings(), told.similar));
    }
    std::uint64_t no_route_total() const {
        std::uint64_t total = 0;
        for (unsigned w = 0; w < node_.workers(); ++w)
            total += node_.worker_counters(WorkerIndex{static_cast<std::uint8_t>(w)})
                         .drops(Drop::mtp3_no_route);
        return total;
    }
    void tell(std::string_view event, std::string_view field, std::uint64_t total,
              std::uint64_t& before) {
        if (total != before)
            log_.write({Level::warning, event, {{field, std::to_string(total - before)}}, ""});
        before = total;
    }

    Log& log_;
    const core::Node& node_;
    Damper damper_;
    Time looked_{};
    Time counted_{};
    std::uint64_t no_route_ = 0;
    std::uint64_t lost_ = 0;
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
    metrics::Exporter exporter(configuration.metrics, SIGNALBOX_VERSION);
    admin::HttpServer http(pages(runtime, exporter));  // ends before the runtime that it asks
    if (const std::string error = http.start(configuration.admin.http_listen); !error.empty()) {
        // Signaling goes before its observation, unless the configuration says otherwise.
        const bool required = configuration.metrics.required;
        log.write(required ? Level::error : Level::warning, "http", error);
        if (required) return kExitFailed;
    }
    ControlCommands commands(runtime, log, path, configuration, [&](const auto& fresh) {
        exporter.set_max_peers(fresh.metrics.max_peers);
    });
    admin::ControlSocket control([&](const admin::Client& client, const auto& words) {
        return commands.answer(client, words);
    });
    if (const std::string error =
            control.start(configuration.admin.control_socket, configuration.admin.control_group);
        !error.empty())
        log.write(Level::warning, "control_socket", error);
    EventLog events(log, runtime.node());
    ServiceManager manager;
    runtime.run({.turn =
                     [&](Time now) {
                         commands.turn(now);
                         events.turn(now);
                         manager.turn(now, runtime.healthy());
                     },
                 .hangup = [&] { commands.hangup(); },
                 .event = [&](const core::EventRecord& record) { events.take(record); },
                 .notice =
                     [&](unsigned level, std::string_view event, std::string_view text) {
                         log.write(level_of_syslog(level), event, std::string(text));
                     }});
    manager.stopping();
    commands.end();
    control.stop();
    log.write(Level::info, "stopped", "");
    return kExitOk;
}

}  // namespace signalbox::daemon
