// SPDX-License-Identifier: Apache-2.0
#include "reloader.h"

#include <memory>
#include <utility>
#include <variant>

#include "config/changes.h"

namespace signalbox::daemon {

namespace {

using core::Fate;

constexpr std::size_t kShown = 1000;  // rows of one report; the counts are whole

std::string fate_name(Fate fate) {
    switch (fate) {
        case Fate::added:
            return "added";
        case Fate::in_place:
            return "in place";
        case Fate::reset:
            return "reset";
        case Fate::removed:
            return "removed";
    }
    return "";
}

config::Configuration load(const std::string& path) {
    auto loaded = config::load_file(path);
    if (const auto* errors = std::get_if<std::vector<config::Error>>(&loaded)) {
        std::string text = "the configuration is refused, that in force stays:";
        for (const config::Error& error : *errors) text += "\n" + error.format();
        throw ReloadRefused(text);
    }
    return std::move(*std::get_if<config::Configuration>(&loaded));
}

/// Everything that a reload cannot do, at once.
void refuse_restarts(const std::vector<config::Change>& changes, const core::ReloadPlan& plan) {
    std::string text;
    for (const config::Change& change : changes)
        if (change.reload == config::Reload::restart) text += "\n  " + change.key;
    for (const std::string& what : plan.refused) text += "\n  " + what;
    if (!text.empty()) throw ReloadRefused("these take a restart, nothing was changed:" + text);
}

void refuse_resets(const core::ReloadPlan& plan) {
    if (plan.ending() == 0) return;
    std::string text = std::to_string(plan.ending()) +
                       " peer(s) would lose their associations; nothing was changed without "
                       "--allow-reset:";
    std::size_t shown = 0;
    for (const core::PeerFate& f : plan.peers) {
        if (f.fate != Fate::reset && f.fate != Fate::removed) continue;
        if (++shown > kShown) break;
        text += "\n  " + f.name + ": " + fate_name(f.fate);
        if (!f.why.empty()) text += " (" + f.why + ")";
    }
    throw ReloadRefused(text);
}

admin::Table report_of(const std::vector<config::Change>& changes, const core::ReloadPlan& plan,
                       bool dry_run) {
    admin::Table table{"signalbox.reload/1",
                       {{"of", "Of"}, {"name", "Name"}, {"what", "What"}, {"why", "Why"}},
                       {}};
    for (std::size_t i = 0; i < changes.size() && i < kShown; ++i) {
        const config::Change& c = changes[i];
        table.add({"key", c.key,
                   (c.before.empty() ? "(none)" : c.before) + " -> " +
                       (c.after.empty() ? "(none)" : c.after),
                   std::string(config::reload_name(c.reload))});
    }
    for (std::size_t i = 0; i < plan.peers.size() && i < kShown; ++i) {
        const core::PeerFate& f = plan.peers[i];
        table.add({"peer", f.name, fate_name(f.fate), f.why});
    }
    table.add({"summary", std::to_string(changes.size()) + " key(s)",
               dry_run ? "nothing was changed (dry run)" : "in force",
               std::to_string(plan.unchanged) + " peer(s) unchanged, " +
                   std::to_string(plan.peers.size()) + " concerned, " +
                   std::to_string(plan.ending()) + " end"});
    return table;
}

}  // namespace

Reloader::Reloader(io::Runtime& runtime, admin::ControlQueue& queue, Log& log, std::string path,
                   config::Configuration configuration, Applied applied)
    : runtime_(runtime),
      queue_(queue),
      log_(log),
      path_(std::move(path)),
      configuration_(std::move(configuration)),
      applied_(std::move(applied)) {}

Reloader::~Reloader() {
    if (of_signal_.joinable()) of_signal_.join();
}

std::string Reloader::effective() const {
    const std::lock_guard lock(mutex_);
    return configuration_.effective;
}

config::Configuration Reloader::configuration() const {
    const std::lock_guard lock(mutex_);
    return configuration_;
}

admin::Table Reloader::attempt(const Wanted& wanted) {
    config::Configuration fresh = load(path_);
    const config::Configuration before = configuration();
    const auto changes = config::changes_between(before, fresh);
    core::Node& node = runtime_.node();
    core::ReloadPlan plan =
        core::plan_reload(*node.settings_in_force(), fresh.core, node.reload_room());
    refuse_restarts(changes, plan);
    if (!wanted.allow_reset && !wanted.dry_run) refuse_resets(plan);
    admin::Table report = report_of(changes, plan, wanted.dry_run);
    if (wanted.dry_run) return report;
    const auto made = node.make_plan(std::move(plan.settings));
    if (made == nullptr)
        throw ReloadRefused(
            "more other routes since the start than there is room for, nothing was "
            "changed: this takes a restart");
    const auto fates = std::make_shared<std::vector<core::PeerFate>>(std::move(plan.peers));
    const bool done = queue_.run([made, fates, &node](Time now) {
        node.reload(made, *fates, now);
        return true;
    });
    if (!done) throw ReloadRefused("the control thread did not take it in time");
    log_.set_level(static_cast<Level>(fresh.log_level));
    applied_(fresh);
    const std::lock_guard lock(mutex_);
    configuration_ = std::move(fresh);
    return report;
}

admin::Table Reloader::reload(const Wanted& wanted) {
    const std::lock_guard lock(one_at_a_time_);
    admin::Table report = attempt(wanted);
    const auto& summary = report.rows.back();
    log_.write(Level::info, wanted.dry_run ? "reload_planned" : "configuration_reloaded",
               summary[1] + "; " + summary[3]);
    return report;
}

void Reloader::begin() {
    if (signals_.fetch_add(1) > 0) return;  // the thread goes round again
    if (of_signal_.joinable()) of_signal_.join();
    of_signal_ = std::thread([this] {
        int seen = 0;
        do {
            seen = signals_.load();
            try {
                reload({});
            } catch (const std::exception& error) {
                log_.write(Level::error, "reload_refused", error.what());
            }
        } while (!signals_.compare_exchange_strong(seen, 0));
    });
}

}  // namespace signalbox::daemon
