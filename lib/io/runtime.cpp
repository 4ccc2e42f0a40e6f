// SPDX-License-Identifier: Apache-2.0
#include "io/runtime.h"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "io/host_check.h"

namespace signalbox::io {

namespace {

constexpr unsigned kPoolCache = 256;
constexpr Duration kControlTurn = std::chrono::milliseconds{1};
constexpr Duration kDrainMax = std::chrono::seconds{5};
constexpr Duration kWatchInterval = std::chrono::milliseconds{200};
constexpr Duration kAliveMax = std::chrono::seconds{2};
constexpr std::size_t kEventsPerTurn = 256;

template <class T>
T random_bytes() {
    T out{};
    if (getrandom(&out, sizeof out, 0) != static_cast<ssize_t>(sizeof out))
        throw std::runtime_error("getrandom gives no bytes");
    return out;
}

sigset_t handled_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    return set;
}

struct Launch {
    PollLoop* loop;
    const std::atomic<bool>* stop;
};

int worker_main(void* argument) {
    const Launch launch = *static_cast<Launch*>(argument);
    delete static_cast<Launch*>(argument);
    launch.loop->run(*launch.stop);
    return 0;
}

/// The processes of one host have their own EAL files each.
std::string file_prefix() {
    return "signalbox-" + std::to_string(getpid());
}

}  // namespace

Runtime::Made Runtime::make(const Settings& settings, core::Settings core_settings, LogLine log) {
    const HostFacts host = look_at_host();
    auto problems = check_host(settings, core_settings.memory_limit_bytes, host);
    if (any_fatal(problems)) return problems;
    for (const Problem& warning : problems) log(4, warning.format());

    std::unique_ptr<Runtime> runtime{new Runtime};
    const auto plan = plan_cpus(settings, host.cpus);
    runtime->cpus_ = *std::get_if<CpuPlan>(&plan);
    const std::size_t workers = runtime->cpus_.workers.size();
    const bool hugepages = use_hugepages(settings, core_settings.memory_limit_bytes, host);
    auto eal = Eal::start(eal_arguments(settings, runtime->cpus_, hugepages,
                                        buffer_memory_for(settings, workers), file_prefix()),
                          std::move(log));
    if (auto* problem = std::get_if<Problem>(&eal)) return std::vector<Problem>{*problem};
    runtime->eal_ = std::move(*std::get_if<std::unique_ptr<Eal>>(&eal));
    problems = runtime->open_ports(settings);
    if (!problems.empty()) return problems;
    try {
        runtime->make_node(settings, std::move(core_settings), hugepages);
    } catch (const std::exception& error) {
        return std::vector<Problem>{
            {Severity::fatal, std::string("the node cannot be made: ") + error.what(),
             "lower memory.limit or listeners' max_associations, or give the host more memory"}};
    }
    return runtime;
}

std::vector<Problem> Runtime::open_ports(const Settings& settings) {
    const std::size_t workers = cpus_.workers.size();
    pool_ =
        rte_pktmbuf_pool_create("signalbox", static_cast<unsigned>(buffers_for(settings, workers)),
                                kPoolCache, 0, buffer_bytes_for(settings), SOCKET_ID_ANY);
    if (pool_ == nullptr)
        return {{Severity::fatal, "no memory for packet buffers",
                 "give the host more memory or configure fewer workers"}};
    std::vector<Problem> problems;
    for (std::size_t i = 0; i < settings.ports.size(); ++i) {
        auto port = Port::open(settings.ports[i], static_cast<PortIndex>(i), workers, pool_);
        if (auto* problem = std::get_if<Problem>(&port))
            problems.push_back(*problem);
        else
            ports_.push_back(std::move(*std::get_if<std::unique_ptr<Port>>(&port)));
    }
    return problems;
}

void Runtime::make_node(const Settings& settings, core::Settings core_settings, bool hugepages) {
    const std::size_t workers = cpus_.workers.size();
    std::vector<MacAddress> macs;
    for (const auto& port : ports_) macs.push_back(port->mac());
    addressing_ = std::make_unique<Addressing>(settings.ports, macs);
    region_ = std::make_unique<MemoryRegion>(core_settings.memory_limit_bytes, hugepages);
    quiescence_ = std::make_unique<Quiescence>(workers);
    exchange_ = std::make_unique<NeighbourExchange>(workers);
    node_ = std::make_unique<core::Node>(std::move(core_settings), static_cast<unsigned>(workers),
                                         region_->data(), region_->bytes(), *quiescence_,
                                         random_bytes<RandomSource::Seed>());
    const Fabric fabric{ports_, *addressing_, *exchange_, *quiescence_, pool_, settings.idle};
    for (std::size_t i = 0; i < workers; ++i)
        loops_.push_back(
            std::make_unique<PollLoop>(i, *node_, fabric, random_bytes<std::uint64_t>()));
    turns_seen_.assign(workers, 0);
    turned_.assign(workers, false);
    duplicates_seen_.assign(workers, 0);
    link_up_.assign(ports_.size(), true);
    alive_ns_.store(monotonic_now().time_since_epoch().count(), std::memory_order_relaxed);
}

Runtime::~Runtime() {
    stop_workers();
    loops_.clear();
    node_.reset();
    ports_.clear();
    rte_mempool_free(pool_);
}

void Runtime::launch() {
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        auto launch = std::make_unique<Launch>(Launch{loops_[i].get(), &stop_});
        if (rte_eal_remote_launch(worker_main, launch.get(), static_cast<unsigned>(i + 1)) != 0)
            throw std::runtime_error("a worker does not start");
        static_cast<void>(launch.release());  // the worker's now
    }
    running_ = true;
}

void Runtime::stop_workers() {
    if (!running_) return;
    stop_.store(true, std::memory_order_relaxed);
    rte_eal_mp_wait_lcore();
    running_ = false;
}

bool Runtime::healthy() const {
    const Time seen{Duration{alive_ns_.load(std::memory_order_relaxed)}};
    return monotonic_now() - seen < kAliveMax;
}

void Runtime::run(const Hooks& hooks) {
    launch();
    const sigset_t signals = handled_signals();
    const timespec pause{0, kControlTurn.count()};
    for (;;) {
        const Time now = monotonic_now();
        node_->control_turn(now);
        node_->record_turn(monotonic_now() - now);
        node_->take_events(kEventsPerTurn, hooks.event);
        if (hooks.turn) hooks.turn(now);
        if (drain_requested_.load(std::memory_order_relaxed) && !draining_) begin_drain(now, hooks);
        if (now >= next_watch_) watch(now, hooks);
        if (draining_ && (node_->drained() || now >= drain_deadline_)) break;
        const int signal = sigtimedwait(&signals, nullptr, &pause);
        if (signal > 0 && !handle_signal(signal, now, hooks)) break;
    }
    ready_.store(false, std::memory_order_relaxed);
    stop_workers();
    node_->take_events(kEventsPerTurn, hooks.event);
}

/// False: end now.
bool Runtime::handle_signal(int signal, Time now, const Hooks& hooks) {
    if (signal == SIGHUP) {
        if (hooks.hangup) hooks.hangup();
        return true;
    }
    if (draining_) return false;
    begin_drain(now, hooks);
    return true;
}

void Runtime::begin_drain(Time now, const Hooks& hooks) {
    hooks.notice(5, "draining", "application servers are told and associations shut down");
    draining_ = true;
    drain_deadline_ = now + kDrainMax;
    ready_.store(false, std::memory_order_relaxed);
    node_->drain(now);
}

void Runtime::watch(Time now, const Hooks& hooks) {
    next_watch_ = now + kWatchInterval;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        const auto turns =
            node_->worker_counters(WorkerIndex{static_cast<std::uint8_t>(i)}).get(Count::turns);
        if (turns != turns_seen_[i]) turned_[i] = true;
        turns_seen_[i] = turns;
    }
    if (std::find(turned_.begin(), turned_.end(), false) == turned_.end()) {
        alive_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
        turned_.assign(turned_.size(), false);
    }
    watch_ports(hooks);
}

void Runtime::watch_ports(const Hooks& hooks) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        const bool up = ports_[i]->link_up();
        if (up != link_up_[i])
            hooks.notice(up ? 5 : 4, up ? "link_up" : "link_down", "port " + ports_[i]->name());
        link_up_[i] = up;
    }
    const bool all_up = std::find(link_up_.begin(), link_up_.end(), false) == link_up_.end();
    ready_.store(all_up && !draining_, std::memory_order_relaxed);
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        const std::uint32_t seen = loops_[i]->duplicate_seen();
        if (seen != 0 && seen != duplicates_seen_[i])
            hooks.notice(
                3, "duplicate_address",
                "port " + ports_[seen - 1]->name() + ": another station uses one of our addresses");
        duplicates_seen_[i] = seen;
    }
}

}  // namespace signalbox::io
