// SPDX-License-Identifier: Apache-2.0
// What one call of Association::flush() keeps while it writes: flush.cpp has the packets, control
// chunks and SACK, flush_data.cpp DATA and FORWARD TSN.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "sctp/association.h"
#include "wire/chunk_writer.h"

namespace signalbox::sctp {

/// One call of flush(): the packet being written and what is left of the caller's budget.
class Association::FlushPass {
 public:
    FlushPass(Association& a, Environment& env, TransmitSink& sink, std::size_t max_packets)
        : a_(a), env_(env), sink_(sink), left_(max_packets) {}

    bool run();
    void acknowledge();

 private:
    std::span<std::uint8_t> lend(std::size_t bytes, bool answers);
    bool open(std::size_t path, VerificationTag tag, std::size_t bytes);
    bool open(std::size_t path, VerificationTag tag) {
        return open(path, tag, a_.paths_[path].packet_bytes());
    }
    bool open(std::size_t path) { return open(path, a_.remote_tag_); }
    bool open_for(std::size_t path, const OutChunk& chunk);
    void close();
    bool bundles(const Reply& reply);
    void replies();
    void free_reply(Reply* reply);
    void last_word();
    void init();
    void control();
    void report_unrecognized();
    void reconfig();
    void heartbeats();
    void mtu_probes();
    bool rides_along() const;
    void sack();
    void forward_tsn();
    void data();
    bool retransmit(OutChunk*& from);
    bool fresh();
    bool wants_ack_at_once(const OutChunk& chunk) const;
    bool append(OutChunk& chunk);
    bool wants(std::uint16_t bit) const { return (a_.pending_ & bit) != 0; }
    void done(std::uint16_t bit) { a_.pending_ = static_cast<std::uint16_t>(a_.pending_ & ~bit); }

    Association& a_;
    Environment& env_;
    TransmitSink& sink_;
    std::size_t left_;
    bool blocked_ = false;  // no buffer, or the budget is used up
    std::size_t path_ = 0;
    std::optional<wire::PacketWriter> out_;
    std::array<std::uint8_t, kMaxPaths> burst_{};  // packets with new DATA
    bool packet_has_new_ = false;
    bool fragment_ = false;  // the packet is larger than its path takes in one piece
};

}  // namespace signalbox::sctp
