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

constexpr std::uint8_t kReliable = 0x5b;
constexpr std::uint8_t kLimited = 0x5c;

/// A message says who it is: stream, unordered, number, then bytes that follow from them.
std::vector<std::uint8_t> make_message(std::uint16_t stream, bool unordered, std::uint32_t number,
                                       std::size_t bytes, bool limited = false) {
    std::vector<std::uint8_t> m(std::max<std::size_t>(bytes, 8));
    store_be16(m.data(), stream);
    m[2] = unordered;
    m[3] = limited ? kLimited : kReliable;
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

bool World::send_random(Endpoint& from, std::size_t max_bytes, sctp::Reliability limits) {
    const bool unordered = dice_.below(8) == 0;
    const std::uint16_t streams =
        std::min<std::uint16_t>(kStreams, from.association->streams_out());
    const auto stream = static_cast<std::uint16_t>(dice_.below(streams));
    const std::uint32_t number = unordered ? from.unordered_sent : from.next_ordered[stream];
    const auto message =
        make_message(stream, unordered, number, 1 + dice_.below(max_bytes), limits.limited());
    const std::span<const std::uint8_t> pieces[] = {message};
    sctp::Environment env = environment(from);
    const auto status =
        from.association->send(env, StreamId{stream}, Ppid{3}, unordered, pieces, limits);
    if (status != sctp::SendStatus::ok) return false;
    ++from.accepted;
    from.limited_sent += limits.limited();
    if (unordered)
        ++from.unordered_sent;
    else
        ++from.next_ordered[stream];
    settle(from);
    return true;
}

void World::took(Endpoint& e, const sctp::Message& m) {
    if (m.data.size() < 8 || (m.data[3] != kReliable && m.data[3] != kLimited))
        return fail("a message that nobody sent");
    const std::uint16_t stream = load_be16(m.data.data());
    const bool unordered = m.data[2] != 0;
    const std::uint32_t number = load_be32(m.data.data() + 4);
    const auto whole =
        make_message(stream, unordered, number, m.data.size(), m.data[3] == kLimited);
    if (!std::equal(whole.begin(), whole.end(), m.data.begin(), m.data.end()))
        return fail("corrupt message");
    if (stream != m.stream.value || unordered != m.unordered)
        return fail("message on another stream");
    if (unordered) {
        if (e.unordered_seen[number]) return fail("unordered message delivered twice");
        e.unordered_seen[number] = true;
    } else if (other(e).limited_sent != 0 && number >= e.expected[stream]) {
        e.expected[stream] = number + 1;  // what is between may have been given up: see quiet()
    } else if (e.expected[stream]++ != number) {
        return fail("stream " + std::to_string(stream) + ": " + std::to_string(number) +
                    " out of order");
    }
    e.limited_delivered += m.data[3] == kLimited;
    ++e.delivered;
}

bool World::begin_at(Tsn tsn_a, Tsn tsn_z, sctp::Extensions extensions) {
    sctp::CookieContents c;
    c.local_port = a.port;
    c.remote_port = z.port;
    c.local_tag = tags_.draw();
    c.remote_tag = tags_.draw();
    c.local_initial_tsn = tsn_a;
    c.remote_initial_tsn = tsn_z;
    c.streams_out = c.streams_in = profile.streams_out;
    c.remote_window_bytes = profile.receive_window_bytes;
    c.extensions = extensions;
    for (Endpoint* e : {&a, &z}) {
        const Endpoint& peer = other(*e);
        c.local_address = e->addresses[0];
        c.address_count = static_cast<std::uint8_t>(peer.addresses.size());
        std::copy(peer.addresses.begin(), peer.addresses.end(), c.addresses.begin());
        e->association = std::make_unique<sctp::Association>();
        sctp::Environment env = environment(*e);
        if (!e->association->accept(env, c)) return false;
        const std::array<std::uint8_t, 4> cookie_echo{10, 0, 0, 4};  // accept() has judged it
        to_association(*e, {.source = peer.addresses[0],
                            .destination = e->addresses[0],
                            .source_port = peer.port,
                            .destination_port = e->port,
                            .tag = c.local_tag,
                            .chunks = cookie_echo});
        std::swap(c.local_port, c.remote_port);
        std::swap(c.local_tag, c.remote_tag);
        std::swap(c.local_initial_tsn, c.remote_initial_tsn);
    }
    settle(a);
    settle(z);
    return true;
}

bool World::restart_a(Duration limit) {
    sctp::Environment env = environment(a);
    while (!a.association->release(env, 1000)) {
    }
    a.events.clear();
    if (!connect(limit)) return false;
    for (Endpoint* e : {&a, &z}) {
        e->next_ordered.clear();
        e->expected.clear();
        e->unordered_seen.clear();
        e->unordered_sent = 0;
        e->given_up_before = e->counters.drops(Drop::message_abandoned);
        e->accepted = e->delivered = e->limited_sent = e->limited_delivered = 0;
    }
    return true;
}

bool World::quiet() {
    for (Endpoint* e : {&a, &z}) {
        const Endpoint& peer = other(*e);
        const std::uint64_t given_up =
            e->counters.drops(Drop::message_abandoned) - e->given_up_before;
        if (e->association->queued_bytes() != 0) return false;
        if (e->accepted - e->limited_sent != peer.delivered - peer.limited_delivered) return false;
        if (e->limited_sent > peer.limited_delivered + given_up) return false;
    }
    return true;
}

void World::to_association(Endpoint& e, const sctp::Packet& packet) {
    sctp::Environment env = environment(e);
    effects_.clear();
    e.association->receive(env, packet, effects_);
    for (const auto& event : effects_.happened()) e.events.push_back(event);
    std::size_t held = 0;
    for (const sctp::Message& m : effects_.delivered()) {
        // A user that is sometimes busy: it holds the message, and takes it in order later.
        if (dice_.below(16) != 0 && e.association->ready_bytes() == 0)
            took(e, m);
        else if (e.association->hold(env, m))
            ++held;
        else if (!e.pages.refuse)
            fail("hold() refused with memory at hand");
        else {  // no longer busy: first what it holds of this packet, then this one
            take_ready(e, env, std::exchange(held, std::size_t{0}));
            took(e, m);
        }
    }
}

void World::take_ready(Endpoint& e, sctp::Environment& env, std::size_t most) {
    for (std::size_t taken = 0; taken < most; ++taken) {
        const auto m = e.association->front_ready(env);
        if (!m) return;
        took(e, *m);
        e.association->pop_ready(env);
    }
}

void World::arrive(const Flight& flight) {
    Endpoint& e = flight.to_a ? a : z;
    if (e.paused_until > now) return in_flight_.emplace(e.paused_until, flight), void();
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
        take_ready(e, env);
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
        if (p.size() > 19 && cut_path != ~0u && p[18] == cut_path) continue;
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
        if (e->association && !e->ended())
            next = std::min(next, std::max(e->paused_until, e->association->next_deadline()));
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
        if (!e->association || e->ended() || e->paused_until > now ||
            e->association->next_deadline() > now)
            continue;
        sctp::Environment env = environment(*e);
        // What is sent in answer to a timer may leave something to tell at once, and what a
        // restarted association held is freed a slice a turn.
        for (int turns = 0; turns < 300 && !e->ended() && e->association->next_deadline() <= now;
             ++turns) {
            effects_.clear();
            e->association->advance(env, effects_);
            for (const auto& event : effects_.happened()) e->events.push_back(event);
            settle(*e);
        }
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
