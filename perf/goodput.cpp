// SPDX-License-Identifier: Apache-2.0
// Goodput over a wire that loses packets, in virtual time: our stack at both ends, and libusrsctp
// at both ends of the same wire. The n-th packet of a direction is lost for both or for neither;
// delay, message size, buffers, timers and the time the sender has are the same. usrsctp's clock is
// the virtual one too. Control: without loss both must carry more than with 20 %.
#include <sys/time.h>

#include <array>
#include <string>

#include "measure.h"
#include "pair.h"
#include "usrsctp_pair.h"

namespace {
std::uint64_t virtual_us = 1'000'000'000'000;
}  // namespace

/// The one clock that libusrsctp reads: round-trip times and lifetimes are in virtual time.
extern "C" int gettimeofday(timeval* now, void*) noexcept {
    now->tv_sec = static_cast<time_t>(virtual_us / 1'000'000);
    now->tv_usec = static_cast<suseconds_t>(virtual_us % 1'000'000);
    return 0;
}

namespace signalbox::perf {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kLatencyMs = 10;
constexpr std::size_t kMessageBytes = 1000;
constexpr std::uint16_t kStreams = 16;
constexpr std::uint32_t kBufferBytes = 1 << 20;
constexpr std::array<unsigned, 5> kLossPercent{0, 1, 5, 10, 20};

/// Which packets of a direction the wire loses: a property of its place in the row, not of the
/// packet.
class Loss {
 public:
    Loss(std::uint64_t seed, unsigned percent) : seed_(seed), percent_(percent) {}
    bool operator()(bool from_client) {
        std::uint64_t x = seed_ * 2 + from_client + (++sent_[from_client] << 20);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;  // splitmix64's finalizer
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return (x ^ (x >> 31)) % 100 < percent_;
    }

 private:
    std::uint64_t seed_;
    unsigned percent_;
    std::array<std::uint64_t, 2> sent_{};
};

/// Messages that arrived within so many virtual seconds; the association is up before.
std::size_t ours(std::uint64_t seed, unsigned percent, unsigned seconds) {
    sctp::Profile profile;
    profile.send_buffer_bytes = profile.receive_window_bytes = kBufferBytes;
    profile.association_max_retransmits = 10;
    profile.streams_out = kStreams;
    sctp::test::Pair pair(seed, profile);
    pair.latency = std::chrono::milliseconds(kLatencyMs);
    pair.connect();
    pair.lose = [loss = Loss(seed, percent)](const sctp::test::InFlight& packet) mutable {
        return loss(packet.source == sctp::test::kA1);
    };
    const std::string message(kMessageBytes, 'm');
    std::size_t arrived = 0;
    std::uint16_t stream = 0;
    for (unsigned ms = 0; ms < seconds * 1000; ++ms) {
        while (pair.a.send(stream, message) == sctp::SendStatus::ok)
            stream = static_cast<std::uint16_t>((stream + 1) % kStreams);
        pair.advance(1ms);
        arrived += pair.z.messages.size();
        pair.z.messages.clear();
    }
    return arrived;
}

std::size_t theirs(UsrsctpPair& pair, std::uint64_t seed, unsigned percent, unsigned seconds) {
    pair.impair(0, {});
    if (!pair.connect(kStreams)) return 0;
    pair.impair(kLatencyMs, Loss(seed, percent));
    const std::vector<std::uint8_t> message(kMessageBytes, 'm');
    std::vector<std::uint8_t> room(2 * kMessageBytes);
    std::size_t bytes = 0;
    std::uint16_t stream = 0;
    for (unsigned ms = 0; ms < seconds * 1000; ++ms) {
        while (pair.send(true, message, stream))
            stream = static_cast<std::uint16_t>((stream + 1) % kStreams);
        virtual_us += 1000;
        pair.let_pass(1);
        while (const std::size_t n = pair.receive(false, room)) bytes += n;
    }
    pair.impair(0, {});
    pair.close();
    pair.let_pass(kLatencyMs);  // what was on its way when it closed
    return bytes / kMessageBytes;
}

int run(const Options& options) {
    const Report report("goodput", options);
    const unsigned seconds = options.quick ? 20 : 60;
    const unsigned seeds = options.quick ? 3 : 9;
    UsrsctpPair usrsctp;
    UsrsctpPair::use_standard_timers();
    std::array<double, kLossPercent.size()> mine{}, rival{};
    for (std::size_t i = 0; i < kLossPercent.size(); ++i) {
        Segments our_rates, their_rates;
        double our_sum = 0, their_sum = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            our_rates.add(static_cast<double>(ours(seed, kLossPercent[i], seconds)) / seconds);
            their_rates.add(static_cast<double>(theirs(usrsctp, seed, kLossPercent[i], seconds)) /
                            seconds);
            our_sum += our_rates.last();
            their_sum += their_rates.last();
        }
        mine[i] = our_sum / seeds;
        rival[i] = their_sum / seeds;
        const Parameters parameters{{"loss_percent", kLossPercent[i]},
                                    {"delay_ms", kLatencyMs},
                                    {"message_bytes", kMessageBytes},
                                    {"virtual_s", seconds},
                                    {"seeds", seeds},
                                    {"median", our_rates.median()}};
        report.add({"goodput.usrsctp",
                    rival[i],
                    "messages/s",
                    {{"loss_percent", kLossPercent[i]}, {"median", their_rates.median()}},
                    "",
                    0});
        report.add({"goodput.ours", mine[i], "messages/s", parameters, "usrsctp, both ends",
                    mine[i] / rival[i]});
    }
    const bool control = mine.front() > 2 * mine.back() && rival.front() > 2 * rival.back();
    if (!control) std::fprintf(stderr, "goodput: a loss of 20 %% costs nothing?\n");
    const bool at_least = mine.back() >= rival.back();
    if (!at_least) std::fprintf(stderr, "goodput: usrsctp carries more at 20 %% loss\n");
    return control && at_least ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::perf

int main(int argc, char** argv) {
    return signalbox::perf::run(signalbox::perf::Options::parse(argc, argv));
}
