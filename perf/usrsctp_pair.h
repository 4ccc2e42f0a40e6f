// SPDX-License-Identifier: Apache-2.0
// Two sockets of libusrsctp in this process, joined by memory (its AF_CONN transport): the rival.
// One stack, no threads of its own; whoever measures also drives it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

struct socket;  // usrsctp.h

namespace signalbox::perf {

class UsrsctpPair {
 public:
    UsrsctpPair();
    ~UsrsctpPair();
    UsrsctpPair(const UsrsctpPair&) = delete;
    UsrsctpPair& operator=(const UsrsctpPair&) = delete;

    /// A whole handshake, both ends, with so many streams each way. False: it did not come up.
    bool connect(std::uint16_t streams);
    /// Both ends aborted and freed.
    void close();

    /// One message from the client (or the server); false: the socket is full.
    bool send(bool from_client, std::span<const std::uint8_t> message, std::uint16_t stream = 0);
    /// Bytes of one message or a part of it that has arrived there; 0: nothing.
    std::size_t receive(bool at_client, std::span<std::uint8_t> room);
    /// Packets that have come through go to their receivers, and what those answer, until none is
    /// left but those on their way.
    void pump();
    void let_pass(std::uint32_t milliseconds);  // its timers, and packets on their way

    /// From now on packets take so long, and those for which lose() is true never arrive.
    void impair(std::uint32_t milliseconds, std::function<bool(bool from_client)> lose);
    /// RFC 9260's parameter values for the sockets that connect() opens; timers in milliseconds.
    static void use_standard_timers();

 private:
    struct ::socket* listener_ = nullptr;
    struct ::socket* client_ = nullptr;
    struct ::socket* server_ = nullptr;
};

}  // namespace signalbox::perf
