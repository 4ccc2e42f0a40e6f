// SPDX-License-Identifier: Apache-2.0
// Peers whose data never becomes deliverable: D03, D07.
#include <catch2/catch.hpp>

#include "crafted.h"

using namespace signalbox;
using namespace signalbox::sctp;
using namespace signalbox::sctp::test;
using namespace std::chrono_literals;

namespace {

/// a, whose own DATA nobody acknowledges, does not give up meanwhile.
Profile patient() {
    Profile profile = kProfileSigtranLan;
    profile.path_max_retransmits = profile.association_max_retransmits = 10'000;
    profile.potentially_failed_after = 10'000;
    profile.stall_limit = {};
    return profile;
}

/// What z expects next: the TSN of a's first DATA, which never arrives.
std::uint32_t first_tsn(Pair& pair) {
    std::uint32_t tsn = 0;
    pair.a.send(0, "first");
    for (const InFlight& p : pair.capture())
        if (p.first_type() == 0) tsn = wire::load_u32(p.bytes, 16);
    // What a test says in a's name is unknown to a, which would end the association at the first
    // SACK for it (S01).
    pair.lose = [](const InFlight& p) {
        return p.has(wire::ChunkType::data) || p.has(wire::ChunkType::sack);
    };
    return tsn;
}

}  // namespace

TEST_CASE(
    "D03: fragments that never finish end the association after the time-out, and are freed") {
    Pair pair{82, patient()};
    pair.connect();
    const std::uint32_t tsn = first_tsn(pair);
    for (std::uint16_t stream = 0; stream < 16; ++stream) {
        InFlight packet = packet_to_z(pair);
        // None next to another: that would contradict it (D04).
        append_data(packet, tsn + 2u * stream, stream, 0, 2, "begin, and no end");
        pair.deliver(packet);
    }
    const Time start = pair.now;
    while (pair.z.state() == State::established && pair.now - start < 60s) {
        InFlight beat = packet_to_z(pair);
        append_chunk(beat, 4, 0, {0, 1, 0, 8, 1, 2, 3, 4});
        pair.deliver(beat);
        pair.advance(100ms);
    }
    CHECK(pair.now - start >= 29900ms);
    CHECK(pair.now - start <= 30100ms);
    CHECK(pair.z.drops(Drop::reassembly_stalled) == 1);
    CHECK(pair.z.count(Event::aborted) == 1);
    pair.z.drop_association();
    CHECK(pair.z.blocks.blocks_in_use() == 0);
}

TEST_CASE("D07: messages behind one that never comes are bounded and end the association") {
    Profile profile = patient();
    profile.receive_window_bytes = 20000;
    Pair pair{83, profile};
    pair.connect();
    std::uint32_t tsn = first_tsn(pair);
    std::uint16_t ssn = 1;  // never 0
    const Time start = pair.now;
    while (pair.z.state() == State::established && pair.now - start < 60s) {
        InFlight packet = packet_to_z(pair);
        append_data(packet, tsn, 0, ssn, 3, std::string(100, 'x'));
        pair.deliver(packet);
        if (pair.z.association && pair.z.association->receive_window() != 0) ++tsn, ++ssn;
        pair.advance(100ms);
    }
    CHECK(pair.z.drops(Drop::reassembly_stalled) == 1);
    CHECK(pair.now - start <= 30200ms);
    CHECK(pair.z.messages.empty());
    CHECK(ssn <= 20000 / (100 + 64) + 3);
}

TEST_CASE("D03: a long message that comes slowly but does come is not a stall") {
    Pair pair{84, kProfileSigtranLan};
    pair.connect();
    std::uint32_t tsn = first_tsn(pair);
    for (int message = 0; message < 3; ++message)
        for (int part = 0; part < 5; ++part) {
            const std::uint8_t flags = part == 0 ? 2 : part == 4 ? 1 : 0;
            InFlight packet = packet_to_z(pair);
            append_data(packet, tsn++, 0, static_cast<std::uint16_t>(message), flags, "part");
            pair.deliver(packet);
            pair.z.now = pair.now += 5s;
        }
    CHECK(pair.z.messages.size() == 3);
    CHECK(pair.z.state() == State::established);
}
