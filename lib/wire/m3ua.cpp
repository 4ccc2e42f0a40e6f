// SPDX-License-Identifier: Apache-2.0
#include "wire/m3ua.h"

#include <array>
#include <utility>

#include "base/bytes.h"

namespace signalbox::wire::m3ua {

namespace {

struct ClassTypes {
    std::uint8_t message_class;
    std::uint8_t first;
    std::uint8_t last;
};
constexpr std::array<ClassTypes, 6> kTypes{{
    {0, 0, 1},
    {1, 1, 1},
    {2, 1, 6},
    {3, 1, 6},
    {4, 1, 4},
    {9, 1, 4},
}};

}  // namespace

bool is_known_class(std::uint8_t message_class) {
    for (const ClassTypes& row : kTypes)
        if (row.message_class == message_class) return true;
    return false;
}

bool is_known_type(std::uint8_t message_class, std::uint8_t message_type) {
    for (const ClassTypes& row : kTypes)
        if (row.message_class == message_class)
            return message_type >= row.first && message_type <= row.last;
    return false;
}

Builder::Builder(Message message) : message_(kHeaderBytes, 0) {
    message_.reserve(64);
    message_[0] = kVersion;
    message_[2] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(message) >> 8);
    message_[3] = static_cast<std::uint8_t>(message);
}

void Builder::begin(Tag tag, std::size_t value_bytes) {
    std::array<std::uint8_t, kTlvHeader> head;
    store_be16(head.data(), static_cast<std::uint16_t>(tag));
    store_be16(head.data() + 2, static_cast<std::uint16_t>(value_bytes + kTlvHeader));
    message_.insert(message_.end(), head.begin(), head.end());
}

Builder& Builder::u32(Tag tag, std::uint32_t value) {
    return u32_list(tag, {&value, 1});
}

Builder& Builder::u32_list(Tag tag, std::span<const std::uint32_t> values) {
    if (values.empty()) return *this;
    begin(tag, values.size() * 4);
    for (const std::uint32_t value : values) {
        std::array<std::uint8_t, 4> octets;
        store_be32(octets.data(), value);
        message_.insert(message_.end(), octets.begin(), octets.end());
    }
    return *this;
}

Builder& Builder::bytes(Tag tag, std::span<const std::uint8_t> value) {
    begin(tag, value.size());
    message_.insert(message_.end(), value.begin(), value.end());
    message_.resize((message_.size() + 3) / 4 * 4, 0);
    return *this;
}

std::vector<std::uint8_t> Builder::finish() {
    store_be32(message_.data() + 4, static_cast<std::uint32_t>(message_.size()));
    return std::exchange(message_, {});
}

}  // namespace signalbox::wire::m3ua
