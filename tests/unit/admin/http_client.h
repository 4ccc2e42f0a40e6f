// SPDX-License-Identifier: Apache-2.0
// A client that sends bytes as they are and reads until the server closes, with a limit on waiting.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

namespace signalbox::admin {

class Client {
 public:
    explicit Client(std::uint16_t port, bool ipv6 = false) {
        fd_ = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval limit{.tv_sec = 10, .tv_usec = 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        v6.sin6_addr = in6addr_loopback;
        sockaddr_storage to{};
        std::memcpy(&to, ipv6 ? static_cast<const void*>(&v6) : &v4, ipv6 ? sizeof v6 : sizeof v4);
        connected_ =
            connect(fd_, reinterpret_cast<const sockaddr*>(&to), ipv6 ? sizeof v6 : sizeof v4) == 0;
    }
    ~Client() { close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    bool connected() const { return connected_; }
    bool send(std::string_view text) {
        return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }
    std::string read_all() {
        std::string all;
        char buffer[4096];
        for (ssize_t n; (n = recv(fd_, buffer, sizeof buffer, 0)) > 0;)
            all.append(buffer, static_cast<std::size_t>(n));
        return all;
    }
    std::string ask(std::string_view method, std::string_view path) {
        send(std::string{method} + " " + std::string{path} +
             " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        return read_all();
    }

 private:
    int fd_ = -1;
    bool connected_ = false;
};

}  // namespace signalbox::admin
