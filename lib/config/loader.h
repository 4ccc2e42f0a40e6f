// SPDX-License-Identifier: Apache-2.0
// From a checked document to settings: what one key alone cannot tell is checked here (references,
// clashes, sums).
#pragma once
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "config/document.h"
#include "config/errors.h"
#include "config/names.h"

namespace signalbox::config {

class Loader {
 public:
    explicit Loader(Errors& errors) : errors_(errors) {}
    Configuration load(const Node& root);

 private:
    // load_ports.cpp
    void load_machine(const Node& root);
    void load_ports(const Node& root);
    void load_port(const Node& node);
    void check_device(const Node& node, io::Driver driver);
    void load_port_addresses(const Node& node, io::PortSettings& port);
    void load_port_routes(const Node& node, io::PortSettings& port);
    // load_profiles.cpp
    void load_profiles(const Node& root);
    sctp::Profile load_profile(const Node& node);
    void set_path_mtu(const Node& node, sctp::Profile& profile) const;
    // load_listeners.cpp
    void load_listeners(const Node& root);
    core::ListenerSettings load_listener(const Node& node);
    void default_addresses(const Node& node, core::ListenerSettings& listener);
    void claim_endpoints(const Node& node, const core::ListenerSettings& listener);
    void load_instances(const Node& root);
    mtp3::Instance load_instance(const Node& node);
    void load_node(const Node& root);
    // load_peers.cpp
    void load_peers(const Node& root);
    void load_peer(const Node& node);
    void load_template(const Node& node);
    core::PeerSettings common(const Node& node);
    bool claim_address(core::PeerSettings& peer, const IpAddress& address, Place place);
    std::uint16_t profile_of(const Node& node);
    // load_servers.cpp
    void load_servers(const Node& root);
    sigtran::AsSettings load_server(const Node& node);
    // load_routing.cpp
    void load_keys(const Node& node, sigtran::AsSettings& server);
    std::optional<sigtran::DestinationKey> load_key(const Node& item, const mtp3::Instance& in);
    void load_match(const Node& item, const mtp3::Instance& in, sigtran::DestinationKey& key);
    std::optional<PointCode> point_code(const Node& item, std::string_view key,
                                        const mtp3::Instance& in);
    std::uint8_t mask_of(const Node& item, std::string_view key, const mtp3::Instance& in);
    void load_routes(const Node& root);
    void load_screening(const Node& root);
    core::ScreeningRule load_rule(const Node& item);
    void load_members(const Node& node, sigtran::AsSettings& server);
    void join_templates();
    void check_contexts(const std::vector<const Node*>& nodes);
    void check_members(const std::vector<const Node*>& nodes);
    void check_asp_ids(const Node& node, const sigtran::AsSettings& server);

    struct TemplateMembers {  // peers first .. first + count serve what the entry names
        const Node* node;
        std::size_t first;
        std::size_t count;
    };

    Errors& errors_;
    Configuration out_;
    Names ports_{"port"};
    Names profiles_{"profile"};
    Names listeners_{"listener"};
    Names instances_{"instance"};
    Names peers_{"peer"};
    Names servers_{"application server"};
    std::map<std::pair<std::uint16_t, IpAddress>, std::size_t>
        peer_of_address_;  // by listener's port
    std::map<std::pair<std::uint16_t, IpAddress>, std::string> listener_of_endpoint_;
    std::map<std::pair<io::Driver, std::string>, Place> place_of_device_;
    /// By instance, mask and compared bits: who has which further fields.
    std::map<std::tuple<std::uint16_t, std::uint8_t, std::uint32_t>,
             std::vector<std::pair<sigtran::KeyFields, std::string>>>
        server_of_key_;
    std::vector<TemplateMembers> templates_;
};

}  // namespace signalbox::config
