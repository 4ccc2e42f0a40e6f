// SPDX-License-Identifier: Apache-2.0
// Whatever core asks for is refused in turn (adversarial F10), at each site of core/sites.h and at
// each block and page, while two workers carry traffic through all that can happen to a gateway:
// associations both ways, AS-PENDING, a slow ASP, one that dies, a broadcast, an operator's
// question. No message is lost but by a name, all is delivered in order once there is memory again,
// and at the end nothing is held.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "base/bytes.h"
#include "core/shared.h"
#include "core/slot.h"
#include "core/worker_state.h"
#include "support/core_lab.h"

using namespace signalbox;
using namespace signalbox::test;
using core::Site;

namespace {

// Peers, by what happens to them.
constexpr std::uint32_t kSource = 0;    // sends to all
constexpr std::uint32_t kAway = 1;      // inactive for a while
constexpr std::uint32_t kDies = 2;      // one of two ASPs of an AS
constexpr std::uint32_t kSurvives = 3;  // the other
constexpr std::uint32_t kListener = 4;  // and 5: both of a broadcast AS
constexpr std::uint32_t kOpened = 6;    // we open the association
constexpr std::uint32_t kSlow = 7;      // takes nothing for a while
constexpr std::uint32_t kPeers = 8;

// Application servers.
constexpr std::uint32_t kServerOf[kPeers] = {0, 1, 2, 2, 3, 3, 4, 5};
constexpr std::uint32_t kServers = 6;
constexpr std::uint32_t kLoadshare = 2;
constexpr std::uint32_t kBroadcast = 3;

core::Settings settings_of_test() {
    core::Settings s = one_asp_per_server(kPeers);
    s.listeners[0].addresses.push_back(IpAddress::v4(0x0a4e0003));
    s.servers.resize(kServers);
    for (auto& server : s.servers) server.members.clear();
    s.servers[kBroadcast].mode = sigtran::TrafficMode::broadcast;
    for (std::uint32_t p = 0; p < kPeers; ++p) {
        auto& addresses = s.peers[p].addresses;
        const std::uint32_t first = addresses[0].as_v4();
        for (const std::uint32_t n : {0x10000u, 0x20000u, 0x30000u})
            if (p == kSource || p == kOpened) addresses.push_back(IpAddress::v4(first + n));
        s.servers[kServerOf[p]].members.push_back({PeerIndex{p}, 1});
    }
    s.peers[kOpened].connect = true;
    for (core::NamedProfile& p : s.profiles) {
        p.values.heartbeat_interval = 300ms;
        p.values.send_buffer_bytes = 16384;
        p.values.path_max_retransmits = p.values.association_max_retransmits = 50;
    }
    s.profiles.push_back(s.profiles[1]);
    s.profiles[2].values.path_max_retransmits = 1;
    s.peers[kSource].profile = 2;
    return s;
}

sctp::Profile patient() {
    sctp::Profile p = sctp::kProfileSigtranLan;
    p.path_max_retransmits = p.association_max_retransmits = 50;
    return p;
}

std::uint32_t number_of(const m3ua::Data& d) {
    return load_be32(d.user.data());
}

struct Story {
    Story()
        : lab(settings_of_test(),
              {.workers = 2, .memory_bytes = 8u << 20, .asp_profile = patient()}) {}

    core::Node::Shared& shared() { return lab.node->shared(); }
    std::size_t pages() {
        std::size_t n = shared().pool->free_pages();
        for (const auto& w : shared().per_worker) n += w->pages.available();
        return n;
    }
    Asp& asp(std::uint32_t peer) { return *asps[peer]; }
    bool has(std::uint32_t peer, std::uint8_t message_class, std::uint8_t type) {
        const auto& all = asp(peer).received;
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& m) { return m3ua::is(m, message_class, type); });
    }
    void until(const char* what, const std::function<bool()>& holds) {
        INFO(what << ": " << lab.counters());
        REQUIRE(lab.run_until(holds, 30s, 5ms));
    }
    void come_up(std::uint32_t peer) {
        asps[peer]->received.clear();
        until("established",
              [&] { return asp(peer).association->state() == sctp::State::established; });
        lab.send(asp(peer), StreamId{0}, m3ua::aspup(peer + 1));
        lab.send(asp(peer), StreamId{0}, m3ua::aspac(100 + kServerOf[peer]));
        until("active", [&] { return has(peer, 4, 3); });
    }
    void begin() {
        pages_before = pages();
        for (std::uint32_t p = 0; p < kPeers; ++p)
            asps[p] = p == kOpened ? &lab.listen(PeerIndex{p}) : &lab.start(PeerIndex{p});
        for (std::uint32_t p = 0; p < kPeers; ++p) come_up(p);
        lab.run(400ms, 5ms);  // HEARTBEATs confirm the paths
    }
    void send(std::uint32_t from, std::uint32_t to) {
        std::vector<std::uint8_t> user(120);
        store_be32(user.data(), sent);
        const auto sls = static_cast<std::uint8_t>(sent % 4);
        lab.send(asp(from), StreamId{static_cast<std::uint16_t>(1 + sls)},
                 m3ua::data(100 + kServerOf[from], 1000 + kServerOf[from], 1000 + to, sls, user));
        to_server[to].insert(sent++);
    }
    void traffic(unsigned rounds) {
        for (unsigned n = 0; n < rounds; ++n) {
            for (std::uint32_t to = 1; to < kServers; ++to) send(kSource, to);
            if (!away) send(kAway, 0);
            send(kSlow, kLoadshare);
            lab.turn();
        }
        lab.run(20ms);
    }
    void tell() {
        traffic(20);
        const std::vector<std::uint8_t> lost(40);
        lab.send(asp(kSource), StreamId{1}, m3ua::data(100, 1000, 4242, 0, lost));  // no route
        lab.send(asp(kAway), StreamId{0}, m3ua::aspia(101));
        away = true;
        until("inactive", [&] { return has(kAway, 4, 4); });
        traffic(20);
        lab.node->ask_associations(kNoPeer, lab.now);
        asp(kAway).received.erase(
            std::remove_if(asp(kAway).received.begin(), asp(kAway).received.end(),
                           [](const auto& m) { return m3ua::is(m, 4, 3); }),
            asp(kAway).received.end());
        lab.send(asp(kAway), StreamId{0}, m3ua::aspac(101));
        until("active again", [&] { return has(kAway, 4, 3); });
        away = false;
        slow_down();
        die();
        traffic(20);
    }
    /// What is for two of them stays in the gateway; with one of them its second path fails.
    void slow_down() {
        const IpAddress slow = asp(kSlow).addresses[0], dies = asp(kDies).addresses[0];
        const IpAddress second = asp(kSource).addresses[1];
        lab.cut = [=](const IpBytes& bytes, bool to_gateway) {
            const auto parsed = wire::parse_ip(bytes);
            const auto& ip = *std::get_if<wire::IpPacket>(&parsed);
            const IpAddress& peer = to_gateway ? ip.source : ip.destination;
            return (!to_gateway && (peer == slow || peer == dies)) || peer == second;
        };
        traffic(150);
        lab.run(800ms, 5ms);
    }
    void die() {
        lab.abort(asp(kDies), 12);
        lab.run(20ms);
        lab.cut = nullptr;
        lab.run(1500ms, 5ms);
    }
    void end() {
        lab.run(3s, 10ms);
        for (const std::uint32_t p : {kAway, kSurvives, kListener}) lab.shutdown(asp(p));
        lab.run(1s, 5ms);
        lab.node->drain(lab.now);  // the others, and the one that we opened stays away
        const auto slots = [&] {
            std::int64_t n = 0;
            for (const auto& w : shared().per_worker) n += w->slots_used.load();
            return n;
        };
        until("all down", [&] { return slots() == 0; });
        counters = lab.counters();
        lost_by_name = lab.drops(Drop::peer_congested);
        lost_copies = lab.drops(Drop::broadcast_copy);
        lab.workers.clear();
    }

    void tell_all() {
        begin();
        tell();
        end();
    }

    std::set<std::uint32_t> numbers_at(std::uint32_t peer) {
        std::set<std::uint32_t> all;
        for (const auto& m : asp(peer).received)
            if (const auto d = m3ua::parse_data(m)) all.insert(number_of(*d));
        return all;
    }
    /// Each SLS of each source in order, and nothing twice.
    void judge_order(std::uint32_t peer) {
        std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> last;
        for (const auto& m : asp(peer).received) {
            const auto d = m3ua::parse_data(m);
            if (!d) continue;
            const auto flow = std::pair{d->opc, d->sls};
            INFO("peer " << peer << " opc " << d->opc << " sls " << int{d->sls});
            if (last.count(flow) != 0) REQUIRE(number_of(*d) > last[flow]);
            last[flow] = number_of(*d);
        }
    }
    /// The ledger: what was sent arrived, or is counted by a name.
    void judge() {
        std::uint64_t missing = 0;
        for (std::uint32_t server = 0; server < kServers; ++server) {
            std::set<std::uint32_t> got;
            for (std::uint32_t p = 0; p < kPeers; ++p) {
                if (kServerOf[p] != server) continue;
                if (p != kDies && p != kSurvives) judge_order(p);
                const auto here = numbers_at(p);
                if (server == kBroadcast) copies += to_server[server].size() - here.size();
                got.insert(here.begin(), here.end());
            }
            by_server += " " + std::to_string(server) + ":" + std::to_string(got.size()) + "/" +
                         std::to_string(to_server[server].size());
            missing += to_server[server].size() - got.size();
        }
        INFO(counters << by_server);
        REQUIRE(missing <= lost_by_name);
        REQUIRE(copies <= lost_copies + 2 * lost_by_name);
        REQUIRE(pages() == pages_before);
        for (const auto& w : shared().per_worker) {
            REQUIRE(w->unindexed.load() == 0);
            REQUIRE(w->established.load() == 0);
        }
        REQUIRE(shared().table->statistics().entries == 0);
    }

    CoreLab lab;
    std::array<Asp*, kPeers> asps{};
    std::array<std::set<std::uint32_t>, kServers> to_server;
    std::uint32_t sent = 0;
    bool away = false;
    std::uint64_t copies = 0, lost_by_name = 0, lost_copies = 0;
    std::string counters, by_server;
    std::size_t pages_before = 0;
};

/// Where one request is refused: of one worker (or control), the kth and those after it.
struct Point {
    unsigned thread;  // 2: control
    std::uint64_t requests;
};

mem::FaultPoint& point(Story& s, Site site, unsigned thread) {
    auto& shared = s.shared();
    return (thread < 2 ? shared.per_worker[thread]->faults : shared.control_faults).watch(site);
}

/// What else must be refused for the story to come by the site.
void prepare(Story& s, Site site) {
    if (site == Site::ring_connect_failed) point(s, Site::slot, kOpened % 2).arm(1);
}

std::vector<Point> points(Site site) {
    Story s;
    prepare(s, site);
    for (unsigned t = 0; t < 3; ++t) point(s, site, t).arm(mem::FaultPoint::kNever);
    s.tell_all();
    std::vector<Point> all;
    for (unsigned t = 0; t < 3; ++t)
        if (const auto n = point(s, site, t).counted()) all.push_back({t, n});
    return all;
}

/// A peer gives up when it is refused all the time, or when all its packets are lost.
bool ends_when_long(Site site) {
    return site < Site::table_remove || site == Site::ring_packet;
}

/// The first ones, some between, the last one.
std::vector<std::uint64_t> some_of(std::uint64_t requests, std::uint64_t most) {
    std::set<std::uint64_t> chosen;
    for (std::uint64_t i = 0; i < std::min(requests, most); ++i)
        chosen.insert(i < most / 2 ? i : requests - 1 - (i - most / 2) * requests / most);
    return {chosen.begin(), chosen.end()};
}

}  // namespace

TEST_CASE("F10: each site of core is refused in turn, and nothing is lost, doubled or kept") {
    for (std::size_t i = 0; i < core::kSiteCount; ++i) {
        const auto site = static_cast<Site>(i);
        const auto where = points(site);
        INFO(core::kSiteNames[i]);
        CHECK_FALSE(where.empty());  // a site that this story does not come by
        for (const auto& at : where)
            for (const std::uint64_t k : some_of(at.requests, 4))
                for (const std::uint64_t refused : {1u, 3u, ends_when_long(site) ? 2u : 40u}) {
                    INFO(core::kSiteNames[i] << " of thread " << at.thread << ": " << k << " of "
                                             << at.requests << ", " << refused << " times");
                    Story s;
                    prepare(s, site);
                    point(s, site, at.thread).arm(k, refused);
                    s.tell_all();
                    s.judge();
                }
    }
}

TEST_CASE(
    "F10: blocks and pages of both workers are refused in turn, and nothing is lost or kept") {
    enum class What { blocks, pages };
    const auto point_of = [](Story& s, What what, unsigned worker) -> mem::FaultPoint& {
        if (what == What::blocks) return s.lab.workers[worker]->block_faults();
        return s.shared().per_worker[worker]->pages.faults();
    };
    for (const What what : {What::blocks, What::pages})
        for (const unsigned worker : {0u, 1u}) {
            Story whole;
            point_of(whole, what, worker).arm(mem::FaultPoint::kNever);
            whole.begin();
            whole.tell();
            const std::uint64_t requests = point_of(whole, what, worker).counted();
            REQUIRE(requests > 10);
            for (const std::uint64_t k : some_of(requests, 16))
                for (const std::uint64_t refused : {1u, 3u, 200u}) {
                    // So long a refusal keeps a COOKIE ECHO out until its peer gives up.
                    if (refused > 3 && k < requests / 3) continue;
                    INFO((what == What::blocks ? "block " : "page ")
                         << k << " of " << requests << " of worker " << worker << ", " << refused
                         << " times");
                    Story s;
                    point_of(s, what, worker).arm(k, refused);
                    s.tell_all();
                    s.judge();
                }
        }
}

TEST_CASE("F10: what is kept back is there again after each of twenty exhaustions") {
    // Pages come from control: when it does not get to run, none come.
    CoreLab lab(one_asp_per_server(2), {.memory_bytes = 2u << 20});
    Asp& near = lab.start(PeerIndex{0});
    Asp& far = lab.start(PeerIndex{1});
    bring_up(lab, near, 100);
    bring_up(lab, far, 101);
    lab.run(100ms);
    lab.control_paused = true;
    const mem::PageCache& pages = lab.node->shared().per_worker[0]->pages;
    std::vector<std::uint8_t> user(250);
    std::uint32_t sent = 0;
    for (int round = 0; round < 20; ++round) {
        const std::uint64_t refused = lab.drops(Drop::data_no_memory);
        lab.cut = [](const IpBytes& packet, bool to_gateway) {
            return !to_gateway && packet[19] == 2;  // 10.77.16.2, the far one
        };
        for (int n = 0; lab.drops(Drop::data_no_memory) == refused && n < 20'000; ++n) {
            // Sizes of all classes, so that each takes pages.
            user.resize(40 + 97 * (sent % 12));
            store_be32(user.data(), sent++);
            lab.send(near, StreamId{1}, m3ua::data(100, 1000, 1001, 3, user));
            if (sent % 8 == 7) lab.turn();
        }
        INFO("round " << round << ": " << lab.counters());
        REQUIRE(lab.drops(Drop::data_no_memory) > refused);
        lab.run(300ms);
        lab.cut = nullptr;
        lab.run(3s, 5ms);
        REQUIRE(near.association->queued_bytes() == 0);
        REQUIRE(pages.available() > core::kKeptBackPages);
    }
    INFO(lab.counters());
    REQUIRE(lab.drops(Drop::peer_congested) == 0);
    std::uint32_t next = 0;
    for (const auto& message : far.received)
        if (const auto d = m3ua::parse_data(message)) REQUIRE(number_of(*d) == next++);
    REQUIRE(next == sent);
}

TEST_CASE("PKT-8: a peer whose addresses the table does not hold yet is met, never aborted") {
    for (const std::uint32_t peer : {0u, 1u}) {  // of the worker that the packets come to, or not
        core::Settings settings = one_asp_per_server(2);
        settings.listeners[0].addresses.push_back(IpAddress::v4(0x0a4e0003));
        settings.peers[peer].addresses.push_back(IpAddress::v4(0x0a4e1001 + peer));
        settings.peers[peer].connect = true;
        for (auto& p : settings.profiles) p.values.heartbeat_interval = 100ms;
        CoreLab lab(std::move(settings), {.workers = 2});
        core::WorkerShared& owner = *lab.node->shared().per_worker[peer];
        Asp& asp = lab.listen(PeerIndex{peer});
        owner.faults.watch(Site::table_insert).arm(1, 100'000);  // the second path finds no way in
        lab.run(2s);
        INFO(lab.counters());
        CHECK(owner.unindexed.load() == 1);
        CHECK(asp.association->state() == sctp::State::established);
        CHECK(asp.association->path(1).confirmed);  // it was answered
        CHECK(lab.count(Count::associations_aborted) == 0);
        CHECK(lab.drops(Drop::out_of_the_blue) == 0);
        owner.faults.watch(Site::table_insert).arm(0, 0);
        lab.run(100ms);
        CHECK(owner.unindexed.load() == 0);
        CHECK(lab.node->shared().table->statistics().entries == 2);
    }
}

TEST_CASE("TAB-2: a full table refuses a COOKIE ECHO by its own name, and takes the next") {
    CoreLab lab(one_asp_per_server(1), {});
    lab.node->shared().per_worker[0]->faults.watch(Site::table_room).arm(0);
    const Asp& asp = lab.start(PeerIndex{0});
    lab.run(50ms);
    CHECK(lab.drops(Drop::table_full) == 1);
    CHECK(lab.drops(Drop::cookie_try_lock) == 0);
    CHECK(lab.run_until([&] { return asp.association->state() == sctp::State::established; }, 5s));
}

TEST_CASE("F05: an association that ends with nothing to save does not wait for memory") {
    CoreLab lab(one_asp_per_server(1), {});
    Asp& asp = lab.start(PeerIndex{0});
    bring_up(lab, asp, 100);
    lab.run(100ms);
    core::WorkerShared& worker = *lab.node->shared().per_worker[0];
    worker.faults.watch(Site::waiting_room).arm(0, 1'000'000);
    lab.abort(asp, 12);
    lab.run(100ms);
    CHECK(worker.slots_used.load() == 0);
}

TEST_CASE("STR-3: associations that end together give back 1,024 messages a turn, in order") {
    constexpr std::uint32_t kEnding = 20;
    constexpr std::uint32_t kWaiting = 100;  // for each of them
    CoreLab lab(one_asp_per_server(1 + kEnding), {});
    for (std::uint32_t p = 0; p <= kEnding; ++p) {
        lab.start(PeerIndex{p});
        bring_up(lab, lab.asps[p], 100 + p);
    }
    lab.run(100ms);
    Asp& source = lab.asps[0];
    lab.cut = [&source](const IpBytes& bytes, bool to_gateway) {
        const auto parsed = wire::parse_ip(bytes);
        return !to_gateway &&
               std::get_if<wire::IpPacket>(&parsed)->destination != source.addresses[0];
    };
    std::vector<std::uint8_t> user(20);
    for (std::uint32_t n = 0; n < kWaiting; ++n) {
        store_be32(user.data(), n);
        for (std::uint32_t p = 1; p <= kEnding; ++p)
            lab.send(source, StreamId{1}, m3ua::data(100, 1000, 1000 + p, 0, user));
        lab.turn();
    }
    lab.run(20ms);
    const auto waiting = [&lab] {
        std::uint32_t n = 0;
        for (std::uint32_t as = 0; as <= kEnding; ++as)
            n += lab.node->shared().pending_messages[as].load();
        return n;
    };
    REQUIRE(waiting() == 0);
    for (std::uint32_t p = 1; p <= kEnding; ++p) lab.abort(lab.asps[p], 12);
    std::uint32_t most = 0;
    for (int turns = 0; turns < 20; ++turns) {
        const std::uint32_t before = waiting();
        lab.turn();
        most = std::max(most, waiting() - before);
    }
    INFO(lab.counters());
    CHECK(waiting() == kEnding * kWaiting);
    CHECK(most <= core::kSalvagedPerTurn);
    CHECK(most > core::kSalvagedPerTurn / 2);
    lab.cut = nullptr;
    for (std::uint32_t p = 1; p <= kEnding; ++p) bring_up(lab, lab.start(PeerIndex{p}), 100 + p);
    lab.run(1s);
    for (std::uint32_t p = 1; p <= kEnding; ++p) {
        std::uint32_t next = 0;
        for (const auto& message : lab.asps[kEnding + p].received)
            if (const auto d = m3ua::parse_data(message)) REQUIRE(number_of(*d) == next++);
        CHECK(next == kWaiting);
    }
}
