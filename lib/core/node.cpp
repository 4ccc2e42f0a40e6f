// SPDX-License-Identifier: Apache-2.0
#include "core/node.h"

#include <algorithm>
#include <map>
#include <new>

#include "core/shared.h"
#include "core/slot.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kRingBytes = 1u
                                   << 20;  // one second of management, 2,000 messages of 270 bytes
constexpr std::size_t kHandoffRingBytes = 1u << 20;
// Per worker: 16 MiB at hand. Control refills every turn of a millisecond, but may wait for its
// CPU.
constexpr std::size_t kCachePages = 4096;
constexpr std::size_t kMinCachePages = 64;

/// What a reload may add: workers' tables by peer, server and listener are made at start.
constexpr std::size_t kSparePeers = 4096;
constexpr std::size_t kSpareServers = 1024;
constexpr std::size_t kSpareListeners = 16;
constexpr std::size_t kSpareRoutes = 65536;

std::size_t slots_wanted(const Settings& settings, std::size_t region_bytes) {
    std::size_t wanted = 0;
    for (const ListenerSettings& l : settings.listeners) wanted += l.max_associations;
    // At most half of the memory: associations without pages to queue in would be of no use.
    return std::min(wanted, region_bytes / 2 / sizeof(Slot));
}

RandomSource::Seed draw_seed(RandomSource& random) {
    RandomSource::Seed seed;
    random.fill(seed);
    return seed;
}

mtp3::Match match_of(const sigtran::KeyFields& fields) {
    return {.opc = fields.opc,
            .opc_mask_bits = fields.opc_mask_bits,
            .service_indicators = fields.service_indicators,
            .ssns = fields.ssns,
            .has_circuits = fields.has_circuits,
            .first_circuit = fields.first_circuit,
            .last_circuit = fields.last_circuit};
}

std::vector<mtp3::Route> routes_of(const Settings& settings) {
    std::vector<mtp3::Route> routes;
    for (std::uint32_t as = 0; as < settings.servers.size(); ++as)
        for (const sigtran::DestinationKey& key : settings.servers[as].keys)
            routes.push_back({.instance = settings.servers[as].instance,
                              .dpc = key.dpc,
                              .mask_bits = key.mask_bits,
                              .as = AsIndex{as},
                              .priority = key.priority,
                              .weight = key.weight,
                              .match = match_of(key.fields)});
    return routes;
}

std::vector<sigtran::PeerSettings> m3ua_peers(const Settings& settings) {
    std::vector<sigtran::PeerSettings> peers;
    for (const PeerSettings& p : settings.peers) peers.push_back(p.m3ua);
    return peers;
}

}  // namespace

Plan::Plan(Settings s, std::uint64_t which, const Plan* before)
    : settings(std::move(s)),
      access(settings),
      routes(settings.instances, routes_of(settings)),
      screening(settings),
      generation(which) {
    count_routes(before);
}

void Plan::count_routes(const Plan* before) {
    // Equal routes take the counters in turn.
    std::multimap<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known;  // by AS and DPC
    const auto place = [](const mtp3::Route& r) { return std::pair{r.as.value, r.dpc.value}; };
    if (before != nullptr) {
        counters_given = before->counters_given;
        for (std::size_t i = 0; i < before->routes.routes().size(); ++i)
            known.emplace(place(before->routes.routes()[i]), i);
    }
    for (const mtp3::Route& route : routes.routes()) {
        const auto [first, last] = known.equal_range(place(route));
        const auto there = std::find_if(first, last, [&](const auto& candidate) {
            return before->routes.routes()[candidate.second] == route;
        });
        if (there == last) {
            route_counters.push_back(static_cast<std::uint32_t>(counters_given++));
            continue;
        }
        route_counters.push_back(before->route_counters[there->second]);
        known.erase(there);
    }
}

Node::Shared::Shared(Settings s, unsigned worker_count, void* region, std::size_t region_bytes,
                     Reclaimer& r, RandomSource::Seed seed)
    : plan(std::make_shared<const Plan>(std::move(s), 0)),
      workers(worker_count),
      reclaimer(r),
      random(seed),
      tag_hint(random.u64(), worker_count),
      tags(random) {
    const Settings& settings = plan->settings;
    random.fill(cookie_key);
    random.fill(cookie_key_previous);

    room = {.peers = settings.peers.size() + kSparePeers,
            .servers = settings.servers.size() + kSpareServers,
            .listeners = settings.listeners.size() + kSpareListeners,
            .routes = plan->routes.routes().size() + kSpareRoutes};
    slot_count = slots_wanted(settings, region_bytes);
    slots = static_cast<Slot*>(region);
    for (std::size_t i = 0; i < slot_count; ++i) ::new (&slots[i]) Slot;
    const std::size_t slot_bytes =
        (slot_count * sizeof(Slot) + mem::kPageBytes - 1) / mem::kPageBytes * mem::kPageBytes;
    pool = std::make_unique<mem::PagePool>(static_cast<std::uint8_t*>(region) + slot_bytes,
                                           region_bytes - slot_bytes);
    table = std::make_unique<table::TransportTable>(
        table::TransportTable::Settings{
            .shards = 64,
            .initial_entries = std::max<std::size_t>(4096, slot_count),
            .max_entries = std::max<std::size_t>(4096, slot_count * 16)},
        table::TransportTable::HashKey{{random.u64(), random.u64()}}, region, reclaimer);

    const std::size_t cache_pages =
        std::max(kMinCachePages, std::min(kCachePages, pool->total_pages() / (4 * workers)));
    for (unsigned w = 0; w < workers; ++w) {
        per_worker.push_back(std::make_unique<WorkerShared>(*pool, cache_pages, kRingBytes, room));
        per_worker.back()->pages.top_up();
        worker_seeds.push_back(draw_seed(random));
    }
    for (unsigned i = 0; i < workers * workers; ++i)
        between.push_back(
            std::make_unique<ByteRing>(i % (workers + 1) == 0 ? 4096 : kHandoffRingBytes));
    pending_messages = std::make_unique<std::atomic<std::uint32_t>[]>(room.servers);
    returned_messages = std::make_unique<std::atomic<std::uint32_t>[]>(room.servers);
    pending_bytes = std::make_unique<std::atomic<std::uint32_t>[]>(room.servers);
    associations = std::make_unique<std::atomic<std::uint32_t>[]>(room.listeners);

    gateway = std::make_unique<sigtran::SignalingGateway>(m3ua_peers(settings), settings.servers,
                                                          control_counters);
    links.resize(settings.peers.size());
    reconnect_wait.resize(settings.peers.size());
    reconnect_at.assign(settings.peers.size(), kNever);
    for (std::size_t p = 0; p < settings.peers.size(); ++p)
        if (settings.peers[p].connect) reconnect_at[p] = Time{};
    backlog.resize(workers);
    auto first = std::make_shared<NodeStatistics>();
    first->settings = {plan, &settings};
    statistics = std::move(first);
    publish();
}

Node::Shared::~Shared() {
    // No worker runs any more: nobody holds a snapshot.
    for (const Old& old : old_snapshots) delete old.snapshot;
    delete snapshot.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < slot_count; ++i) slots[i].~Slot();
}

Node::Node(Settings settings, unsigned workers, void* region, std::size_t region_bytes,
           Reclaimer& reclaimer, RandomSource::Seed seed)
    : shared_(std::make_unique<Shared>(std::move(settings), workers, region, region_bytes,
                                       reclaimer, seed)) {}
Node::~Node() = default;

const Settings& Node::settings() const {
    return shared_->settings();
}
unsigned Node::workers() const {
    return shared_->workers;
}

const Counters& Node::worker_counters(WorkerIndex worker) const {
    return shared_->per_worker[worker.value]->counters;
}
const Counters& Node::control_counters() const {
    return shared_->control_counters;
}

std::shared_ptr<const NodeStatistics> Node::statistics() const {
    const std::lock_guard lock(shared_->statistics_mutex);
    return shared_->statistics;
}

void Node::record_turn(Duration length) {
    shared_->longest_turn_ns =
        std::max(shared_->longest_turn_ns,
                 static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0)));
}

bool Node::next_event(EventRecord& event) {
    if (shared_->events.empty()) return false;
    event = shared_->events.front();
    shared_->events.pop_front();
    return true;
}

}  // namespace signalbox::core
