// SPDX-License-Identifier: Apache-2.0
#include "sctp/replies.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace signalbox::sctp {

/// A packet to be filled behind its common header; nullptr: too many wait, or no memory.

Association::Reply* Association::reply_for(Environment& env, const Packet& packet,
                                           VerificationTag tag, std::size_t bytes) {
    const std::size_t mtu =
        first_mtu(env.profile, packet.source.is_v4()) - (packet.source.is_v4() ? 20u : 40u);
    const std::size_t capacity = std::min(
        {mtu, bytes + wire::SctpHeader::kBytes, mem::BlockPool::kMaxBytes - sizeof(Reply)});
    if (reply_count_ >= kMaxReplies) return nullptr;
    void* block = env.blocks.take(sizeof(Reply) + capacity);
    if (block == nullptr) return nullptr;
    auto* reply = new (block) Reply;
    reply->source = packet.destination;
    reply->destination = packet.source;
    reply->capacity = static_cast<std::uint16_t>(capacity);
    wire::write_sctp_header({reply->bytes(), wire::SctpHeader::kBytes},
                            {local_port_, remote_port_, tag});
    reply->size = wire::SctpHeader::kBytes;
    Reply** link = &replies_;
    while (*link != nullptr) link = &(*link)->next;
    *link = reply;
    ++reply_count_;
    return reply;
}

/// Appends one chunk to the packet's answer; false when it does not fit or there is no memory: then
/// it is not sent.
bool Association::reply_chunk(Environment& env, ReceivePass& pass, wire::ChunkType type,
                              std::uint8_t flags, wire::Bytes value) {
    constexpr std::size_t kSlack = 32;  // for the cause around an echo
    if (pass.reply == nullptr)
        pass.reply = reply_for(env, pass.packet, remote_tag_, pass.packet.chunks.size() + kSlack);
    if (pass.reply == nullptr) return false;
    const std::size_t length = wire::kTlvHeader + value.size();
    const auto room = pass.reply->room();
    if (wire::padded_to_4(length) > room.size()) return false;
    pass.error_at = 0;  // it does not end the reply any more
    std::memset(room.data(), 0, wire::padded_to_4(length));
    room[0] = static_cast<std::uint8_t>(type);
    room[1] = flags;
    wire::store_u16(room, 2, static_cast<std::uint16_t>(length));
    if (!value.empty()) std::memcpy(room.data() + wire::kTlvHeader, value.data(), value.size());
    pass.reply->size = static_cast<std::uint16_t>(pass.reply->size + wire::padded_to_4(length));
    return true;
}

/// PKT-3: all causes of one received packet go into one ERROR.
void Association::reply_cause(Environment& env, ReceivePass& pass, wire::Bytes cause) {
    if (pass.error_at == 0) {
        const std::size_t at =
            pass.reply != nullptr ? pass.reply->size : std::size_t{wire::SctpHeader::kBytes};
        if (reply_chunk(env, pass, wire::ChunkType::error, 0, cause)) pass.error_at = at;
        return;
    }
    const auto room = pass.reply->room();
    const std::size_t padded = wire::padded_to_4(cause.size());
    if (padded > room.size()) return;
    std::memset(room.data(), 0, padded);
    std::memcpy(room.data(), cause.data(), cause.size());
    const std::size_t length = pass.reply->size - pass.error_at + cause.size();
    wire::store_u16({pass.reply->bytes(), pass.reply->capacity}, pass.error_at + 2,
                    static_cast<std::uint16_t>(length));
    pass.reply->size = static_cast<std::uint16_t>(pass.reply->size + padded);
}

void Association::drop_replies(Environment& env) {
    while (replies_ != nullptr) {
        Reply* next = replies_->next;
        env.blocks.give(replies_, sizeof(Reply) + replies_->capacity);
        replies_ = next;
    }
    reply_count_ = 0;
}

}  // namespace signalbox::sctp
