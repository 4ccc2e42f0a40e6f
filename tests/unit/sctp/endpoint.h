// SPDX-License-Identifier: Apache-2.0
// One SCTP endpoint for tests: a listener and at most one association, with doubles for every seam.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sctp/association.h"
#include "wire/sctp_header.h"

namespace signalbox::sctp::test {

/// Pages from the heap; refuses on demand.
class TestPages final : public mem::PageSource {
 public:
    ~TestPages() override = default;
    void* take() noexcept override {
        if (refuse || taken >= limit || faults.refuses()) return nullptr;
        ++taken;
        return std::aligned_alloc(mem::kPageBytes, mem::kPageBytes);
    }
    void give(void* page) noexcept override {
        --taken;
        ++given;
        std::free(page);
    }
    bool refuse = false;
    std::size_t taken = 0;
    std::size_t given = 0;           // all in all
    std::size_t most_in_a_call = 0;  // given
    std::size_t limit = ~std::size_t{0};
    mem::FaultPoint faults;
};

/// The pages that one call into an association gives back.
class CountGiven {
 public:
    explicit CountGiven(TestPages& pages) : pages_(pages), before_(pages.given) {}
    ~CountGiven() {
        pages_.most_in_a_call = std::max(pages_.most_in_a_call, pages_.given - before_);
    }
    CountGiven(const CountGiven&) = delete;
    CountGiven& operator=(const CountGiven&) = delete;

 private:
    TestPages& pages_;
    std::size_t before_;
};

class TestTags final : public TagSource {
 public:
    explicit TestTags(RandomSource& random) : random_(random) {}
    VerificationTag draw() override { return {random_.u32() | 1u}; }

 private:
    RandomSource& random_;
};

struct InFlight {
    IpAddress source;
    IpAddress destination;
    std::vector<std::uint8_t> bytes;  // SCTP packet, common header first

    std::uint8_t first_type() const { return bytes.size() > 12 ? bytes[12] : 255; }
    /// The types of its chunks, in order.
    std::vector<std::uint8_t> types() const {
        std::vector<std::uint8_t> all;
        wire::ChunkWalker walker{std::span{bytes}.subspan(12)};
        while (const auto chunk = walker.next()) all.push_back(chunk->type);
        return all;
    }
    bool has(wire::ChunkType type) const {
        for (const std::uint8_t t : types())
            if (t == static_cast<std::uint8_t>(type)) return true;
        return false;
    }
};

class TestSink final : public TransmitSink {
 public:
    std::span<std::uint8_t> lend(std::size_t bytes) override {
        if (refuse) return {};
        buffer_.assign(bytes, 0xee);
        return buffer_;
    }
    void commit(const Datagram& datagram, std::size_t bytes) override {
        sent.push_back({datagram.source,
                        datagram.destination,
                        {buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(bytes)}});
        fragmentable += !datagram.dont_fragment;
    }
    std::deque<InFlight> sent;
    std::size_t fragmentable = 0;  // packets that IP may cut
    bool refuse = false;

 private:
    std::vector<std::uint8_t> buffer_;
};

struct Received {
    std::uint16_t stream;
    std::uint32_t ppid;
    bool unordered;
    std::string data;
};

class Endpoint {
 public:
    Endpoint(std::uint64_t seed, std::vector<IpAddress> addresses, Profile profile_)
        : profile(profile_),
          local(std::move(addresses)),
          random(seed),
          tags(random),
          keys(random, 0) {}
    ~Endpoint() { drop_association(); }
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    Environment env() {
        return {now, profile, local, pages, blocks, random, tags, keys, counters, scratch};
    }

    bool connect(std::vector<IpAddress> remotes, std::uint16_t local_port,
                 std::uint16_t remote_port) {
        Environment e = env();
        association.emplace();
        return association->connect(e, remotes, local_port, remote_port);
    }
    void input(const InFlight& packet) {
        const auto view = wire::parse_sctp_packet(packet.bytes);
        if (!view) return;
        input(Packet{packet.source, packet.destination, view->header.source_port,
                     view->header.destination_port, view->header.tag, view->chunks});
    }
    void input(const Packet& packet) {
        const CountGiven count(pages);
        Environment e = env();
        if (association && association->state() != State::closed) {
            if (association->acknowledges_before(packet)) association->acknowledge(e, sink);
            effects.clear();
            association->receive(e, packet, effects);
            take_effects();
            return;
        }
        const auto chunk = wire::ChunkWalker{packet.chunks}.next();
        if (listening && chunk && chunk->type == 1) {
            answer_init(e, packet, sink);
        } else if (listening && !first_cookie(packet).empty()) {
            CookieContents cookie;
            last_verdict = keys.open(first_cookie(packet), packet, now, cookie);
            if (last_verdict == CookieVerdict::stale) answer_stale_cookie(e, packet, cookie, sink);
            if (last_verdict != CookieVerdict::good) return;
            drop_association();
            association.emplace();
            if (!association->accept(e, cookie)) return association.reset();
            effects.clear();
            association->receive(e, packet, effects);
            take_effects();
        } else {
            answer_out_of_the_blue(e, packet, sink);
        }
    }
    void advance() {
        if (!association) return;
        const CountGiven count(pages);
        Environment e = env();
        effects.clear();
        association->advance(e, effects);
        take_effects();
    }
    void flush() {
        if (!association) return;
        Environment e = env();
        for (int turns = 0; association->flush(e, sink) && !sink.refuse && turns < 1000; ++turns) {
        }
    }
    SendStatus send(std::uint16_t stream, std::string_view data, bool unordered = false,
                    std::uint32_t ppid = 3) {
        Environment e = env();
        const std::span<const std::uint8_t> piece{
            reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
        return association->send(e, StreamId{stream}, Ppid{ppid}, unordered, std::span{&piece, 1});
    }
    SendStatus send_limited(std::uint16_t stream, std::string_view data, const Reliability& limits,
                            bool unordered = false) {
        Environment e = env();
        const std::span<const std::uint8_t> piece{
            reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
        return association->send(e, StreamId{stream}, Ppid{3}, unordered, std::span{&piece, 1},
                                 limits);
    }
    void shutdown() {
        Environment e = env();
        association->shutdown(e);
    }
    void abort(std::uint16_t cause = 12) {
        Environment e = env();
        effects.clear();
        association->abort(e, cause, effects);
        take_effects();
    }
    /// Consumes what waits in the association.
    void drain_ready() {
        if (!association) return;
        Environment e = env();
        while (const auto message = association->front_ready(e)) {
            keep(*message);
            association->pop_ready(e);
        }
    }
    void drop_association() {
        if (!association) return;
        Environment e = env();
        while (!association->release(e, 64)) {
        }
        association.reset();
    }
    bool saw(Event event) const {
        for (const EventRecord& record : events)
            if (record.event == event) return true;
        return false;
    }
    std::size_t count(Event event) const {
        std::size_t n = 0;
        for (const EventRecord& record : events) n += record.event == event;
        return n;
    }
    State state() const { return association ? association->state() : State::closed; }
    std::uint64_t drops(Drop reason) const { return counters.drops(reason); }

    Time now{};
    Profile profile;
    std::vector<IpAddress> local;
    TestPages pages;
    mem::BlockPool blocks{pages};
    RandomSource random;
    TestTags tags;
    CookieKeys keys;
    Counters counters;
    std::vector<std::uint8_t> scratch = std::vector<std::uint8_t>(kMaxMessageBytes);
    TestSink sink;
    Effects effects;
    std::optional<Association> association;
    std::vector<Received> messages;
    std::vector<EventRecord> events;
    CookieVerdict last_verdict{};
    bool listening = true;
    bool consuming = true;  // false: what is delivered is held, and nothing ready is taken

 private:
    void keep(const Message& m) {
        messages.push_back({m.stream.value,
                            m.ppid.value,
                            m.unordered,
                            {reinterpret_cast<const char*>(m.data.data()), m.data.size()}});
    }
    void take_effects() {
        Environment e = env();
        for (const Message& m : effects.delivered()) {
            if (consuming || !association->hold(e, m)) keep(m);
        }
        for (const EventRecord& record : effects.happened()) events.push_back(record);
        if (consuming) drain_ready();
    }
};

}  // namespace signalbox::sctp::test
