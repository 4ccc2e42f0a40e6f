// SPDX-License-Identifier: Apache-2.0
// Who may connect: configured peer addresses per listener, and which listener owns a local port and
// address. Built once by the control thread; read by workers without allocation.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ip_address.h"
#include "base/numbers.h"
#include "core/settings.h"

namespace signalbox::core {

class AccessList {
 public:
    explicit AccessList(const Settings& settings);

    /// The listener that serves this port on this local address.
    std::optional<std::uint16_t> listener(std::uint16_t port, const IpAddress& local) const;
    /// The configured peer with this address on this listener (PATH-7: at most one), kNoPeer when
    /// there is none.
    PeerIndex peer(std::uint16_t listener, const IpAddress& remote,
                   std::uint16_t remote_port) const;
    /// An address that one of our listeners has: no packet of another's comes from there.
    bool ours(const IpAddress& address) const;
    /// A configured peer on any listener: worth an answer out of the blue.
    bool knows(const IpAddress& remote) const;
    /// True when an association may be opened from there: a configured peer that is not shut down,
    /// or accept: any.
    bool admits(std::uint16_t listener, PeerIndex peer) const;

 private:
    struct AddressHash {
        std::size_t operator()(const IpAddress& a) const;
    };
    const Settings& settings_;
    std::vector<std::unordered_map<IpAddress, PeerIndex, AddressHash>> peers_;  // by listener
};

}  // namespace signalbox::core
