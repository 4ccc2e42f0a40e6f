// SPDX-License-Identifier: Apache-2.0
// M3UA in: the data path's judgement of DATA, and the gateway's management with every other
// message. First byte: bit 0 the peer, bit 1 stream 0 or 1, bit 2 all quirks, bit 3 data path (0)
// or management (1).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/counters.h"
#include "sigtran/signaling_gateway.h"
#include "sigtran/transfer.h"

using namespace signalbox;
using namespace signalbox::sigtran;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

Distribution two_servers() {
    Distribution d;
    for (std::uint32_t i = 0; i < 2; ++i) {
        AsView view{};
        view.state = AsState::active;
        view.routing_context = i + 1;
        view.serving.fill(PeerIndex{i});
        view.active = {PeerIndex{i}};
        d.servers.push_back(view);
    }
    d.servers.edit(1).network_appearance = 7;
    const Membership first{AsIndex{0}, 1, AspState::active};
    const Membership second{AsIndex{1}, 2, AspState::active};
    d.peers.push_back({true, {first}});
    d.peers.push_back({true, {first, second}});
    return d;
}

void fuzz_data(PeerIndex peer, const Quirks& quirks, StreamId stream,
               std::span<const std::uint8_t> message) {
    static const Distribution distribution = two_servers();
    Drop why{};
    const auto accepted = accept_data(distribution, peer, quirks, stream, message, why);
    if (!accepted) return require(static_cast<std::size_t>(why) < kDropCount);
    require(accepted->from_as.value < distribution.servers.size());
    const auto user = accepted->data.user_data;
    if (!user.empty()) {
        require(user.data() >= message.data());
        require(user.data() + user.size() <= message.data() + message.size());
    }
    // What goes out again is accepted by the other side, with the same user data.
    const AsView& to = distribution.servers[accepted->from_as.value];
    const DataHeader header = encode_data_header(to, accepted->data);
    require(header.length <= header.bytes.size() && header.trailer_length < 4);
    std::vector<std::uint8_t> out(header.bytes.begin(), header.bytes.begin() + header.length);
    out.insert(out.end(), user.begin(), user.end());
    out.insert(out.end(), header.trailer().begin(), header.trailer().end());
    const auto again = accept_data(distribution, PeerIndex{1}, quirks, StreamId{1}, out, why);
    require(again.has_value());
    require(std::equal(user.begin(), user.end(), again->data.user_data.begin(),
                       again->data.user_data.end()));
}

void fuzz_management(PeerIndex peer, const Quirks& quirks, StreamId stream,
                     std::span<const std::uint8_t> message) {
    std::vector<PeerSettings> peers(2);
    std::vector<AsSettings> servers(2);
    for (std::uint32_t i = 0; i < 2; ++i) {
        peers[i].name = "peer";
        peers[i].quirks = quirks;
        servers[i].name = "server";
        servers[i].routing_context = i + 1;
        servers[i].keys = {DestinationKey{PointCode{i + 1}, 0}};
        servers[i].members = {Member{PeerIndex{0}}, Member{PeerIndex{1}}};
    }
    Counters counters;
    SignalingGateway gateway{peers, servers, counters};
    const Time start{};
    gateway.association_up(peer, 16, start);
    // Twice: what the message leads to must survive its repetition.
    for (int i = 0; i < 2; ++i) gateway.receive(peer, stream, message, start);
    gateway.refuse_data(peer, stream, message, Drop::m3ua_malformed, start);
    for (const Outgoing& outgoing : gateway.take_outgoing()) require(!outgoing.bytes.empty());
    gateway.advance(start + std::chrono::seconds{10});
    (void)gateway.distribution();
    gateway.association_lost(peer, start + std::chrono::seconds{11});
    (void)gateway.take_changes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::vector<std::uint8_t> message(data + 1, data + size);
    const PeerIndex peer{data[0] & 1u};
    const StreamId stream{static_cast<std::uint16_t>((data[0] >> 1) & 1)};
    const bool odd = (data[0] & 4) != 0;
    const Quirks quirks{odd, odd, odd, odd, odd, odd};
    if ((data[0] & 8) == 0)
        fuzz_data(peer, quirks, stream, message);
    else
        fuzz_management(peer, quirks, stream, message);
    return 0;
}
