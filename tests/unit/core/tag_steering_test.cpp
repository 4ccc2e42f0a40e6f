// SPDX-License-Identifier: Apache-2.0
// Verification tags: never zero, never again within a minute, and no easier to guess for what their
// hash tells us.
#include "core/tag_steering.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

namespace signalbox::core {
namespace {

constexpr unsigned kWorkers = 8;
constexpr std::size_t kSeen = 1'000'000;

struct Steering {
    explicit Steering(std::uint64_t seed) : random(seed) {}
    RandomSource random;
    TagHint hint{random.u64(), kWorkers};
    TagSequence sequence{random};
};

std::vector<std::uint32_t> draw(SteeredTags& tags, std::size_t count) {
    std::vector<std::uint32_t> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) all.push_back(tags.draw().value);
    return all;
}

/// Chi-square of the top or low 12 bits against even odds, over its expectation; 1.00 +- 0.02 for
/// random numbers.
double unevenness(const std::vector<std::uint32_t>& numbers, unsigned shift) {
    std::vector<double> cells(4096);
    for (const auto n : numbers) ++cells[n >> shift & 4095];
    const double even = static_cast<double>(numbers.size()) / 4096;
    double sum = 0;
    for (const double c : cells) sum += (c - even) * (c - even) / even;
    return sum / 4095;
}

std::vector<std::uint32_t> differences(const std::vector<std::uint32_t>& numbers) {
    std::vector<std::uint32_t> all;
    for (std::size_t i = 1; i < numbers.size(); ++i) all.push_back(numbers[i] - numbers[i - 1]);
    return all;
}

}  // namespace

TEST_CASE("tag steering: a tag names its worker, is never zero and does not come again") {
    Steering s(1);
    // All the tags that eight workers draw at once for two targets: one space, so no port pair can
    // meet one twice.
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < 400'000; ++i) {
        SteeredTags tags(s.hint, s.sequence);
        tags.target = WorkerIndex{static_cast<std::uint8_t>(i % 2)};
        const auto tag = tags.draw();
        if (tag.value == 0 || s.hint.worker_of(tag) != tags.target) FAIL("tag " << tag.value);
        all.push_back(tag.value);
    }
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("tag steering: plain random numbers do come again: what the sequence is for") {
    RandomSource random(std::uint64_t{1});
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < 400'000; ++i) all.push_back(random.u32());
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) != all.end());
}

TEST_CASE("tag steering: one in as many tags as there are workers names each of them") {
    Steering s(2);
    std::map<std::uint8_t, unsigned> named;
    for (std::size_t i = 0; i < kSeen; ++i) ++named[s.hint.worker_of(s.sequence.next()).value];
    CHECK(named.size() == kWorkers);
    for (const auto& [worker, count] : named) {
        CHECK(count > kSeen / kWorkers * 98 / 100);
        CHECK(count < kSeen / kWorkers * 102 / 100);
    }
}

TEST_CASE("tag steering: who has seen a million tags guesses the next no better than by chance") {
    Steering s(3);
    SteeredTags tags(s.hint, s.sequence);
    tags.target = WorkerIndex{5};
    const auto seen = draw(tags, kSeen);
    for (const unsigned shift : {0u, 10u, 20u}) {
        CHECK(unevenness(seen, shift) == Approx(1).margin(0.1));
        CHECK(unevenness(differences(seen), shift) == Approx(1).margin(0.1));
        CHECK(unevenness(differences(differences(seen)), shift) == Approx(1).margin(0.1));
    }
    // By chance a guess among 2^32 / 8 is right once in 537 million: a million guesses of each kind
    // are right less than once in 500 runs of this test.
    auto next = draw(tags, kSeen);
    std::uint32_t all_or = 0, all_and = ~0u;
    std::size_t right = 0;
    for (std::size_t i = 2; i < next.size(); ++i) {
        right += next[i] == next[i - 1] + (next[i - 1] - next[i - 2]);
        right += next[i] == next[i - 1] + 1;
        right += next[i] == (next[i - 1] ^ next[i - 2] ^ seen[i]);
        right += next[i] == seen[i];
        all_or |= next[i];
        all_and &= next[i];
    }
    CHECK(right == 0);
    CHECK(all_or == ~0u);  // no bit gives the hint away
    CHECK(all_and == 0);
}

TEST_CASE("tag steering: negative control: a counter's tags are guessed") {
    std::vector<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < kSeen; ++i) seen.push_back(i * 4096 + 7);
    CHECK(unevenness(seen, 0) > 2);
    CHECK(unevenness(differences(seen), 20) > 2);
}

}  // namespace signalbox::core
