// SPDX-License-Identifier: Apache-2.0
// A one-to-one SCTP socket of a foreign stack: of libusrsctp over raw IP (usrsctp_socket.cpp), or
// of the Linux kernel (linux_socket.cpp). One stack of libusrsctp per network namespace: two
// raw-socket stacks in one namespace would both answer every packet.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "m3ua.h"

namespace interop {

struct StackSettings {
    unsigned rto_min_ms = 100;
    unsigned rto_max_ms = 1000;
    unsigned path_max_retransmits = 3;
    unsigned heartbeat_interval_ms = 1000;
};
void start_stack(const StackSettings& settings);

struct Received {
    enum class What { message, up, lost, closing, path_down, path_up, other, ended };
    What what = What::other;
    std::uint16_t stream = 0;
    std::uint32_t protocol = 0;
    m3ua::Bytes bytes;
};

class SctpSocket {
 public:
    /// Addresses are numeric, IPv4 or IPv6; the first is the primary one. Dies with a message where
    /// the stack refuses.
    SctpSocket(const std::vector<std::string>& local, std::uint16_t local_port,
               std::uint16_t streams);
    using Handle = std::intptr_t;  // a pointer of the library, a descriptor of the kernel
    explicit SctpSocket(Handle accepted) : handle_(accepted) {}
    SctpSocket(const SctpSocket&) = delete;
    SctpSocket& operator=(const SctpSocket&) = delete;
    ~SctpSocket();

    /// Starts the handshake; receive() then tells up or lost.
    bool connect(const std::vector<std::string>& remote, std::uint16_t port);
    bool listen();
    std::optional<Handle> accept();  // blocks

    /// Blocks.
    Received receive();
    /// Blocks while the send buffer is full; false when the association is gone.
    bool send(m3ua::View bytes, std::uint16_t stream);
    std::uint16_t outgoing_streams() const;
    /// Bytes handed to the stack that the peer has not acknowledged yet, in chunks.
    std::optional<std::uint32_t> unacknowledged() const;
    /// SHUTDOWN once everything sent is acknowledged.
    void shutdown();

 private:
    void option(int name, const void* value, std::size_t size);
    Handle handle_ = 0;
};

}  // namespace interop
