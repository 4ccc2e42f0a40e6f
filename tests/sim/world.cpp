// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "wire/chunk_types.h"
#include "wire/sctp_header.h"

namespace signalbox::sim {

namespace {

constexpr std::uint16_t kStreams = 40;  // inline ones and paged ones

/// A message says who it is: stream, unordered, number, then bytes that follow from them.
std::vector<std::uint8_t> make_message(std::uint16_t stream, bool unordered, std::uint32_t number,
                                       std::size_t bytes) {
    std::vector<std::uint8_t> m(std::max<std::size_t>(bytes, 8));
    store_be16(m.data(), stream);
    m[2] = unordered;
    m[3] = 0x5b;
    store_be32(m.data() + 4, number);
    for (std::size_t i = 8; i < m.size(); ++i) m[i] = static_cast<std::uint8_t>(number + i);
    return m;
}

}  // namespace

World::World(std::uint64_t seed, const Impairment& i, const sctp::Profile& p, unsigned paths)
    : impairment(i), profile(p), dice_(seed), tags_(dice_), scratch_(sctp::kMaxMessageBytes) {
    for (unsigned path = 0; path < paths; ++path) {
        a.addresses.push_back(IpAddress::v4(0x0a4d0001 + (path << 8)));
        z.addresses.push_back(IpAddress::v4(0x0a4d0002 + (path << 8)));
    }
    a.port = 5001;
    z.port = 2905;
    for (Endpoint* e : {&a, &z}) {
        e->blocks = std::make_unique<mem::BlockPool>(e->pages);
        e->random = std::make_unique<RandomSource>(dice_.u64());
        e->cookies = std::make_unique<sctp::CookieKeys>(*e->random, 0);
    }
}

World::~World() {
    for (Endpoint* e : {&a, &z}) {
        if (!e->association) continue;
        sctp::Environment env = environment(*e);
        while (!e->association->release(env, 1000)) {
        }
    }
}

sctp::Environment World::environment(Endpoint& e) {
    return {.now = now,
            .profile = profile,
            .local_addresses = e.addresses,
            .pages = e.pages,
            .blocks = *e.blocks,
            .random = *e.random,
            .tags = tags_,
            .cookies = *e.cookies,
            .counters = e.counters,
            .scratch = scratch_};
}

bool World::connect(Duration limit) {
    a.association = std::make_unique<sctp::Association>();
    sctp::Environment env = environment(a);
    if (!a.association->connect(env, z.addresses, a.port, z.port)) return false;
    settle(a);
    const Time end = now + limit;
    const auto up = [](const Endpoint& e) {
        return e.association && e.association->state() == sctp::State::established;
    };
    while (now < end && !(up(a) && up(z)) && broken_.empty() && !a.ended())
        if (!step(end)) break;
    return up(a) && up(z);
}

bool World::send_random(Endpoint& from, std::size_t max_bytes) {
    const bool unordered = dice_.below(8) == 0;
    const std::uint16_t streams =
        std::min<std::uint16_t>(kStreams, from.association->streams_out());
    const auto stream = static_cast<std::uint16_t>(dice_.below(streams));
    const std::uint32_t number = unordered ? from.unordered_sent : from.next_ordered[stream];
    const auto message = make_message(stream, unordered, number, 1 + dice_.below(max_bytes));
    const std::span<const std::uint8_t> pieces[] = {message};
    sctp::Environment env = environment(from);
    const auto status = from.association->send(env, StreamId{stream}, Ppid{3}, unordered, pieces);
    if (status != sctp::SendStatus::ok) return false;
    ++from.accepted;
    if (unordered)
        ++from.unordered_sent;
    else
        ++from.next_ordered[stream];
    settle(from);
    return true;
}

void World::took(Endpoint& e, const sctp::Message& m) {
    if (m.data.size() < 8 || m.data[3] != 0x5b) return fail("a message that nobody sent");
    const std::uint16_t stream = load_be16(m.data.data());
    const bool unordered = m.data[2] != 0;
    const std::uint32_t number = load_be32(m.data.data() + 4);
    const auto whole = make_message(stream, unordered, number, m.data.size());
    if (!std::equal(whole.begin(), whole.end(), m.data.begin(), m.data.end()))
        return fail("corrupt message");
    if (stream != m.stream.value || unordered != m.unordered)
        return fail("message on another stream");
    if (unordered) {
        if (e.unordered_seen[number]) return fail("unordered message delivered twice");
        e.unordered_seen[number] = true;
    } else if (e.expected[stream]++ != number) {
        return fail("stream " + std::to_string(stream) + ": " + std::to_string(number) +
                    " out of order");
    }
    ++e.delivered;
}

void World::to_association(Endpoint& e, const sctp::Packet& packet) {
    sctp::Environment env = environment(e);
    effects_.clear();
    e.association->receive(env, packet, effects_);
    for (const auto& event : effects_.happened()) e.events.push_back(event);
    for (const sctp::Message& m : effects_.delivered()) {
        // A user that is sometimes busy: it holds the message, and takes it in order later.
        if (dice_.below(16) != 0 && e.association->ready_bytes() == 0)
            took(e, m);
        else if (!e.association->hold(env, m))
            fail("hold() refused with memory at hand");
    }
}

void World::arrive(const Flight& flight) {
    Endpoint& e = flight.to_a ? a : z;
    const auto parsed = wire::parse_ip(flight.bytes);
    const auto* ip = std::get_if<wire::IpPacket>(&parsed);
    if (ip == nullptr || !sctp_checksum_ok(ip->payload))
        return fail("an endpoint sent a packet that does not parse");
    const auto view = wire::parse_sctp_packet(ip->payload);
    if (!view) return fail("an endpoint sent a packet without a chunk");
    const sctp::Packet packet{.source = ip->source,
                              .destination = ip->destination,
                              .source_port = view->header.source_port,
                              .destination_port = view->header.destination_port,
                              .tag = view->header.tag,
                              .chunks = view->chunks};
    if (e.association) {
        if (!e.ended()) to_association(e, packet);
        return settle(e);
    }
    sctp::Environment env = environment(e);
    if (packet.chunks[0] == static_cast<std::uint8_t>(wire::ChunkType::init)) {
        sctp::answer_init(env, packet, e.sink);
    } else if (const auto cookie = sctp::first_cookie(packet); !cookie.empty()) {
        sctp::CookieContents contents;
        if (e.cookies->open(cookie, packet, now, contents) == sctp::CookieVerdict::good) {
            e.association = std::make_unique<sctp::Association>();
            if (!e.association->accept(env, contents))
                return fail("accept() refused with memory at hand");
            to_association(e, packet);
        }
    } else {
        sctp::answer_out_of_the_blue(env, packet, e.sink);
    }
    settle(e);
}

/// Everything ready is taken, everything that may be sent is sent, and the association is
/// consistent.
void World::settle(Endpoint& e) {
    if (e.association) {
        sctp::Environment env = environment(e);
        while (const auto m = e.association->front_ready(env)) {
            took(e, *m);
            e.association->pop_ready(env);
        }
        while (e.association->flush(env, e.sink)) {
        }
        if (!e.association->is_consistent()) fail("inconsistent");
    }
    transmit(e);
}

void World::transmit(Endpoint& from) {
    std::vector<test::IpBytes> packets;
    packets.swap(from.sink.packets);
    for (test::IpBytes& p : packets) {
        const bool to_a = &from == &z;
        const unsigned copies = dice_.below(100) < impairment.duplicate_percent ? 2 : 1;
        for (unsigned c = 0; c < copies; ++c) {
            if (dice_.below(100) < impairment.loss_percent) {
                ++lost_packets;
                continue;
            }
            Duration delay =
                impairment.delay +
                Duration(dice_.below(static_cast<std::uint64_t>(impairment.jitter.count()) + 1));
            if (dice_.below(100) < impairment.reorder_percent)
                delay += Duration(dice_.below(static_cast<std::uint64_t>(Duration(30ms).count())));
            in_flight_.emplace(now + delay, Flight{to_a, p});
        }
    }
}

bool World::step(Time limit) {
    Time next = in_flight_.empty() ? kNever : in_flight_.begin()->first;
    for (Endpoint* e : {&a, &z})
        if (e->association && !e->ended()) next = std::min(next, e->association->next_deadline());
    if (next > limit) {
        now = limit;
        return false;
    }
    now = std::max(now, next);
    while (!in_flight_.empty() && in_flight_.begin()->first <= now) {
        const Flight flight = std::move(in_flight_.begin()->second);
        in_flight_.erase(in_flight_.begin());
        arrive(flight);
    }
    for (Endpoint* e : {&a, &z}) {
        if (!e->association || e->ended() || e->association->next_deadline() > now) continue;
        sctp::Environment env = environment(*e);
        effects_.clear();
        e->association->advance(env, effects_);
        for (const auto& event : effects_.happened()) e->events.push_back(event);
        settle(*e);
        if (!e->ended() && e->association->next_deadline() <= now)
            fail("a timer that expires without end");
    }
    return broken_.empty();
}

void World::run(Duration how_long) {
    const Time end = now + how_long;
    while (now < end && step(end)) {
    }
}

bool World::run_until_delivered(Duration limit) {
    const Time end = now + limit;
    const auto all = [&] { return z.delivered == a.accepted && a.delivered == z.accepted; };
    while (!all() && now < end && broken_.empty() && !a.ended() && !z.ended())
        if (!step(end)) break;
    return all();
}

}  // namespace signalbox::sim
