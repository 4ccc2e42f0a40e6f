// SPDX-License-Identifier: Apache-2.0
#include "core/access_list.h"

#include <algorithm>

#include "base/bytes.h"

namespace signalbox::core {

std::size_t AccessList::AddressHash::operator()(const IpAddress& a) const {
    // The set of keys is the configuration's, so a stranger cannot lengthen a chain.
    return (load_be64(a.bytes.data()) ^ load_be64(a.bytes.data() + 8)) * 0x9e3779b97f4a7c15u;
}

AccessList::AccessList(const Settings& settings)
    : settings_(settings), peers_(settings.listeners.size()) {
    for (std::uint32_t i = 0; i < settings.peers.size(); ++i)
        for (const IpAddress& address : settings.peers[i].addresses)
            peers_[settings.peers[i].listener].emplace(address, PeerIndex{i});
}

std::optional<std::uint16_t> AccessList::listener(std::uint16_t port,
                                                  const IpAddress& local) const {
    for (std::uint16_t i = 0; i < settings_.listeners.size(); ++i) {
        const ListenerSettings& l = settings_.listeners[i];
        if (l.port == port &&
            std::find(l.addresses.begin(), l.addresses.end(), local) != l.addresses.end())
            return i;
    }
    return std::nullopt;
}

PeerIndex AccessList::peer(std::uint16_t listener, const IpAddress& remote,
                           std::uint16_t remote_port) const {
    const auto found = peers_[listener].find(remote);
    if (found == peers_[listener].end()) return kNoPeer;
    const PeerSettings& peer = settings_.peers[found->second.value];
    if (peer.remote_port && *peer.remote_port != remote_port) return kNoPeer;
    return found->second;
}

bool AccessList::ours(const IpAddress& address) const {
    return std::any_of(
        settings_.listeners.begin(), settings_.listeners.end(), [&](const ListenerSettings& l) {
            return std::find(l.addresses.begin(), l.addresses.end(), address) != l.addresses.end();
        });
}

bool AccessList::knows(const IpAddress& remote) const {
    return std::any_of(peers_.begin(), peers_.end(),
                       [&](const auto& of_listener) { return of_listener.contains(remote); });
}

bool AccessList::admits(std::uint16_t listener, PeerIndex peer) const {
    if (peer == kNoPeer) return settings_.listeners[listener].accept == Accept::any;
    return settings_.peers[peer.value].m3ua.admin != sigtran::Admin::shutdown;
}

}  // namespace signalbox::core
