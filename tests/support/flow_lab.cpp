// SPDX-License-Identifier: Apache-2.0
#include "support/flow_lab.h"

#include <algorithm>

#include "base/bytes.h"

namespace signalbox::test {

Asp& FlowLab::source(PeerIndex peer, std::uint32_t routing_context) {
    Asp& asp = lab.start(peer);
    bring_up(lab, asp, routing_context);
    sources_.push_back({.asp = &asp, .routing_context = routing_context});
    return asp;
}

Asp& FlowLab::server(PeerIndex peer, std::uint32_t routing_context) {
    Asp& asp = lab.start(peer);
    servers_.push_back(&asp);
    bring_up(lab, asp, routing_context);
    return asp;
}

Asp& FlowLab::restart(PeerIndex peer, std::uint32_t routing_context, unsigned per_source,
                      std::optional<std::uint16_t> port) {
    Asp& asp = lab.start(peer, port);
    servers_.push_back(&asp);
    while (asp.association->state() != sctp::State::established) turn(per_source);
    lab.send(asp, StreamId{0}, m3ua::aspup(peer.value + 1));
    lab.send(asp, StreamId{0}, m3ua::aspac(routing_context));
    return asp;
}

void FlowLab::turn(unsigned per_source, Duration step) {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        Source& source = sources_[s];
        for (unsigned n = 0; n < per_source; ++n) {
            const std::uint8_t sls = source.next_sls;
            source.next_sls = static_cast<std::uint8_t>((sls + 1u) % sls_values_);
            std::array<std::uint8_t, 8> user{};
            user[0] = static_cast<std::uint8_t>(s);
            store_be32(user.data() + 4, source.next_number[sls]++);
            lab.send(*source.asp, StreamId{static_cast<std::uint16_t>(1 + sls % 8)},
                     m3ua::data(source.routing_context, 1000, dpc_, sls, user));
            ++sent;
        }
    }
    lab.turn(step);
    take_arrivals();
}

void FlowLab::take_arrivals() {
    for (Asp* asp : servers_) {
        for (const auto& message : asp->received)
            if (const auto d = m3ua::parse_data(message))
                arrivals.push_back(
                    {asp, lab.now, d->user[0], d->sls, load_be32(d->user.data() + 4)});
        asp->received.clear();
        asp->received_on.clear();
    }
}

void FlowLab::finish(Duration limit) {
    for (Duration t{}; t < limit; t += std::chrono::milliseconds{1}) {
        turn(0);
        if (t % std::chrono::milliseconds{100} == Duration{} && missing() == 0) return;
    }
}

std::size_t FlowLab::missing() const {
    std::vector<std::vector<bool>> seen(sources_.size() * 256);
    for (std::size_t s = 0; s < sources_.size(); ++s)
        for (std::size_t sls = 0; sls < 256; ++sls)
            seen[s * 256 + sls].resize(sources_[s].next_number[sls]);
    for (const Arrival& a : arrivals) seen[flow_of(a)][a.number] = true;
    std::size_t missing = 0;
    for (const auto& flow : seen)
        missing += static_cast<std::size_t>(std::count(flow.begin(), flow.end(), false));
    return missing;
}

bool FlowLab::was_told(std::uint8_t message_class, std::uint8_t type) const {
    for (const Source& source : sources_)
        for (const auto& m : source.asp->received)
            if (m3ua::is(m, message_class, type)) return true;
    return false;
}

std::size_t FlowLab::duplicates() const {
    return arrivals.size() + missing() - sent;
}

std::size_t FlowLab::out_of_order() const {
    // A message that comes a second time is none: `resend` may do that.
    std::vector<std::vector<bool>> seen(sources_.size() * 256);
    std::vector<std::int64_t> highest(sources_.size() * 256, -1);
    std::size_t wrong = 0;
    for (const Arrival& a : arrivals) {
        auto& flow = seen[flow_of(a)];
        if (flow.size() <= a.number) flow.resize(a.number + 1);
        if (a.number < highest[flow_of(a)] && !flow[a.number]) ++wrong;
        flow[a.number] = true;
        highest[flow_of(a)] = std::max<std::int64_t>(highest[flow_of(a)], a.number);
    }
    return wrong;
}

}  // namespace signalbox::test
