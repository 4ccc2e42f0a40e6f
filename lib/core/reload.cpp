// SPDX-License-Identifier: Apache-2.0
// Positions name peers, servers, listeners and profiles everywhere (slots, snapshots, rings), so a
// reload keeps the position of every name, retires what is gone and appends what is new.
#include "core/reload.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/node.h"
#include "core/shared.h"

namespace signalbox::core {

namespace {

constexpr std::size_t kMaxProfiles = 65535;  // versions of all reloads together; 16 bits name one

using Positions = std::unordered_map<std::string, std::uint32_t>;

class Planner {
 public:
    Planner(const Settings& old, Settings next, const ReloadRoom& room)
        : old_(old), next_(std::move(next)), room_(room) {}

    ReloadPlan run() {
        plan_.settings = next_;
        check_members();
        profiles();
        listeners();
        instances();
        peers();
        servers();
        screening();
        fates();
        if (plan_.settings.node_name != old_.node_name || plan_.settings.node_id != old_.node_id)
            refuse("node");
        if (plan_.settings.memory_limit_bytes != old_.memory_limit_bytes) refuse("memory.limit");
        return std::move(plan_);
    }

 private:
    void refuse(std::string what) { plan_.refused.push_back(std::move(what)); }
    void check_members() const;
    void profiles();
    void listeners();
    void instances();
    void peers();
    void servers();
    void screening();
    void fates();
    std::string why_reset(const PeerSettings& before, const PeerSettings& after) const;

    const Settings& old_;
    Settings next_;
    ReloadRoom room_;
    ReloadPlan plan_;
    std::vector<std::uint16_t> profile_at_;   // of next_ -> in force
    std::vector<std::uint16_t> listener_at_;  // the same
    std::vector<std::uint16_t> instance_at_;
    std::vector<PeerIndex> peer_at_;
    std::set<std::uint32_t> of_changed_servers_;       // peers that are or were their members
    std::map<std::uint32_t, std::string> other_wire_;  // peer -> server that means another thing
};

/// Whoever adds a member to Settings comes here: positions in it must be put to those in force.
void Planner::check_members() const {
    [[maybe_unused]] const auto& [node_name, node_id, memory_limit_bytes, profiles, listeners,
                                  instances, peers, servers, screening, screening_allows,
                                  init_per_second, out_of_the_blue_per_second, icmp_per_second] =
        next_;
}

/// Associations keep the version that they began with; later ones get the one that the name has
/// now.
void Planner::profiles() {
    auto& all = plan_.settings.profiles;
    all = old_.profiles;
    for (const NamedProfile& p : next_.profiles) {
        const auto there = std::find_if(all.begin(), all.end(), [&](const NamedProfile& known) {
            return known.name == p.name && known.values == p.values;
        });
        profile_at_.push_back(static_cast<std::uint16_t>(there - all.begin()));
        if (there == all.end()) all.push_back(p);
    }
    if (all.size() > kMaxProfiles) refuse("sctp_profiles: too many versions since the start");
}

void Planner::listeners() {
    auto& all = plan_.settings.listeners;
    all = old_.listeners;
    std::set<std::string> kept;
    for (ListenerSettings l : next_.listeners) {
        l.profile = profile_at_[l.profile];
        kept.insert(l.name);
        const auto there = std::find_if(
            all.begin(), all.end(), [&](const ListenerSettings& o) { return o.name == l.name; });
        listener_at_.push_back(static_cast<std::uint16_t>(there - all.begin()));
        if (there == all.end()) {
            all.push_back(l);
            continue;
        }
        if (there->port != l.port || there->addresses != l.addresses)
            refuse("listeners '" + l.name + "': port or addresses");
        *there = l;
    }
    for (const ListenerSettings& l : old_.listeners)
        if (!kept.contains(l.name)) refuse("listeners '" + l.name + "' is gone");
    if (all.size() > room_.listeners)
        refuse("listeners: more than " + std::to_string(room_.listeners) + " since the start");
}

void Planner::instances() {
    auto& all = plan_.settings.instances;
    all = old_.instances;
    std::set<std::string> kept;
    for (const mtp3::Instance& instance : next_.instances) {
        kept.insert(instance.name);
        const auto there = std::find_if(all.begin(), all.end(), [&](const mtp3::Instance& o) {
            return o.name == instance.name;
        });
        instance_at_.push_back(static_cast<std::uint16_t>(there - all.begin()));
        if (there == all.end())
            all.push_back(instance);
        else if (!(*there == instance))
            refuse("instances '" + instance.name + "'");
    }
    for (const mtp3::Instance& instance : old_.instances)
        if (!kept.contains(instance.name)) refuse("instances '" + instance.name + "' is gone");
}

void Planner::peers() {
    auto& all = plan_.settings.peers;
    all = old_.peers;
    Positions known;
    for (std::uint32_t i = 0; i < all.size(); ++i) known[all[i].m3ua.name] = i;
    std::vector<bool> kept(all.size());
    for (PeerSettings p : next_.peers) {
        p.listener = listener_at_[p.listener];
        p.profile = profile_at_[p.profile];
        const auto there = known.find(p.m3ua.name);
        if (there == known.end()) {
            peer_at_.push_back(PeerIndex{static_cast<std::uint32_t>(all.size())});
            all.push_back(std::move(p));
            continue;
        }
        peer_at_.push_back(PeerIndex{there->second});
        kept[there->second] = true;
        all[there->second] = std::move(p);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i]) continue;
        all[i].m3ua.retired = true;
        all[i].m3ua.admin = sigtran::Admin::shutdown;
        all[i].addresses.clear();  // the access list does not know it any more
        all[i].connect = false;
    }
    if (all.size() > room_.peers)
        refuse("peers: more than " + std::to_string(room_.peers) + " names since the start");
}

void Planner::servers() {
    auto& all = plan_.settings.servers;
    all = old_.servers;
    Positions known;
    for (std::uint32_t i = 0; i < all.size(); ++i) known[all[i].name] = i;
    std::set<std::uint32_t> kept;
    const auto touch = [&](const sigtran::AsSettings& s) {
        for (const sigtran::Member& m : s.members) of_changed_servers_.insert(m.peer.value);
    };
    for (sigtran::AsSettings s : next_.servers) {
        s.instance = instance_at_[s.instance];
        for (sigtran::Member& m : s.members) m.peer = peer_at_[m.peer.value];
        const auto there = known.find(s.name);
        const bool broadcast = s.mode == sigtran::TrafficMode::broadcast;
        if (there == known.end()) {
            if (broadcast) refuse("application_servers '" + s.name + "': a new one in broadcast");
            touch(s);
            all.push_back(std::move(s));
            continue;
        }
        kept.insert(there->second);
        sigtran::AsSettings& before = all[there->second];
        if (before == s) continue;
        if (broadcast && before.mode != s.mode)
            refuse("application_servers '" + s.name + "': mode becomes broadcast");
        touch(before);
        touch(s);
        if (!before.retired && !sigtran::is_same_on_wire(before, s))
            for (const sigtran::Member& m : before.members)
                other_wire_.emplace(m.peer.value, s.name);
        before = std::move(s);
    }
    for (std::uint32_t i = 0; i < old_.servers.size(); ++i) {
        if (kept.contains(i)) continue;
        touch(all[i]);
        all[i].retired = true;
        all[i].keys.clear();
        all[i].members.clear();
    }
    if (all.size() > room_.servers)
        refuse("application_servers: more than " + std::to_string(room_.servers) +
               " names since the start");
}

void Planner::screening() {
    for (ScreeningRule& rule : plan_.settings.screening) {
        for (PeerIndex& peer : rule.peers) peer = peer_at_[peer.value];
        if (rule.instance) rule.instance = instance_at_[*rule.instance];
    }
}

std::string Planner::why_reset(const PeerSettings& before, const PeerSettings& after) const {
    if (before.listener != after.listener) return "listener";
    if (before.addresses != after.addresses) return "addresses";
    if (before.remote_port != after.remote_port) return "remote_port";
    if (before.connect != after.connect) return "connect";
    return "";
}

void Planner::fates() {
    const auto& all = plan_.settings.peers;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        PeerFate f{PeerIndex{i}, all[i].m3ua.name, Fate::in_place, ""};
        const bool was = i < old_.peers.size() && !old_.peers[i].m3ua.retired;
        const bool is = !all[i].m3ua.retired;
        if (!was && !is) continue;
        if (was && is) f.why = why_reset(old_.peers[i], all[i]);
        const auto wire = other_wire_.find(i);
        if (f.why.empty() && wire != other_wire_.end())
            f.why = "application server '" + wire->second + "' changes on the wire";
        if (!was)
            f.fate = Fate::added;
        else if (!is)
            f.fate = Fate::removed;
        else if (!f.why.empty())
            f.fate = Fate::reset;
        else if (old_.peers[i] == all[i] && !of_changed_servers_.contains(i)) {
            ++plan_.unchanged;
            continue;
        }
        if (f.fate == Fate::in_place && old_.peers[i].profile != all[i].profile)
            f.why = "profile: for its next association";
        plan_.peers.push_back(std::move(f));
    }
}

}  // namespace

std::size_t ReloadPlan::ending() const {
    return static_cast<std::size_t>(std::count_if(
        peers.begin(), peers.end(),
        [](const PeerFate& f) { return f.fate == Fate::reset || f.fate == Fate::removed; }));
}

ReloadPlan plan_reload(const Settings& old, Settings next, const ReloadRoom& room) {
    return Planner(old, std::move(next), room).run();
}

ReloadRoom Node::reload_room() const {
    return shared_->room;
}

std::shared_ptr<const Settings> Node::settings_in_force() const {
    const std::lock_guard lock(shared_->statistics_mutex);
    return {shared_->plan, &shared_->plan->settings};
}

std::shared_ptr<const Plan> Node::make_plan(Settings settings) {
    std::shared_ptr<const Plan> before;
    {
        const std::lock_guard lock(shared_->statistics_mutex);
        before = shared_->plan;
    }
    auto plan =
        std::make_shared<const Plan>(std::move(settings), ++shared_->plans_made, before.get());
    return plan->counters_given <= shared_->room.routes ? plan : nullptr;
}

void Node::reload(std::shared_ptr<const Plan> plan, const std::vector<PeerFate>& fates, Time now) {
    Shared& s = *shared_;
    {
        const std::lock_guard lock(s.statistics_mutex);  // for settings_in_force()
        s.plan = std::move(plan);
    }
    const Settings& settings = s.settings();
    std::vector<sigtran::PeerSettings> peers;
    for (const PeerSettings& p : settings.peers) peers.push_back(p.m3ua);
    s.links.resize(settings.peers.size());
    s.reconnect_at.resize(settings.peers.size(), kNever);
    s.reconnect_wait.resize(settings.peers.size());
    s.gateway->reconfigure(peers, settings.servers, now);
    for (const PeerFate& f : fates) {
        const std::uint32_t p = f.peer.value;
        const bool connects = settings.peers[p].connect;
        const bool ends = f.fate == Fate::reset || f.fate == Fate::removed;
        if (!connects) s.reconnect_at[p] = kNever;
        if (connects && !s.links[p].up && f.fate != Fate::in_place) {
            s.reconnect_at[p] = now;
            s.reconnect_wait[p] = {};
        }
        if (ends) s.to_shut_down.push_back(f.peer);
    }
    s.links_changed = true;  // the next turn publishes
    s.statistics_due = now;
}

}  // namespace signalbox::core
