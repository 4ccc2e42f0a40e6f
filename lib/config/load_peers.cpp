// SPDX-License-Identifier: Apache-2.0
// Peers, one by one and from templates.
#include <algorithm>

#include "config/loader.h"
#include "config/scalars.h"

namespace signalbox::config {
namespace {

constexpr std::size_t kMaxPeersInAll = 65536;
constexpr std::uint16_t kM3uaPort = 2905;  // RFC 4666 8.2: registered for M3UA
constexpr std::string_view kCounter = "{n}";

/// In the order of the words of key `quirks`.
constexpr bool sigtran::Quirks::*kQuirks[] = {
    &sigtran::Quirks::etsi_rc_error,   &sigtran::Quirks::no_notify,
    &sigtran::Quirks::snm_in_inactive, &sigtran::Quirks::data_on_stream_0,
    &sigtran::Quirks::daud_in_asp,     &sigtran::Quirks::ppid_any};

/// False: the address space of the family ends.
bool advance(IpAddress& address) {
    const bool v4 = address.is_v4();
    for (std::size_t i = address.bytes.size(); i-- > (v4 ? 12u : 0u);)
        if (++address.bytes[i] != 0) return true;
    return false;
}

}  // namespace

std::uint16_t Loader::profile_of(const Node& node) {
    return static_cast<std::uint16_t>(profiles_.find(node.find("profile"), errors_).value_or(0));
}

core::PeerSettings Loader::common(const Node& node) {
    core::PeerSettings peer;
    peer.m3ua.admin = static_cast<sigtran::Admin>(node.number_of("admin"));
    for (const Node& quirk : node.children_of("quirks"))
        if (quirk.good) peer.m3ua.quirks.*kQuirks[quirk.number] = true;
    peer.m3ua.beat_interval = Duration{node.number_of("beat_interval")};
    peer.connect = node.number_of("connect") != 0;
    peer.profile = profile_of(node);
    const Node* port = node.find("remote_port");
    if (port != nullptr && !port->is_word)
        peer.remote_port = static_cast<std::uint16_t>(port->number);
    if (port != nullptr && port->is_word && peer.connect) {
        if (port->given)
            errors_.add(port->place, "remote_port: a peer that we connect to needs a number");
        peer.remote_port = kM3uaPort;
    }
    if (const Node* limits = node.find("limits"))
        if (const Node* rate = limits->find("messages_per_second"))
            peer.messages_per_second = static_cast<std::uint32_t>(rate->number);
    if (const auto listener = listeners_.find(node.find("listener"), errors_)) {
        peer.listener = static_cast<std::uint16_t>(*listener);
        const auto& profile = out_.core.profiles[peer.profile];
        const Node* named = node.find("profile");
        if (out_.core.listeners[*listener].accept == core::Accept::any && named != nullptr &&
            profile.values.rto_backoff == sctp::Backoff::linear)
            errors_.add(named->place, "profile: '" + profile.name +
                                          "' has rto_backoff: linear (closed " +
                                          "networks only), the listener accepts any");
    }
    return peer;
}

/// PATH-7: an address belongs to at most one peer per local port. False: an error was reported.
bool Loader::claim_address(core::PeerSettings& peer, const IpAddress& address, Place place) {
    peer.addresses.push_back(address);
    if (!address.is_usable_unicast() || address.is_loopback()) {
        errors_.add(place, address.text() + " cannot be a peer's address");
        return false;
    }
    for (const io::PortSettings& port : out_.io.ports)
        for (const io::InterfaceAddress& own : port.addresses)
            if (own.address == address) {
                errors_.add(place,
                            address.text() + " is our own address, on port '" + port.name + "'");
                return false;
            }
    if (out_.core.listeners.empty()) return true;
    const core::ListenerSettings& listener = out_.core.listeners[peer.listener];
    const auto is_of_family = [&](const IpAddress& own) { return own.is_v4() == address.is_v4(); };
    if (!listener.addresses.empty() &&
        std::none_of(listener.addresses.begin(), listener.addresses.end(), is_of_family)) {
        errors_.add(place, address.text() + ": listener '" + listener.name +
                               "' has no address of its family");
        return false;
    }
    const auto [known, fresh] =
        peer_of_address_.emplace(std::pair{listener.port, address}, out_.core.peers.size());
    if (fresh) return true;
    const std::string owner = known->second == out_.core.peers.size()
                                  ? "is named twice"
                                  : "already belongs to peer '" +
                                        out_.core.peers[known->second].m3ua.name + "' on port " +
                                        std::to_string(listener.port);
    errors_.add(place, address.text() + " " + owner);
    return false;
}

void Loader::load_peer(const Node& node) {
    peers_.add_entry(node, errors_);
    core::PeerSettings peer = common(node);
    peer.m3ua.name = node.text_of("name");
    if (const Node* id = node.find("asp_id"))
        peer.m3ua.asp_id = static_cast<std::uint32_t>(id->number);
    for (const Node& item : node.children_of("addresses"))
        if (const auto address = IpAddress::parse(item.text); address && item.good)
            claim_address(peer, *address, item.place);
    if (!node.children_of("application_servers").empty())
        templates_.push_back({&node, out_.core.peers.size(), 1});
    out_.core.peers.push_back(std::move(peer));
}

/// After a first clash the template's other peers are taken without a word: one error says it.
void Loader::load_template(const Node& node) {
    const core::PeerSettings pattern = common(node);
    const Node* name = node.find("name");
    const Node* count = node.find("count");
    const Node* first = node.find("first_address");
    if (name == nullptr || count == nullptr || first == nullptr) return peers_.mark_incomplete();
    const std::size_t at = name->text.find(kCounter);
    if (at == std::string::npos) {
        peers_.mark_incomplete();
        return errors_.add(name->place, "name: '" + name->text + "' has no {n}");
    }
    const auto number = static_cast<std::size_t>(count->number);
    if (out_.core.peers.size() + number > kMaxPeersInAll) {
        peers_.mark_incomplete();
        return errors_.add(count->place,
                           "count: more than " + std::to_string(kMaxPeersInAll) + " peers in all");
    }
    templates_.push_back({&node, out_.core.peers.size(), number});
    IpAddress address = IpAddress::parse(first->text).value_or(IpAddress{});
    bool good = true;
    for (std::size_t n = 0; n < number; ++n) {
        core::PeerSettings peer = pattern;
        peer.m3ua.name = name->text;
        peer.m3ua.name.replace(at, kCounter.size(), std::to_string(n));
        good = good && peers_.add(peer.m3ua.name, name->place, errors_) &&
               claim_address(peer, address, first->place);
        if (good && n + 1 < number && !advance(address)) {
            errors_.add(first->place,
                        "first_address: no address is left for peer " + std::to_string(n + 1));
            good = false;
        }
        out_.core.peers.push_back(std::move(peer));  // even then: the name has its index
        if (!good) {
            templates_.pop_back();
            return peers_.mark_incomplete();
        }
    }
}

void Loader::load_peers(const Node& root) {
    peers_.begin(root.find("peers"));
    peers_.begin(root.find("peer_templates"));
    for (const Node& node : root.children_of("peers"))
        if (node.good) load_peer(node);
    for (const Node& node : root.children_of("peer_templates"))
        if (node.good) load_template(node);
}

}  // namespace signalbox::config
