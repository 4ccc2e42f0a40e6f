// SPDX-License-Identifier: Apache-2.0
#include "admin/listen_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace signalbox::admin {

namespace {

constexpr int kBacklog = 64;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

bool fill(const ListenAddress& address, SocketAddress& out) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
        std::memcpy(&out.storage, &v4, sizeof v4);
        out.length = sizeof v4;
        return true;
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    if (inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) != 1) return false;
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.length = sizeof v6;
    return true;
}

std::uint16_t bound_port(int descriptor) {
    SocketAddress bound;
    bound.length = sizeof bound.storage;
    if (getsockname(descriptor, bound.get(), &bound.length) != 0) return 0;
    in_port_t port = 0;  // at the same place in both families
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    std::memcpy(&port,
                reinterpret_cast<const char*>(&bound.storage) + offsetof(sockaddr_in, sin_port),
                sizeof port);
    return ntohs(port);
}

std::string why(const ListenAddress& address, int error) {
    std::string text = "cannot listen on " + text_of(address) + ": " + std::strerror(error);
    if (error != EADDRINUSE) return text;
    const std::string who = listener_of_port(address.port);
    return text + ": " + (who.empty() ? "another process listens there" : who + " listens there");
}

bool open_at(SocketAddress& at, int descriptor) {
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at.storage.ss_family == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return bind(descriptor, at.get(), at.length) == 0 && listen(descriptor, kBacklog) == 0;
}

}  // namespace

std::string text_of(const ListenAddress& address) {
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

ListenSocket listen_on(const ListenAddress& address) {
    ListenSocket result;
    SocketAddress at;
    if (!fill(address, at)) {
        result.error =
            "cannot listen on " + text_of(address) + ": not a numeric IPv4 or IPv6 address";
        return result;
    }
    result.ipv6 = at.storage.ss_family == AF_INET6;
    result.descriptor =
        socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (result.descriptor < 0 || !open_at(at, result.descriptor)) {
        result.error = why(address, errno);
        if (result.descriptor >= 0) close(result.descriptor);
        result.descriptor = -1;
        return result;
    }
    result.port = bound_port(result.descriptor);
    return result;
}

}  // namespace signalbox::admin
