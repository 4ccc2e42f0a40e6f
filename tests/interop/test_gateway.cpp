// SPDX-License-Identifier: Apache-2.0
#include "test_gateway.h"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>

#include "m3ua.h"
#include "sctp_socket.h"

namespace interop {
namespace {

using m3ua::Kind;
using m3ua::Tag;

struct Peer {
    explicit Peer(SctpSocket::Handle accepted) : association(accepted) {}
    SctpSocket association;
    bool active = false;
    std::optional<std::uint32_t> routing_context;
};

// Two associations: what one sends goes to the other.
struct Gateway {
    std::string fault;
    std::atomic<unsigned> relayed{0};
    std::optional<m3ua::Bytes> held;  // one thread relays where there is a fault
    std::mutex mutex;
    std::vector<std::shared_ptr<Peer>> peers;

    std::shared_ptr<Peer> other_active(const Peer& from) {
        const std::lock_guard lock(mutex);
        for (const auto& peer : peers)
            if (peer.get() != &from && peer->active) return peer;
        return nullptr;
    }
};

void answer(Peer& peer, Kind kind, std::vector<m3ua::Parameter> parameters) {
    peer.association.send(m3ua::encode({kind, std::move(parameters)}), 0);
}

// The one message that suffers: late enough for traffic to flow, and its like follows on the same
// SLS.
constexpr unsigned kVictim = 1000;
constexpr unsigned kSlsMax = 256;

void relay(Gateway& gateway, const Peer& from, const m3ua::Message& message) {
    const auto to = gateway.other_active(from);
    const auto data = m3ua::protocol_data(message);
    if (!to || !data) return;
    const auto stream =
        static_cast<std::uint16_t>(1 + data->sls % (to->association.outgoing_streams() - 1U));
    m3ua::Bytes bytes = m3ua::encode_data(to->routing_context, *data);
    if (!gateway.fault.empty() && ++gateway.relayed == kVictim) {
        if (gateway.fault == "drop") return;
        if (gateway.fault == "duplicate") to->association.send(bytes, stream);
        if (gateway.fault == "corrupt") bytes.back() ^= 1;
        if (gateway.fault == "swap") {
            gateway.held = bytes;
            return;
        }
    }
    to->association.send(bytes, stream);
    if (gateway.held && gateway.relayed == kVictim + kSlsMax) {
        to->association.send(*gateway.held, stream);
        gateway.held.reset();
    }
}

void on_message(Gateway& gateway, Peer& peer, const m3ua::Message& message) {
    switch (message.kind) {
        case Kind::aspup:
            answer(peer, Kind::aspup_ack, {});
            answer(peer, Kind::ntfy, {m3ua::parameter(Tag::status, m3ua::kAsInactive)});
            break;
        case Kind::aspac: {
            const std::lock_guard lock(gateway.mutex);
            peer.routing_context = message.number(Tag::routing_context);
            peer.active = true;
            answer(peer, Kind::aspac_ack, message.parameters);
            answer(peer, Kind::ntfy, {m3ua::parameter(Tag::status, m3ua::kAsActive)});
            break;
        }
        case Kind::aspia: {
            const std::lock_guard lock(gateway.mutex);
            peer.active = false;
            answer(peer, Kind::aspia_ack, message.parameters);
            break;
        }
        case Kind::aspdn:
            answer(peer, Kind::aspdn_ack, {});
            break;
        case Kind::daud:
            answer(peer, gateway.other_active(peer) ? Kind::dava : Kind::duna, message.parameters);
            break;
        case Kind::data:
            relay(gateway, peer, message);
            break;
        default:
            break;
    }
}

void serve(Gateway& gateway, const std::shared_ptr<Peer>& peer) {
    for (;;) {
        const Received received = peer->association.receive();
        if (received.what == Received::What::ended) return;
        if (received.what != Received::What::message) continue;
        if (const auto message = m3ua::decode(received.bytes)) on_message(gateway, *peer, *message);
    }
}

}  // namespace

int run_test_gateway(const Options& options, const volatile std::atomic<bool>& stop) {
    static Gateway gateway;  // threads that still block in the stack at the end may look at it
    gateway.fault = options.fault;
    auto* const listener = new SctpSocket(options.local, options.port, options.streams);
    if (!listener->listen()) return 1;
    std::thread([listener] {
        for (;;) {
            const auto accepted = listener->accept();
            if (!accepted) return;
            const auto peer = std::make_shared<Peer>(*accepted);
            {
                const std::lock_guard lock(gateway.mutex);
                gateway.peers.push_back(peer);
            }
            std::thread([peer] { serve(gateway, peer); }).detach();
        }
    }).detach();
    while (!stop) usleep(10000);
    return 0;
}

}  // namespace interop
