// SPDX-License-Identifier: Apache-2.0
#include "control_commands.h"

#include <memory>
#include <optional>
#include <stdexcept>

#include "admin/views.h"
#include "doctor.h"

namespace signalbox::daemon {

namespace {

using admin::Given;
using admin::Table;
using admin::Verb;

/// Becomes the text of an error answer.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string ok(const std::string& body) {
    return std::string(admin::kControlOk) + "\n" + body;
}

std::string ok(const Table& table) {
    return ok(admin::encode(table));
}

std::string done(const std::string& text) {
    return ok("text\n" + text + "\n");
}

Table one_value(const std::string& schema, const std::string& name, const std::string& value) {
    return {schema, {{name, name}}, {{value}}};
}

std::shared_ptr<const core::NodeStatistics> statistics_of(const io::Runtime& runtime) {
    auto statistics = const_cast<io::Runtime&>(runtime).node().statistics();
    if (!statistics || !statistics->settings) throw Refused("the daemon has only just begun");
    return statistics;
}

PeerIndex peer_of(const core::Settings& settings, const std::string& name) {
    const auto peer = admin::peer_called(settings, name);
    if (!peer) throw Refused("no peer is called '" + name + "'");
    return *peer;
}

AsIndex as_of(const core::Settings& settings, const std::string& name) {
    const auto as = admin::as_called(settings, name);
    if (!as) throw Refused("no application server is called '" + name + "'");
    return *as;
}

constexpr const char* kBusy = "the control thread did not take it in time";

}  // namespace

ControlCommands::ControlCommands(io::Runtime& runtime, Log& log, std::string path,
                                 const config::Configuration& configuration,
                                 Reloader::Applied applied)
    : runtime_(runtime),
      log_(log),
      reloader_(runtime, queue_, log, std::move(path), configuration, std::move(applied)) {}

void ControlCommands::turn(Time now) {
    rates_.turn(runtime_.node(), now);
    queue_.turn(now);
}

std::string ControlCommands::answer(const admin::Client& client,
                                    const std::vector<std::string>& words) {
    const Given given = admin::parse_command(words);
    try {
        if (!given.error.empty()) throw Refused(given.error);
        if (given.command->changes) {
            Line line{Level::info, "command", {}, std::string(given.command->words)};
            for (const std::string& argument : given.arguments) line.text += " " + argument;
            for (const std::string& option : given.options) line.text += " " + option;
            line.fields.push_back({"uid", std::to_string(client.uid)});
            line.fields.push_back({"pid", std::to_string(client.pid)});
            log_.write(line);
        }
        return act(client, given);
    } catch (const ReloadRefused& error) {
        return admin::kControlError + std::string(error.what()) + "\n";
    } catch (const Refused& error) {
        return admin::kControlError + std::string(error.what()) + "\n";
    }
}

std::string ControlCommands::act(const admin::Client& /*client*/, const Given& given) {
    switch (given.command->verb) {
        case Verb::show_associations:
            return associations(given, false);
        case Verb::show_paths:
            return associations(given, true);
        case Verb::show_bindings:
            return bindings(given);
        case Verb::route_explain:
            return explain(given);
        case Verb::peer_block:
        case Verb::peer_unblock:
        case Verb::peer_drop:
            return on_peer(given);
        case Verb::drain_node:
            runtime_.request_drain();
            return done("draining: the daemon ends when every association is shut down");
        case Verb::reload:
            return reload(given);
        case Verb::log_level:
            return set_log_level(given);
        case Verb::doctor:
            return ok("text\n" + report_of(reloader_.configuration()));
        default:
            return show(given);
    }
}

std::string ControlCommands::show(const Given& given) {
    const auto statistics = statistics_of(runtime_);
    const std::string only = given.arguments.empty() ? "" : given.arguments[0];
    switch (given.command->verb) {
        case Verb::show_peers:
            if (!only.empty()) peer_of(*statistics->settings, only);
            return ok(admin::peers_view(*statistics, only));
        case Verb::show_as:
            if (!only.empty()) as_of(*statistics->settings, only);
            return ok(admin::as_view(*statistics, only));
        case Verb::show_routes:
            return ok(admin::routes_view(*statistics));
        case Verb::show_workers:
            return ok(admin::workers_view(runtime_.node()));
        case Verb::show_drops:
            return ok(admin::drops_view(runtime_.node(), admin::has_option(given, "--all")));
        case Verb::show_memory:
            return ok(admin::memory_view(*statistics));
        case Verb::show_rates:
            return ok(admin::rates_view(rates_));
        case Verb::show_ports: {
            Table table{
                "signalbox.ports/1", {{"port", "Port"}, {"ready", "Ready", admin::Cell::flag}}, {}};
            for (const auto& port : runtime_.ports())
                table.add({port->name(), runtime_.ready() ? "true" : "false"});
            return ok(table);
        }
        case Verb::show_config:
            return ok("text\n" + reloader_.effective());
        case Verb::version:
            return ok(one_value("signalbox.version/1", "version", SIGNALBOX_VERSION));
        default:
            throw Refused("not in this release");
    }
}

std::string ControlCommands::associations(const Given& given, bool paths) {
    const auto settings = statistics_of(runtime_)->settings;
    const PeerIndex only =
        given.arguments.empty() ? kNoPeer : peer_of(*settings, given.arguments[0]);
    struct Survey {
        bool asked = false;
        std::vector<core::AssociationInfo> found;
    };
    auto survey = std::make_shared<Survey>();
    core::Node& node = runtime_.node();
    const bool known = queue_.run([survey, only, &node](Time now) {
        if (!survey->asked) node.ask_associations(only, now);
        survey->asked = true;
        if (!node.associations_known(now)) return false;
        survey->found = node.take_associations();
        return true;
    });
    if (!known) throw Refused(kBusy);
    return ok(paths ? admin::paths_view(*settings, survey->found)
                    : admin::associations_view(*settings, survey->found));
}

std::string ControlCommands::bindings(const Given& given) {
    const auto settings = statistics_of(runtime_)->settings;
    const AsIndex as = as_of(*settings, given.arguments[0]);
    auto serving = std::make_shared<std::vector<PeerIndex>>();
    core::Node& node = runtime_.node();
    const bool known = queue_.run([serving, as, &node](Time) {
        *serving = node.bindings(as);
        return true;
    });
    if (!known) throw Refused(kBusy);
    return ok(admin::bindings_view(*settings, as, *serving));
}

std::string ControlCommands::explain(const Given& given) {
    const auto settings = statistics_of(runtime_)->settings;
    const auto& words = given.arguments;
    core::RouteQuestion question;
    question.from = as_of(*settings, words[0]);
    const auto& instance = settings->instances[settings->servers[question.from.value].instance];
    const auto code = [&](const std::string& text) {
        const auto pc = mtp3::parse_point_code(text, instance.point_code_format);
        if (!pc)
            throw Refused("'" + text + "' is not a point code of format " +
                          instance.point_code_format);
        return *pc;
    };
    question.dpc = code(words[1]);
    // As if it came from the point code that the server itself answers for.
    const auto& own = settings->servers[question.from.value].keys;
    if (words.size() <= 2 && own.empty()) throw Refused(words[0] + " has no key: give an OPC");
    question.opc = words.size() > 2 ? code(words[2]) : own.front().dpc;
    if (words.size() > 3) {
        const bool digits =
            words[3].size() <= 3 && words[3].find_first_not_of("0123456789") == std::string::npos;
        if (!digits || std::stoi(words[3]) > 255) throw Refused("SLS: 0 to 255");
        question.sls = Sls{static_cast<std::uint8_t>(std::stoi(words[3]))};
    }
    auto answer = std::make_shared<core::RouteAnswer>();
    core::Node& node = runtime_.node();
    const bool known = queue_.run([answer, question, &node](Time) {
        *answer = node.explain(question);
        return true;
    });
    if (!known) throw Refused(kBusy);
    return ok(admin::explanation_view(*settings, question, *answer));
}

std::string ControlCommands::on_peer(const Given& given) {
    const PeerIndex peer = peer_of(*statistics_of(runtime_)->settings, given.arguments[0]);
    auto result = std::make_shared<bool>(false);
    core::Node& node = runtime_.node();
    const Verb verb = given.command->verb;
    const bool known = queue_.run([result, peer, verb, &node](Time now) {
        if (verb == Verb::peer_drop) *result = node.drop_association(peer);
        if (verb == Verb::peer_block) node.block(peer, now);
        if (verb == Verb::peer_unblock) node.unblock(peer);
        return true;
    });
    if (!known) throw Refused(kBusy);
    if (verb == Verb::peer_block) return done("blocked until `peer unblock` or a restart");
    if (verb == Verb::peer_unblock) return done("unblocked: the ASP may come up again");
    if (!*result) throw Refused("the peer has no association");
    return done("aborted");
}

std::string ControlCommands::set_log_level(const Given& given) {
    const auto level = level_called(given.arguments[0]);
    if (!level) throw Refused("a level is trace, debug, info, warning or error");
    log_.set_level(*level);
    return done("logging from level " + given.arguments[0] + " on");
}

std::string ControlCommands::reload(const Given& given) {
    return ok(reloader_.reload({.dry_run = admin::has_option(given, "--dry-run"),
                                .allow_reset = admin::has_option(given, "--allow-reset")}));
}

}  // namespace signalbox::daemon
