// SPDX-License-Identifier: Apache-2.0
// The running gateway: EAL, ports, memory, node, one poll loop on each worker's lcore; and the
// control thread's loop.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "core/node.h"
#include "io/eal.h"
#include "io/memory_region.h"
#include "io/poll_loop.h"
#include "io/problem.h"
#include "io/settings.h"

struct rte_mempool;

namespace signalbox::io {

class Runtime {
 public:
    using Made = std::variant<std::unique_ptr<Runtime>, std::vector<Problem>>;
    /// Checks the host, starts EAL and the ports, makes the node. Warnings go to `log`; fatal
    /// problems come back all at once. Nothing is processed before run().
    static Made make(const Settings& settings, core::Settings core_settings, LogLine log);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    core::Node& node() { return *node_; }
    const std::vector<std::unique_ptr<Port>>& ports() const { return ports_; }
    const CpuPlan& cpus() const { return cpus_; }

    // any thread
    /// As SIGTERM: run() drains and returns.
    void request_drain() { drain_requested_.store(true, std::memory_order_relaxed); }
    /// Every worker and the control thread have turned within the last 2 s.
    bool healthy() const;
    /// Ports are up and no drain has begun.
    bool ready() const { return ready_.load(std::memory_order_relaxed); }

    /// Called on the control thread.
    struct Hooks {
        std::function<void(Time)> turn;  // once a turn, some milliseconds apart; must not wait
        std::function<void()> hangup;    // SIGHUP
        std::function<void(const core::EventRecord&)> event;
        /// level as syslog has it, event as the catalogue of events names it
        std::function<void(unsigned level, std::string_view event, std::string_view text)> notice;
    };
    /// The control loop on the calling thread: until SIGTERM or SIGINT (which must be blocked in
    /// every thread), then an orderly end of at most 5 s; a second signal ends at once. Workers
    /// stand still when it returns.
    void run(const Hooks& hooks);

 private:
    Runtime() = default;
    std::vector<Problem> open_ports(const Settings& settings);
    void make_node(const Settings& settings, core::Settings core_settings, bool hugepages);
    void launch();
    void stop_workers();
    void begin_drain(Time now, const Hooks& hooks);
    bool handle_signal(int signal, Time now, const Hooks& hooks);
    void watch(Time now, const Hooks& hooks);
    void watch_ports(const Hooks& hooks);

    // In order of making; destroyed from the last to the first.
    CpuPlan cpus_;
    std::unique_ptr<Eal> eal_;
    rte_mempool* pool_ = nullptr;
    std::vector<std::unique_ptr<Port>> ports_;
    std::unique_ptr<MemoryRegion> region_;
    std::unique_ptr<Quiescence> quiescence_;
    std::unique_ptr<Addressing> addressing_;
    std::unique_ptr<NeighbourExchange> exchange_;
    std::unique_ptr<core::Node> node_;
    std::vector<std::unique_ptr<PollLoop>> loops_;

    std::atomic<bool> stop_{false};             // control: rw, worker: ro
    std::atomic<bool> drain_requested_{false};  // any: rw, control: ro
    std::atomic<bool> ready_{false};            // control: rw, any: ro
    std::atomic<std::int64_t> alive_ns_{
        0};  // control: rw, any: ro; when all workers were last seen to turn
    bool running_ = false;
    bool draining_ = false;
    Time drain_deadline_ = kNever;
    Time next_watch_{};
    std::vector<std::uint64_t> turns_seen_;  // control's own
    std::vector<bool> turned_;
    std::vector<bool> link_up_;
    std::vector<std::uint32_t> duplicates_seen_;
};

}  // namespace signalbox::io
