// SPDX-License-Identifier: Apache-2.0
// One association, in a state that a byte picks, and what a program of bytes does to it: packets
// with the right tag (raw chunks, DATA and I-DATA, SACK, RE-CONFIG, FORWARD TSN near the numbers in
// use, cookies of ours), calls of the user part, time. The fuzz targets choose among the steps. The
// oracle: REL-22, is_consistent() after every call (built with the checks), a cookie with a bad MAC
// changes nothing, and no memory held at the end.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "unit/sctp/crafted.h"

namespace signalbox::sctp::test {

[[noreturn]] inline void broken(const char* what) {
    std::fprintf(stderr, "oracle: %s\n", what);
    std::abort();
}

class Program {
 public:
    explicit Program(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    bool more() const { return !bytes_.empty(); }
    std::uint8_t u8() {
        if (bytes_.empty()) return 0;
        const std::uint8_t b = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return b;
    }
    std::uint16_t u16() {
        const std::uint8_t high = u8();
        return static_cast<std::uint16_t>(high << 8 | u8());
    }
    /// Near `base`: most often within a few, sometimes anywhere.
    std::uint32_t near(std::uint32_t base) {
        const std::uint8_t b = u8();
        if (b == 0xff) return std::uint32_t{u16()} << 16 | u16();
        return base + b - 16u;
    }
    std::vector<std::uint8_t> take(std::size_t n) {
        std::vector<std::uint8_t> out;
        for (std::size_t i = 0; i < n && more(); ++i) out.push_back(u8());
        return out;
    }

 private:
    std::span<const std::uint8_t> bytes_;
};

inline Profile profile_of(std::uint8_t choice) {
    Profile p = kProfileSigtranLan;
    p.message_interleaving = (choice & 1) != 0;
    p.stream_reset = (choice & 2) != 0;
    p.scheduler = static_cast<Scheduler>((choice >> 4) % 5);
    p.receive_window_bytes = 20'000;
    p.streams_in = 100;
    return p;
}

struct Machine : Crafted {
    Machine(std::uint8_t choice, Program& program)
        : Crafted(profile_of(choice), {0x80, 0x08, 0, 8, 64, 194, 130, 192}), in(program) {
        z.send(0, "first");
        for (const InFlight& p : capture())
            if (p.bytes.size() > 20) theirs = wire::load_u32(p.bytes, 16);
        if ((choice & 4) != 0) z.shutdown();
        if ((choice & 8) != 0) packet({3, 0, be32({theirs, 100000, 0})});
    }
    struct Raw {
        std::uint8_t type;
        std::uint8_t flags;
        std::vector<std::uint8_t> value;
    };
    void packet(const Raw& raw) {
        InFlight p = begin();
        append_chunk(p, raw.type, raw.flags, raw.value);
        deliver_judged(p);
    }
    InFlight begin() {
        return packet_to_z(z.association ? z.association->local_tag().value : kCraftedTag);
    }
    /// REL-22: at most one packet that is not DATA; without an association at most 3 times the
    /// bytes, INIT ACK aside (X02).
    void deliver_judged(const InFlight& p) {
        capture();
        const bool unknown = z.state() == State::closed;
        z.input(p);
        std::size_t others = 0;
        std::size_t bytes = 0;
        for (const InFlight& answer : capture()) {
            wire::ChunkWalker walker{std::span{answer.bytes}.subspan(12)};
            bool data = false;
            while (const auto c = walker.next()) data |= c->type == 0 || c->type == 64;
            others += !data;
            bytes += answer.bytes.size() + 20;
        }
        if (others > 1) broken("REL-22: more than one packet that is not DATA");
        if (unknown && p.first_type() != 1 && p.first_type() != 10 &&
            bytes > 3 * (p.bytes.size() + 20))
            broken("REL-22: more than three times the bytes");
    }
    /// COOKIE ECHO whose MAC is good and whose contents are the program's: for a new association,
    /// a restart, a collision (RFC 9260 5.2.4).
    void cookie() {
        const std::uint8_t same = in.u8();
        const VerificationTag tag = z.association ? z.association->local_tag() : VerificationTag{};
        CookieContents c;
        c.local_port = kPortZ;
        c.remote_port = kPortA;
        c.local_tag = (same & 1) != 0 ? tag : VerificationTag{in.near(tag.value) | 1u};
        c.remote_tag = {(same & 2) != 0 ? kCraftedTag : in.near(kCraftedTag) | 1u};
        c.local_initial_tsn = {in.near(theirs)};
        c.remote_initial_tsn = {in.near(1000)};
        c.streams_out = static_cast<std::uint16_t>(1 + in.u8());
        c.streams_in = static_cast<std::uint16_t>(1 + in.u8());
        c.remote_window_bytes = 1500u + in.u16();
        c.local_tie_tag = {(same & 4) != 0 ? 0 : in.near(0)};
        c.remote_tie_tag = {(same & 4) != 0 ? 0 : in.near(0)};
        c.created = now - std::chrono::seconds{in.u8() % 100};
        c.life = std::chrono::seconds{60};
        c.local_address = kZ1;
        c.addresses[0] = kA1;
        c.addresses[1] = kA2;
        c.address_count = (same & 8) != 0 ? 2 : 1;
        std::array<std::uint8_t, 512> sealed{};
        const std::size_t bytes = z.keys.seal(c, sealed);
        const bool forged = (same & 32) != 0;
        if (forged) sealed[in.u16() % bytes] ^= static_cast<std::uint8_t>(1u << in.u8() % 8u);
        InFlight p = packet_to_z(c.local_tag.value);
        append_chunk(p, 10, 0, {sealed.begin(), sealed.begin() + static_cast<long>(bytes)});
        if ((same & 16) != 0) append_data(p, c.remote_initial_tsn.value, in.u8(), 0, 3, "early");
        const State before = z.state();
        deliver_judged(p);
        // RFC 9260 5.1.5 step 1: what fails the MAC is discarded and changes nothing.
        const bool moved = z.association && z.association->local_tag().value != tag.value;
        if (forged && (z.state() != before || moved)) broken("a forged cookie was taken");
    }
    void raw() {
        InFlight p = begin();
        const unsigned chunks = 1u + in.u8() % 4u;
        for (unsigned i = 0; i < chunks; ++i) {
            const std::uint8_t type = in.u8();
            const std::uint8_t flags = in.u8();
            append_chunk(p, type, flags, in.take(in.u8() % 64u));
        }
        deliver_judged(p);
    }
    void data() {
        InFlight p = begin();
        const unsigned chunks = 1u + in.u8() % 3u;
        for (unsigned i = 0; i < chunks; ++i) {
            const std::uint32_t tsn = in.near(1000);
            const std::uint32_t stream = in.u8();
            const std::uint32_t number = in.near(16) & 0xffff;
            const std::uint8_t flags = in.u8() & 15;
            std::vector<std::uint8_t> value =
                z.profile.message_interleaving
                    ? be32({tsn, stream << 16, number, std::uint32_t{in.u8()}})
                    : be32({tsn, stream << 16 | number, 3});
            value.resize(value.size() + in.u8(), 'x');
            append_chunk(p, z.profile.message_interleaving ? 64 : 0, flags, value);
        }
        deliver_judged(p);
    }
    void sack() {
        const unsigned gaps = in.u8() % 8u;
        std::vector<std::uint8_t> value =
            be32({in.near(theirs), std::uint32_t{in.u8()} << 8, gaps << 16});
        for (unsigned i = 0; i < gaps; ++i) {
            const std::uint32_t start = in.u8();
            const auto block = be32({start << 16 | (start + in.u8())});
            value.insert(value.end(), block.begin(), block.end());
        }
        packet({3, 0, value});
    }
    void re_config() {
        std::vector<std::uint8_t> value;
        for (unsigned i = 0; i < 1u + (in.u8() & 1u); ++i) {
            const std::uint16_t type = static_cast<std::uint16_t>(13 + in.u8() % 6);
            std::vector<std::uint8_t> body = be32({in.near(type == 16 ? theirs : 1000)});
            if (type == 13) {
                const auto rest = be32({in.near(theirs), in.near(999)});
                body.insert(body.end(), rest.begin(), rest.end());
            }
            const auto list = in.take(in.u8() % 12u);
            body.insert(body.end(), list.begin(), list.end());
            const auto length = static_cast<std::uint16_t>(4 + body.size());
            const auto head = be32({std::uint32_t{type} << 16 | length});
            value.insert(value.end(), head.begin(), head.end());
            value.insert(value.end(), body.begin(), body.end());
            while (value.size() % 4 != 0) value.push_back(0);
        }
        packet({130, 0, value});
    }
    void forward_tsn() {
        std::vector<std::uint8_t> value = be32({in.near(1000)});
        for (unsigned n = in.u8() % 4u; n != 0; --n) {
            const std::uint32_t stream = in.u8();
            const auto entry = z.profile.message_interleaving
                                   ? be32({stream << 16 | (in.u8() & 1u), in.near(16)})
                                   : be32({stream << 16 | (in.near(16) & 0xffff)});
            value.insert(value.end(), entry.begin(), entry.end());
        }
        packet({static_cast<std::uint8_t>(z.profile.message_interleaving ? 194 : 192), 0, value});
    }
    void user() {
        if (!z.association) return;
        Environment env = z.env();
        const std::uint8_t what = in.u8();
        const StreamId list[] = {{in.u8()}};
        const auto direction = static_cast<StreamDirection>(what >> 4 & 1);
        switch (what % 8) {
            case 0:
                return z.shutdown();
            case 1:
                z.association->reset_streams(env, direction, list);
                return;
            case 2:
                z.association->reset_streams(env, direction, {});
                return;
            case 3:
                z.association->reset_tsns(env);
                return;
            case 4:
                z.association->add_streams(env, direction, list[0].value);
                return;
            case 5:
                z.consuming = !z.consuming;
                return z.consuming ? z.drain_ready() : void();
            case 6:
                z.pages.refuse = !z.pages.refuse;
                return;
            default:
                z.send_limited(list[0].value % 10u, std::string(in.u16() % 5000u, 'y'),
                               {.max_retransmits = 1});
                return;
        }
    }
    void send() {
        if (z.state() == State::established)
            z.send(in.u8() % 10u, std::string(1 + in.u16() % 4000u, 'z'));
    }
    void pass_time() {
        lose = [](const InFlight&) { return true; };
        advance(std::chrono::milliseconds{in.u8() * 4});
        lose = nullptr;
    }
    Program& in;
    std::uint32_t theirs = 0;  // z's first TSN
};

/// Runs the program with the steps that a target is about: a byte picks each.
inline void run_association(std::span<const std::uint8_t> bytes,
                            std::span<void (Machine::*const)()> steps) {
    Program program{bytes};
    const std::uint8_t choice = program.u8();
    Machine machine{choice, program};
    for (int n = 0; program.more() && n < 200; ++n) (machine.*steps[program.u8() % steps.size()])();
    machine.z.drop_association();
    if (machine.z.blocks.blocks_in_use() != 0) broken("memory is held after release()");
}

}  // namespace signalbox::sctp::test
