// SPDX-License-Identifier: Apache-2.0
#include "mem/block_pool.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "counting_source.h"
#include "mem/poison.h"

using namespace signalbox;
using namespace signalbox::mem;

namespace {

struct Block {
    std::uint8_t* at;
    std::size_t bytes;
    std::uint8_t mark;
};

bool intact(const Block& block) {
    return std::all_of(block.at, block.at + block.bytes,
                       [&](std::uint8_t byte) { return byte == block.mark; });
}

std::size_t blocks_from_one_page(std::size_t bytes) {
    CountingSource source{1};
    BlockPool pool{source};
    std::vector<void*> blocks;
    while (void* const block = pool.take(bytes)) blocks.push_back(block);
    for (void* const block : blocks) pool.give(block, bytes);
    CHECK(pool.blocks_in_use() == 0);
    return blocks.size();
}

}  // namespace

TEST_CASE("MEM-2: blocks of every size are aligned, apart from each other and all there") {
    CountingSource source;
    {
        BlockPool pool{source};
        std::vector<Block> blocks;
        for (std::size_t bytes = 1; bytes <= BlockPool::kMaxBytes; bytes += 13) {
            auto* const at = static_cast<std::uint8_t*>(pool.take(bytes));
            REQUIRE(at != nullptr);
            REQUIRE(reinterpret_cast<std::uintptr_t>(at) % 64 == 0);
            blocks.push_back({at, bytes, static_cast<std::uint8_t>(bytes * 31)});
            std::memset(at, blocks.back().mark, bytes);
        }
        CHECK(pool.blocks_in_use() == blocks.size());
        CHECK(pool.pages_held() == source.out());
        CHECK(std::all_of(blocks.begin(), blocks.end(), intact));
        for (const Block& block : blocks) pool.give(block.at, block.bytes);
        CHECK(pool.blocks_in_use() == 0);
        CHECK(source.out() <= 6);  // a spare page for each class that has more than one block
        pool.trim();
        CHECK(source.out() == 0);
        CHECK(pool.pages_held() == 0);
    }
    CHECK(source.wrong_gives == 0);
}

TEST_CASE("MEM-2: a page is divided without much loss") {
    CHECK(blocks_from_one_page(64) == 63);
    CHECK(blocks_from_one_page(128) == 31);
    CHECK(blocks_from_one_page(256) == 15);
    CHECK(blocks_from_one_page(512) == 7);
    CHECK(blocks_from_one_page(1024) == 3);
    CHECK(blocks_from_one_page(1500) == 2);
    CHECK(blocks_from_one_page(2048) == 1);
    CHECK(blocks_from_one_page(4096) == 1);
}

TEST_CASE("MEM-2: a pool refuses what is too large, and everything when no page is at hand") {
    CountingSource source{0};
    BlockPool pool{source};
    CHECK(pool.take(4097) == nullptr);
    CHECK(source.refusals == 0);
    for (const std::size_t bytes : {1u, 64u, 500u, 2000u, 4096u})
        CHECK(pool.take(bytes) == nullptr);
    CHECK(source.refusals == 5);
    CHECK(pool.blocks_in_use() == 0);
    CHECK(pool.pages_held() == 0);
    source.set_limit(1);
    void* const block = pool.take(100);
    CHECK(block != nullptr);
    CHECK(pool.take(4096) == nullptr);
    pool.give(block, 100);
}

TEST_CASE("MEM-2: a page whose blocks are all back goes back, but one stays against thrashing") {
    CountingSource source;
    BlockPool pool{source};
    std::vector<void*> blocks;
    for (int i = 0; i < 63 * 3; ++i) blocks.push_back(pool.take(64));
    CHECK(source.out() == 3);
    for (void* const block : blocks) pool.give(block, 64);
    CHECK(source.out() == 1);
    const std::size_t gives = source.gives;
    for (int i = 0; i < 100; ++i) pool.give(pool.take(64), 64);
    CHECK(source.gives == gives);
    CHECK(source.out() == 1);
}

TEST_CASE("MEM-2: the destructor gives back what is free and leaves what is in use") {
    CountingSource source;
    void* used = nullptr;
    {
        BlockPool pool{source};
        used = pool.take(200);
        pool.give(pool.take(1000), 1000);
        CHECK(source.out() == 2);
    }
    CHECK(source.out() == 1);
    std::memset(used, 1, 200);
}

TEST_CASE("MEM-2: nothing is lost or overwritten over random takes, gives and refusals") {
    RandomSource random{21};
    CountingSource source{40};
    BlockPool pool{source};
    std::vector<Block> blocks;
    std::size_t refused = 0;
    for (int i = 0; i < 30'000; ++i) {
        if (i % 1000 == 0) source.set_limit(random.below(60));
        if (random.below(100) < (i / 3000 % 2 == 0 ? 60u : 40u)) {
            const std::size_t bytes = 1 + random.below(random.below(4) == 0 ? 4096 : 300);
            auto* const at = static_cast<std::uint8_t*>(pool.take(bytes));
            refused += at == nullptr;
            if (at == nullptr) continue;
            blocks.push_back({at, bytes, static_cast<std::uint8_t>(random.u32())});
            std::memset(at, blocks.back().mark, bytes);
        } else if (!blocks.empty()) {
            std::swap(blocks[random.below(blocks.size())], blocks.back());
            REQUIRE(intact(blocks.back()));
            pool.give(blocks.back().at, blocks.back().bytes);
            blocks.pop_back();
        }
        REQUIRE(pool.blocks_in_use() == blocks.size());
        REQUIRE(pool.pages_held() == source.out());
    }
    CHECK(refused > 0);
    for (const Block& block : blocks) {
        REQUIRE(intact(block));
        pool.give(block.at, block.bytes);
    }
    pool.trim();
    CHECK(source.out() == 0);
    CHECK(source.wrong_gives == 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(SIGNALBOX_POISON)
TEST_CASE(
    "MEM-2: under AddressSanitizer a block given back, and what lies behind a block, is poisoned") {
    CountingSource source;
    BlockPool pool{source};
    auto* const block = static_cast<std::uint8_t*>(pool.take(100));
    CHECK(__asan_address_is_poisoned(block + 99) == 0);
    CHECK(__asan_address_is_poisoned(block + 100) != 0);
    pool.give(block, 100);
    CHECK(__asan_address_is_poisoned(block) != 0);
    CHECK(pool.take(128) == block);
    CHECK(__asan_address_is_poisoned(block + 127) == 0);
    pool.give(block, 128);
}
#endif

namespace {

/// Leaves some pages alone but for take_kept().
class KeepingSource final : public PageSource {
 public:
    KeepingSource(std::size_t pages, std::size_t kept) : all_(pages), kept_(kept) {}
    void* take() noexcept override { return left() > kept_ ? all_.take() : nullptr; }
    void* take_kept() noexcept override { return all_.take(); }
    void give(void* page) noexcept override { all_.give(page); }
    std::size_t left() const { return limit_ - all_.out(); }

 private:
    CountingSource all_;
    std::size_t limit_ = 8;
    std::size_t kept_;
};

}  // namespace

TEST_CASE("MEM-2, F10: a page kept back holds nothing else and is back as soon as it is free") {
    KeepingSource source{8, 2};
    BlockPool pool{source};
    std::vector<void*> ordinary;
    while (void* const block = pool.take(200)) ordinary.push_back(block);
    REQUIRE(source.left() == 2);
    for (int round = 0; round < 5; ++round) {
        pool.use_kept(true);
        void* const waits = pool.take(200);
        void* const too = pool.take(100);
        pool.use_kept(false);
        REQUIRE(waits != nullptr);
        REQUIRE(too != nullptr);
        CHECK(source.left() == 0);
        // Blocks that live long find no place beside it, although it is nearly empty.
        CHECK(pool.take(200) == nullptr);
        CHECK(pool.take(100) == nullptr);
        // Where an ordinary page has room the kept one stays alone.
        pool.give(ordinary.back(), 200);
        pool.use_kept(true);
        CHECK(pool.take(200) == ordinary.back());
        pool.use_kept(false);
        pool.give(waits, 200);
        pool.give(too, 100);
        CHECK(source.left() == 2);
    }
    pool.use_kept(true);
    void* const whole = pool.take(kPageBytes);
    pool.use_kept(false);
    REQUIRE(whole != nullptr);
    pool.give(whole, kPageBytes);
    for (void* const block : ordinary) pool.give(block, 200);
    pool.trim();
    CHECK(pool.blocks_in_use() == 0);
    CHECK(source.left() == 8);
}
