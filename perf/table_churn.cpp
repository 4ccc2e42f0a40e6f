// SPDX-License-Identifier: Apache-2.0
// Lookup latency while another thread changes the table: 100,000 inserts and removals a second, and
// growth from a thousand entries to all of them; beside liburcu's cds_lfht, which grows too, and
// beside a map under a lock as negative control. Then keys that an attacker chose: against an
// unkeyed hash, and with our source but not the secret, beside random ones.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/crc32c.h"
#include "transports.h"
#include "urcu_table.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kBurst = 32;
constexpr std::size_t kGroup = 64;  // bursts between two looks at the thread's interruptions
constexpr double kChosenMax = 2;    // F01: p99 of chosen keys against random ones

/// One reader, which reports after each group of bursts.
class OneReader final : public Reclaimer {
 public:
    std::uint64_t begin() override { return token_.fetch_add(1, std::memory_order_acq_rel) + 1; }
    bool done(std::uint64_t token) override {
        return seen_.load(std::memory_order_acquire) >= token;
    }
    void report() {
        seen_.store(token_.load(std::memory_order_acquire), std::memory_order_release);
    }
    void leave() { seen_.store(~std::uint64_t{0}, std::memory_order_release); }

 private:
    std::atomic<std::uint64_t> token_{0}, seen_{0};
};

void fill(Node& node, const Key& key, std::size_t i) {
    node.key = key;
    node.local = kLocal;
    node.slot = static_cast<std::uint32_t>(i) | 1;
}

struct Ours {
    explicit Ours(std::size_t capacity, std::size_t initial)
        : arena(capacity),
          table({.shards = 64, .initial_entries = initial, .max_entries = 2 * capacity}, kSecret,
                arena.nodes, reclaimer) {}
    void insert(std::size_t i, const Key& key) {
        fill(arena.nodes[i], key, i);
        while (table.insert(arena.nodes[i]) != table::InsertResult::inserted) table.maintain();
        if (i % 16 == 0) table.maintain();
    }
    void remove(std::size_t i) {
        while (!table.remove(arena.nodes[i])) {
        }
    }
    std::size_t find(const std::array<Key, kBurst>& keys) {
        std::array<IpAddress, kBurst> locals;
        locals.fill(kLocal);
        std::array<Node*, kBurst> out;
        table.lookup(keys, locals, out);
        std::size_t found = 0;
        for (const Node* node : out) found += node != nullptr && node->slot != 0;
        return found;
    }
    void quiescent() { reclaimer.report(); }
    void upkeep() { table.maintain(); }
    OneReader reclaimer;
    Arena arena;
    TransportTable table;
};

struct Urcu {
    Urcu(std::size_t capacity, std::size_t) : arena(capacity), table(kSecret, capacity, true) {}
    void insert(std::size_t i, const Key& key) {
        fill(arena.nodes[i], key, i);
        table.insert(arena.nodes[i]);
        if (i % 64 == 0) UrcuTable::quiescent();
    }
    std::size_t find(const std::array<Key, kBurst>& keys) {
        std::size_t found = 0;
        for (const Key& key : keys) {
            const Node* node = table.find(key);
            found += node != nullptr && node->slot != 0;
        }
        return found;
    }
    void quiescent() { UrcuTable::quiescent(); }
    void upkeep() { UrcuTable::quiescent(); }
    Arena arena;
    UrcuTable table;
};

/// What must show its lock and its rehashing.
struct Locked {
    struct Hash {
        std::size_t operator()(const Key& key) const { return table::KeyedHash(kSecret)(key); }
    };
    Locked(std::size_t capacity, std::size_t) : arena(capacity) {}
    void insert(std::size_t i, const Key& key) {
        fill(arena.nodes[i], key, i);
        const std::lock_guard lock(mutex);
        map.emplace(key, &arena.nodes[i]);
    }
    std::size_t find(const std::array<Key, kBurst>& keys) {
        std::size_t found = 0;
        for (const Key& key : keys) {
            const std::lock_guard lock(mutex);
            found += map.find(key) != map.end();
        }
        return found;
    }
    void quiescent() {}
    void upkeep() {}
    Arena arena;
    std::mutex mutex;
    std::unordered_map<Key, Node*, Hash> map;
};

/// Times of bursts that nothing interrupted, in ns for one lookup.
struct Latency {
    Segments ns;
    std::size_t interrupted = 0;
    bool wrong = false;
};

template <class Table>
void read_group(Table& table, std::size_t below, Random& random, const Report& report,
                Latency& out) {
    std::array<double, kGroup> group;
    std::array<Key, kBurst> keys;
    const long switches = context_switches();
    for (double& burst : group) {
        for (Key& key : keys) key = key_of(random.below(below));
        const auto start = cycles();
        const std::size_t found = table.find(keys);
        burst = report.ns(static_cast<double>(cycles() - start)) / kBurst;
        out.wrong |= found != kBurst;
    }
    table.quiescent();
    if (context_switches() != switches) {
        ++out.interrupted;
        return;
    }
    for (const double burst : group) out.ns.add(burst);
}

void add_row(const Report& report, const char* name, const char* what, std::size_t transports,
             Latency& latency, double quiet_p99) {
    report.add({name,
                latency.ns.quantile(0.99),
                "ns/lookup",
                {{"meanwhile", what},
                 {"transports", transports},
                 {"burst", kBurst},
                 {"quantile", "p99"},
                 {"p50", latency.ns.median()},
                 {"p999", latency.ns.quantile(0.999)},
                 {"longest", latency.ns.quantile(1)},
                 {"bursts", latency.ns.size()},
                 {"groups_interrupted", latency.interrupted}},
                quiet_p99 > 0 ? "nothing meanwhile" : "",
                quiet_p99 > 0 ? quiet_p99 / latency.ns.quantile(0.99) : 0});
}

/// 100,000 changes a second on transports that nobody looks up.
bool churn(const Report& report, std::size_t stable, std::size_t groups) {
    constexpr std::size_t kMoving = 10'000;
    Ours ours(stable + kMoving, stable);
    for (std::size_t i = 0; i < stable; ++i) ours.insert(i, key_of(i)), ours.quiescent();
    Random random(kSeed);
    Latency quiet, busy;
    for (std::size_t g = 0; g < groups; ++g) read_group(ours, stable, random, report, quiet);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> changes{0};
    const auto begin = cycles();
    std::thread writer([&] {
        const double counts_each = report.cycles_per_ns() * 10'000;
        for (std::uint64_t n = 0; !stop; ++n) {
            const std::size_t i = stable + n / 2 % kMoving;
            if (n % 2 == 0)
                ours.insert(i, key_of(i));
            else
                ours.remove(i);
            changes = n;
            const auto due =
                begin + static_cast<std::uint64_t>(static_cast<double>(n) * counts_each);
            while (cycles() < due) ours.upkeep();
        }
    });
    for (std::size_t g = 0; g < groups; ++g) read_group(ours, stable, random, report, busy);
    stop = true;
    ours.reclaimer.leave();
    writer.join();
    const double seconds = report.ns(static_cast<double>(cycles() - begin)) / 1e9;
    add_row(report, "lookup.latency", "nothing", stable, quiet, 0);
    add_row(report, "lookup.latency", "100,000 changes/s", stable, busy, quiet.ns.quantile(0.99));
    report.add(
        {"lookup.latency.changes", static_cast<double>(changes) / seconds, "changes/s", {}, "", 0});
    return !quiet.wrong && !busy.wrong;
}

/// From a thousand entries to all, as fast as the writer can; what is looked up is there already.
template <class Table>
bool growth(const Report& report, const char* name, std::size_t transports, double* longest) {
    constexpr std::size_t kStart = 1000;
    Table table(transports, kStart);
    for (std::size_t i = 0; i < kStart; ++i) table.insert(i, key_of(i));
    std::atomic<std::size_t> there{kStart};
    Random random(kSeed);
    Latency latency;
    std::thread writer([&] {
        UrcuTable::enter();
        for (std::size_t i = kStart; i < transports; ++i) {
            table.insert(i, key_of(i));
            there.store(i + 1, std::memory_order_release);
        }
        UrcuTable::leave();
    });
    while (there.load(std::memory_order_acquire) < transports)
        read_group(table, there.load(std::memory_order_acquire), random, report, latency);
    if constexpr (requires { table.reclaimer; }) table.reclaimer.leave();
    writer.join();
    add_row(report, name, "growth", transports, latency, 0);
    // On a machine that is busy nothing may be left that was not interrupted.
    *longest = latency.ns.size() > 1000 ? latency.ns.quantile(1) : 0;
    return !latency.wrong;
}

enum class Chosen : std::uint8_t { random, against_crc, source_known };

/// The next key of that kind: every candidate is an address that a peer could own.
Key next_key(Chosen kind, std::uint64_t& counter, const table::KeyedHash& guess, unsigned bits) {
    for (;;) {
        Key key{.network = 0, .local_port = 2905, .remote_port = 2905, .remote = {}};
        ++counter;
        key.remote.bytes[0] = 0x20;
        std::memcpy(&key.remote.bytes[8], &counter, sizeof counter);
        if (kind == Chosen::random) {
            Random mixed(counter);
            const auto word = mixed.next();
            std::memcpy(&key.remote.bytes[8], &word, sizeof word);
            return key;
        }
        const std::uint64_t hash = kind == Chosen::source_known
                                       ? guess(key)
                                       : std::uint64_t{crc32c(key.remote.bytes)} << 32;
        if (hash >> (64 - bits) == 0) return key;
    }
}

bool chosen_keys(const Report& report, const Options& options) {
    const std::size_t count = options.quick ? 50'000 : 1'000'000;
    const unsigned bits = options.quick ? 5 : 8;
    constexpr std::array<const char*, 3> kNames{"random", "chosen against an unkeyed CRC",
                                                "chosen with the source known"};
    const table::KeyedHash guess(TransportTable::HashKey{{0, 0}});
    std::array<std::unique_ptr<Ours>, 3> tables;
    std::array<std::vector<Key>, 3> keys;
    for (std::size_t kind = 0; kind < 3; ++kind) {
        tables[kind] = std::make_unique<Ours>(count, 4096);
        tables[kind]->reclaimer.leave();
        std::uint64_t counter = 0;
        for (std::size_t i = 0; i < count; ++i) {
            keys[kind].push_back(next_key(static_cast<Chosen>(kind), counter, guess, bits));
            tables[kind]->insert(i, keys[kind].back());
        }
        while (tables[kind]->table.maintain()) {
        }
    }
    std::array<Segments, 3> ns;
    Random random(kSeed);
    for (int round = 0; round < (options.quick ? 2000 : 20'000); ++round)
        for (std::size_t kind = 0; kind < 3; ++kind) {
            std::array<Key, kBurst> burst;
            for (Key& key : burst) key = keys[kind][random.below(count)];
            const auto start = cycles();
            if (tables[kind]->find(burst) != kBurst) return false;
            ns[kind].add(report.ns(static_cast<double>(cycles() - start)) / kBurst);
        }
    const double base = ns[0].quantile(0.99);
    bool good = true;
    for (std::size_t kind = 0; kind < 3; ++kind) {
        const double p99 = ns[kind].quantile(0.99);
        const auto statistics = tables[kind]->table.statistics();
        report.add({"lookup.chosen_keys",
                    p99,
                    "ns/lookup",
                    {{"keys", kNames[kind]},
                     {"transports", count},
                     {"bits_chosen", kind == 0 ? 0 : bits},
                     {"quantile", "p99"},
                     {"p50", ns[kind].median()},
                     {"depth", statistics.max_depth},
                     {"rekeys", statistics.rekeys}},
                    "random keys",
                    base / p99});
        good &= options.quick || p99 <= kChosenMax * base;
    }
    return good;
}

int run(const Options& options) {
    const Report report("table_churn", options);
    const std::size_t transports = options.quick ? 100'000 : 1'000'000;
    bool good = churn(report, transports, options.quick ? 200 : 4000);
    double ours = 0, urcu = 0, locked = 0;
    good &= growth<Ours>(report, "lookup.growth", transports, &ours);
    good &= growth<Urcu>(report, "lookup.growth.cds_lfht", transports, &urcu);
    good &= growth<Locked>(report, "control.lookup.growth.locked_map", transports, &locked);
    good &= chosen_keys(report, options);
    if (!good) std::fprintf(stderr, "table_churn: a check failed\n");
    if (!options.quick && locked > 0 && locked < 10 * ours) {
        std::fprintf(stderr, "table_churn: a map that rehashes under a lock shows no pause\n");
        good = false;
    }
    return good ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    signalbox::perf::UrcuTable::enter();
    const auto code = signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
    signalbox::perf::UrcuTable::leave();
    return code;
}
