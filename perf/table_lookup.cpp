// SPDX-License-Identifier: Apache-2.0
// Lookup of transports: our table beside rte_hash (lock-free for readers, bulk lookup), each
// followed by reading the association's line, interleaved segment by segment. Control: one chain of
// 2,500, which must show its cost.
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <array>
#include <memory>
#include <span>

#include "eal.h"
#include "transports.h"
#include "urcu_table.h"

namespace signalbox::perf {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kSegment = 512;  // lookups
constexpr double kControlMinNs = 1000;

/// No thread but this one: every grace period is over at once.
class NoReaders : public Reclaimer {
 public:
    std::uint64_t begin() override { return 0; }
    bool done(std::uint64_t) override { return true; }
};

/// rte_hash compares 32 bytes with two vector instructions, 22 bytes with memcmp: it gets what
/// suits it best.
struct PaddedKey {
    Key key;
    std::array<std::uint8_t, 10> padding{};
};
static_assert(sizeof(PaddedKey) == 32);

struct Batch {
    std::array<Key, kSegment> keys;
    std::array<PaddedKey, kSegment> padded;
    std::array<const void*, kSegment> pointers;
    std::array<IpAddress, kSegment> locals;

    Batch() {
        locals.fill(kLocal);
        for (std::size_t i = 0; i < kSegment; ++i) pointers[i] = &padded[i];
    }
    void draw(Random& random, std::size_t size, bool hit) {
        for (std::size_t i = 0; i < kSegment; ++i) {
            keys[i] = key_of(random.below(size) + (hit ? 0 : size));
            padded[i].key = keys[i];
        }
    }
};

class Bench {
 public:
    Bench(std::size_t size, const Report& report)
        : size_(size),
          report_(report),
          arena_(size),
          table_({.shards = 64, .initial_entries = 4096, .max_entries = size}, kSecret,
                 arena_.nodes, reclaimer_),
          rte_(make_rte_hash(size)),
          urcu_(kSecret, size, false) {
        Random random(kSeed);
        std::vector<std::uint32_t> places(
            size);  // neighbours in address are not neighbours in memory
        for (std::size_t i = 0; i < size; ++i) places[i] = static_cast<std::uint32_t>(i);
        for (std::size_t i = size; i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
        for (std::size_t i = 0; i < size; ++i) insert(arena_.nodes[places[i]], i);
        while (table_.maintain()) {
        }
    }
    ~Bench() { rte_hash_free(rte_); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    bool compare(std::size_t burst, bool hit, int segments) {
        Segments ours, theirs, urcu;
        const auto want = hit ? kSegment : 0;
        for (int i = 0; i < segments; ++i) {
            batch_.draw(random_, size_, hit);
            if (time(ours, [&] { return run_ours(burst); }) != want) return false;
            batch_.draw(random_, size_, hit);
            if (time(theirs, [&] { return run_rte(burst); }) != want) return false;
            if (i % 4 != 0 || burst != 1) continue;
            batch_.draw(random_, size_, hit);
            if (time(urcu, [&] { return run_urcu(); }) != want) return false;
        }
        const auto a = ours.median(), b = theirs.median(), c = urcu.median();
        report_.add({"lookup", a, "ns/lookup", parameters(burst, hit), "rte_hash", b / a});
        report_.add({"lookup.rte_hash", b, "ns/lookup", parameters(burst, hit), "", 0});
        if (burst != 1) return true;
        report_.add({"lookup", a, "ns/lookup", parameters(burst, hit), "cds_lfht", c / a});
        report_.add({"lookup.cds_lfht", c, "ns/lookup", parameters(burst, hit), "", 0});
        return true;
    }
    void print_size() const {
        const auto statistics = table_.statistics();
        const auto bytes = static_cast<double>(statistics.buckets) * sizeof(table::Bucket);
        report_.add({"table.bytes_per_entry",
                     bytes / static_cast<double>(size_),
                     "B",
                     {{"transports", size_}, {"depth", statistics.max_depth}},
                     "",
                     0});
    }

 private:
    static rte_hash* make_rte_hash(std::size_t size) {
        rte_hash_parameters parameters{};
        parameters.name = "compared";
        parameters.entries = static_cast<std::uint32_t>(std::max<std::size_t>(size * 5 / 4, 64));
        parameters.key_len = sizeof(PaddedKey);
        parameters.hash_func = rte_hash_crc;
        parameters.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF;
        auto* hash = rte_hash_create(&parameters);
        if (hash == nullptr) std::fprintf(stderr, "rte_hash_create: not enough memory\n");
        if (hash == nullptr) std::exit(1);
        return hash;
    }
    void insert(Node& node, std::size_t peer) {
        node.key = key_of(peer);
        node.local = kLocal;
        node.slot = static_cast<std::uint32_t>(peer) | 1;
        const PaddedKey padded{node.key, {}};
        while (table_.insert(node) != table::InsertResult::inserted) table_.maintain();
        if (peer % 64 == 0) table_.maintain();
        if (rte_hash_add_key_data(rte_, &padded, &node) != 0) std::exit(1);
        urcu_.insert(node);
    }
    Parameters parameters(std::size_t burst, bool hit) const {
        return {{"transports", size_}, {"burst", burst}, {"case", hit ? "hit" : "miss"}};
    }
    template <class Run>
    std::size_t time(Segments& segments, Run&& run) {
        const auto start = cycles();
        const auto found = run();
        segments.add(report_.ns(static_cast<double>(cycles() - start)) / kSegment);
        return found;
    }
    std::size_t run_ours(std::size_t burst) {
        std::array<Node*, 32> out;
        std::size_t found = 0;
        for (std::size_t at = 0; at < kSegment; at += burst) {
            if (burst == 1)
                out[0] = table_.lookup(batch_.keys[at], batch_.locals[at]);
            else
                table_.lookup(std::span(batch_.keys).subspan(at, burst),
                              std::span(batch_.locals).subspan(at, burst),
                              std::span(out).first(burst));
            for (std::size_t i = 0; i < burst; ++i) found += out[i] != nullptr && out[i]->slot != 0;
        }
        return found;
    }
    std::size_t run_urcu() {
        std::size_t found = 0;
        for (const Key& key : batch_.keys) {
            const Node* node = urcu_.find(key);
            found += node != nullptr && node->slot != 0;
        }
        return found;
    }
    std::size_t run_rte(std::size_t burst) {
        std::array<void*, 32> out;
        std::size_t found = 0;
        for (std::size_t at = 0; at < kSegment; at += burst) {
            std::uint64_t hits = 0;
            if (burst == 1)
                hits = rte_hash_lookup_data(rte_, batch_.pointers[at], &out[0]) >= 0;
            else
                rte_hash_lookup_bulk_data(rte_, &batch_.pointers[at],
                                          static_cast<std::uint32_t>(burst), &hits, out.data());
            // Ours has compared the key in this line already; here it is still to be fetched.
            for (std::size_t i = 0; i < burst; ++i)
                if ((hits >> i & 1) != 0) __builtin_prefetch(out[i]);
            for (std::size_t i = 0; i < burst; ++i)
                found += (hits >> i & 1) != 0 && static_cast<const Node*>(out[i])->slot != 0;
        }
        return found;
    }

    std::size_t size_;
    const Report& report_;
    NoReaders reclaimer_;
    Arena arena_;
    TransportTable table_;
    rte_hash* rte_;
    UrcuTable urcu_;
    Random random_{kSeed + 1};
    Batch batch_;
};

/// The kernel's old table: every peer of a port in one chain, in random order of memory.
double one_chain_ns(const Report& report) {
    constexpr std::size_t kPeers = 2500;
    struct Link {
        alignas(64) Key key;
        const Link* next = nullptr;
    };
    std::vector<Link> links(kPeers);
    std::vector<std::size_t> order(kPeers);
    Random random(kSeed);
    for (std::size_t i = 0; i < kPeers; ++i) order[i] = i;
    for (std::size_t i = kPeers; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (std::size_t i = 0; i < kPeers; ++i) {
        links[order[i]].key = key_of(i);
        links[order[i]].next = i + 1 < kPeers ? &links[order[i + 1]] : nullptr;
    }
    Segments segments;
    for (int segment = 0; segment < 100; ++segment) {
        const auto start = cycles();
        for (int i = 0; i < 16; ++i) {
            const auto key = key_of(random.below(kPeers));
            const auto* link = &links[order[0]];
            while (link != nullptr && !same(link->key, key)) link = link->next;
            keep(link);
        }
        segments.add(report.ns(static_cast<double>(cycles() - start)) / 16);
    }
    return segments.median();
}

/// Candidate that was not taken: two folded multiplications under the secret.
std::uint64_t folded(const Key& key) {
    const auto fold = [](std::uint64_t a, std::uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        const auto product = static_cast<Wide>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    const auto first = fold(table::load_u64(&key.remote.bytes[0]) ^ kSecret.words[0],
                            table::load_u64(&key.remote.bytes[8]) ^ kSecret.words[1]);
    return fold(first ^ kSecret.words[0], table::port_word(key) ^ kSecret.words[1]);
}

void compare_hashes(const Report& report) {
    const table::KeyedHash aes(kSecret), sip(kSecret, table::KeyedHash::Kind::siphash);
    std::array<Key, 32> keys;
    std::array<std::uint64_t, 32> out;
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(i);
    Segments by_aes, by_sip, by_fold;
    const auto time = [&](Segments& segments, auto&& hash) {
        const auto start = cycles();
        for (int i = 0; i < 16; ++i) {
            hash();
            keep(out.data());
        }
        segments.add(report.ns(static_cast<double>(cycles() - start)) / (16 * 32));
    };
    for (int i = 0; i < 1000; ++i) {
        time(by_aes, [&] { aes.burst(keys, out); });
        time(by_sip, [&] { sip.burst(keys, out); });
        time(by_fold, [&] {
            for (std::size_t k = 0; k < keys.size(); ++k) out[k] = folded(keys[k]);
        });
    }
    const auto sip_ns = by_sip.median();
    const auto taken = table::KeyedHash::best_kind() == table::KeyedHash::Kind::aes
                           ? "hash.aes"
                           : "hash.siphash13_for_want_of_aes";
    const auto aes_ns = by_aes.median(), fold_ns = by_fold.median();
    report.add({taken, aes_ns, "ns/key", {{"burst", 32}}, "SipHash-1-3", sip_ns / aes_ns});
    report.add({"hash.siphash13", sip_ns, "ns/key", {{"burst", 32}}, "", 0});
    report.add({"hash.folded_multiply",
                fold_ns,
                "ns/key",
                {{"burst", 32}},
                "SipHash-1-3",
                sip_ns / fold_ns});
}

int run(const Options& options) {
    start_eal(options.quick ? 512 : 3072);
    const Report report("table_lookup", options);
    if (!options.json)
        std::printf("seed %llu, half IPv4 half IPv6, random order, medians of segments of %zu\n",
                    static_cast<unsigned long long>(kSeed), kSegment);
    const auto control = one_chain_ns(report);
    report.add({"control.one_chain", control, "ns/lookup", {{"transports", 2500}}, "", 0});
    if (control < kControlMinNs) {
        std::fprintf(stderr, "the control costs too little: this benchmark sees nothing\n");
        return 1;
    }
    compare_hashes(report);
    std::vector<std::size_t> sizes{1000, 2500, 100'000, 1'000'000};
    if (!options.quick) sizes.push_back(10'000'000);
    for (const auto size : sizes) {
        const auto bench = std::make_unique<Bench>(size, report);
        bench->print_size();
        for (const std::size_t burst : {1u, 8u, 32u})
            for (const bool hit : {true, false})
                if (!bench->compare(burst, hit, options.quick ? 150 : 3000)) {
                    std::fprintf(stderr, "a lookup gave a wrong answer\n");
                    return 1;
                }
    }
    return 0;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    const auto options = signalbox::perf::Options::parse(argc, argv);
    signalbox::perf::UrcuTable::enter();
    const auto code = signalbox::perf::run(options);
    signalbox::perf::UrcuTable::leave();
    rte_eal_cleanup();
    return code;
}
