// SPDX-License-Identifier: Apache-2.0
// Application servers: their keys and members (RFC 4666 1.4.2, 3.5.1).
#include <algorithm>
#include <set>
#include <tuple>

#include "config/loader.h"

namespace signalbox::config {
namespace {

std::optional<std::uint32_t> number_if_given(const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    if (found == nullptr) return std::nullopt;
    return static_cast<std::uint32_t>(found->number);
}

Place place_of(const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    return found != nullptr ? found->place : node.place;
}

}  // namespace

void Loader::load_servers(const Node& root) {
    std::vector<const Node*> nodes;
    for (const Node& node : root.children_of("application_servers")) {
        if (!node.good) continue;
        servers_.add_entry(node, errors_);
        out_.core.servers.push_back(load_server(node));
        nodes.push_back(&node);
    }
    join_templates();
    check_contexts(nodes);
    check_members(nodes);
}

sigtran::AsSettings Loader::load_server(const Node& node) {
    sigtran::AsSettings server;
    server.name = node.text_of("name");
    server.routing_context = number_if_given(node, "routing_context");
    server.network_appearance = number_if_given(node, "network_appearance");
    server.mode = static_cast<sigtran::TrafficMode>(node.number_of("mode") + 1);
    server.required_active = static_cast<std::uint16_t>(node.number_of("required_active"));
    if (const Node* recovery = node.find("recovery")) {
        server.recovery_timer = Duration{recovery->number_of("timer")};
        server.recovery_queue_messages =
            static_cast<std::uint32_t>(recovery->number_of("queue_messages"));
        server.recovery_queue_bytes =
            static_cast<std::uint32_t>(recovery->number_of("queue_bytes"));
        server.on_loss = static_cast<sigtran::OnLoss>(recovery->number_of("on_loss"));
    }
    if (const auto instance = instances_.find(node.find("instance"), errors_)) {
        server.instance = static_cast<std::uint16_t>(*instance);
        server.sls_bits = out_.core.instances[*instance].sls_bits;
        load_keys(node, server);
    }
    load_members(node, server);
    return server;
}

void Loader::load_members(const Node& node, sigtran::AsSettings& server) {
    std::set<std::size_t> known;
    for (const Node& item : node.children_of("members")) {
        if (!item.good) continue;
        const auto peer = peers_.find(item.find("peer"), errors_);
        if (!peer) continue;
        if (!known.insert(*peer).second) {
            errors_.add(place_of(item, "peer"),
                        "peer: '" + item.text_of("peer") + "' is named twice");
            continue;
        }
        server.members.push_back({PeerIndex{static_cast<std::uint32_t>(*peer)},
                                  static_cast<std::uint16_t>(item.number_of("weight", 1))});
    }
}

void Loader::join_templates() {
    for (const TemplateMembers& members : templates_) {
        for (const Node& reference : members.node->children_of("application_servers")) {
            if (!reference.good) continue;
            const auto index = servers_.find(&reference, errors_);
            if (!index) continue;
            sigtran::AsSettings& server = out_.core.servers[*index];
            std::set<std::uint32_t> known;
            for (const sigtran::Member& member : server.members) known.insert(member.peer.value);
            for (std::size_t i = 0; i < members.count; ++i) {
                const PeerIndex peer{static_cast<std::uint32_t>(members.first + i)};
                if (known.insert(peer.value).second) server.members.push_back({peer, 1});
            }
        }
    }
}

/// sigtran.md 5: one routing context per instance and network appearance names one application
/// server.
void Loader::check_contexts(const std::vector<const Node*>& nodes) {
    using Context = std::tuple<std::uint16_t, std::optional<std::uint32_t>, std::uint32_t>;
    std::map<Context, std::string> known;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const sigtran::AsSettings& server = out_.core.servers[i];
        if (!server.routing_context || nodes[i]->find("instance") == nullptr) continue;
        const Context context{server.instance, server.network_appearance, *server.routing_context};
        const auto [owner, fresh] = known.emplace(context, server.name);
        if (!fresh)
            errors_.add(place_of(*nodes[i], "routing_context"),
                        "routing_context: " + std::to_string(*server.routing_context) +
                            " already belongs to application server '" + owner->second + "'");
    }
}

void Loader::check_members(const std::vector<const Node*>& nodes) {
    std::vector<std::size_t> servers_of_peer(out_.core.peers.size());
    for (const sigtran::AsSettings& server : out_.core.servers)
        for (const sigtran::Member& member : server.members) ++servers_of_peer[member.peer.value];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const sigtran::AsSettings& server = out_.core.servers[i];
        const std::size_t members = server.members.size();
        if (members > 0 && server.required_active > members)
            errors_.add(place_of(*nodes[i], "required_active"),
                        "required_active: " + std::to_string(server.required_active) + " of " +
                            std::to_string(members) + " members");
        const auto serves_more = [&](const sigtran::Member& m) {
            return servers_of_peer[m.peer.value] > 1;
        };
        const auto found = std::find_if(server.members.begin(), server.members.end(), serves_more);
        // Without it the peer could not say which one it means (RFC 4666 3.3.1).
        if (!server.routing_context && found != server.members.end())
            errors_.add(nodes[i]->place,
                        "missing key 'routing_context' in application_servers: peer '" +
                            out_.core.peers[found->peer.value].m3ua.name +
                            "' serves another one too");
        check_asp_ids(*nodes[i], server);
    }
}

/// RFC 4666 3.5.1: the identifier is unique among the ASPs that support an application server.
void Loader::check_asp_ids(const Node& node, const sigtran::AsSettings& server) {
    std::map<std::uint32_t, std::string> known;
    for (const sigtran::Member& member : server.members) {
        const sigtran::PeerSettings& peer = out_.core.peers[member.peer.value].m3ua;
        if (!peer.asp_id) continue;
        const auto [owner, fresh] = known.emplace(*peer.asp_id, peer.name);
        if (fresh || owner->second == peer.name) continue;
        Place place = node.place;
        for (const Node& item : node.children_of("members"))
            if (item.text_of("peer") == peer.name) place = place_of(item, "peer");
        errors_.add(place, "peer: asp_id " + std::to_string(*peer.asp_id) + " of '" + peer.name +
                               "' is also that of '" + owner->second + "'");
    }
}

}  // namespace signalbox::config
