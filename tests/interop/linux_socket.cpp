// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <linux/sctp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sctp_socket.h"

namespace interop {
namespace {

constexpr std::size_t kMessageMax = 65536;
constexpr int kBuffer = 1 << 20;

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(2);
}

int of(SctpSocket::Handle handle) {
    return static_cast<int>(handle);
}

/// Addresses one behind the other, each in the size of its own family, as the options take them.
m3ua::Bytes pack(const std::vector<std::string>& addresses, std::uint16_t port) {
    m3ua::Bytes packed;
    const auto append = [&packed](const auto& address) {
        const std::size_t at = packed.size();
        packed.resize(at + sizeof address);
        std::memcpy(packed.data() + at, &address, sizeof address);
    };
    for (const std::string& text : addresses) {
        sockaddr_in v4{};
        sockaddr_in6 v6{};
        if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
            v4.sin_family = AF_INET;
            v4.sin_port = htons(port);
            append(v4);
        } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
            v6.sin6_family = AF_INET6;
            v6.sin6_port = htons(port);
            append(v6);
        } else {
            std::fprintf(stderr, "linux_asp: '%s' is no numeric address\n", text.c_str());
            std::exit(64);
        }
    }
    return packed;
}

void set_of_the_machine(const char* name, unsigned value) {
    const std::string path = std::string("/proc/sys/net/sctp/") + name;
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) die(path.c_str());
    std::fprintf(file, "%u", value);
    if (std::fclose(file) != 0) die(path.c_str());
}

Received notification(const m3ua::Bytes& bytes) {
    std::uint16_t type = 0;
    if (bytes.size() < sizeof type) return {};
    std::memcpy(&type, bytes.data(), sizeof type);
    if (type == SCTP_SHUTDOWN_EVENT) return {Received::What::closing, 0, 0, {}};
    if (type == SCTP_PEER_ADDR_CHANGE && bytes.size() >= sizeof(sctp_paddr_change)) {
        sctp_paddr_change change{};
        std::memcpy(&change, bytes.data(), sizeof change);
        if (change.spc_state == SCTP_ADDR_UNREACHABLE) return {Received::What::path_down, 0, 0, {}};
        if (change.spc_state == SCTP_ADDR_AVAILABLE) return {Received::What::path_up, 0, 0, {}};
    }
    if (type != SCTP_ASSOC_CHANGE || bytes.size() < sizeof(sctp_assoc_change)) return {};
    sctp_assoc_change change{};
    std::memcpy(&change, bytes.data(), sizeof change);
    if (change.sac_state == SCTP_COMM_UP) return {Received::What::up, 0, 0, {}};
    if (change.sac_state == SCTP_COMM_LOST || change.sac_state == SCTP_CANT_STR_ASSOC)
        return {Received::What::lost, 0, 0, {}};
    return {};
}

}  // namespace

void start_stack(const StackSettings& settings) {
    // In this order: at no time may the least be above the greatest.
    set_of_the_machine("rto_min", settings.rto_min_ms);
    set_of_the_machine("rto_max", settings.rto_max_ms);
    set_of_the_machine("rto_initial", settings.rto_min_ms * 2);
    set_of_the_machine("path_max_retrans", settings.path_max_retransmits);
    set_of_the_machine("hb_interval", settings.heartbeat_interval_ms);
}

SctpSocket::SctpSocket(const std::vector<std::string>& local, std::uint16_t local_port,
                       std::uint16_t streams) {
    const bool v6 = std::any_of(local.begin(), local.end(), [](const std::string& a) {
        return a.find(':') != std::string::npos;
    });
    const int made = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    if (made < 0) die("linux_asp: socket");
    handle_ = made;
    const int on = 1;
    setsockopt(made, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
    setsockopt(made, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
    option(SCTP_NODELAY, &on, sizeof on);
    option(SCTP_RECVRCVINFO, &on, sizeof on);
    sctp_initmsg init{};
    init.sinit_num_ostreams = streams;
    init.sinit_max_instreams = streams;
    option(SCTP_INITMSG, &init, sizeof init);
    for (const int type : {SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT, SCTP_PEER_ADDR_CHANGE}) {
        sctp_event event{};
        event.se_assoc_id = SCTP_FUTURE_ASSOC;
        event.se_type = static_cast<std::uint16_t>(type);
        event.se_on = 1;
        option(SCTP_EVENT, &event, sizeof event);
    }
    const m3ua::Bytes packed = pack(local, local_port);
    option(SCTP_SOCKOPT_BINDX_ADD, packed.data(), packed.size());
}

SctpSocket::~SctpSocket() {
    ::close(of(handle_));
}

void SctpSocket::option(int name, const void* value, std::size_t size) {
    if (setsockopt(of(handle_), IPPROTO_SCTP, name, value, static_cast<socklen_t>(size)) < 0)
        die("linux_asp: setsockopt");
}

bool SctpSocket::connect(const std::vector<std::string>& remote, std::uint16_t port) {
    const m3ua::Bytes packed = pack(remote, port);
    return setsockopt(of(handle_), IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX, packed.data(),
                      static_cast<socklen_t>(packed.size())) >= 0;
}

bool SctpSocket::listen() {
    return ::listen(of(handle_), 8) == 0;
}

std::optional<SctpSocket::Handle> SctpSocket::accept() {
    const int accepted = ::accept(of(handle_), nullptr, nullptr);
    if (accepted < 0) return std::nullopt;
    return accepted;
}

Received SctpSocket::receive() {
    Received got;
    for (;;) {
        std::array<std::uint8_t, kMessageMax> buffer;
        alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(sctp_rcvinfo))> control;
        iovec data{buffer.data(), buffer.size()};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t n = recvmsg(of(handle_), &message, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return {Received::What::ended, 0, 0, {}};
        got.bytes.insert(got.bytes.end(), buffer.begin(), buffer.begin() + n);
        const bool whole = (message.msg_flags & MSG_EOR) != 0;
        if ((message.msg_flags & MSG_NOTIFICATION) != 0) {
            if (whole) return notification(got.bytes);
            continue;
        }
        got.what = Received::What::message;
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != IPPROTO_SCTP || c->cmsg_type != SCTP_RCVINFO) continue;
            sctp_rcvinfo info{};
            std::memcpy(&info, CMSG_DATA(c), sizeof info);
            got.stream = info.rcv_sid;
            got.protocol = ntohl(info.rcv_ppid);
        }
        if (whole) return got;
    }
}

bool SctpSocket::send(m3ua::View bytes, std::uint16_t stream) {
    sctp_sndinfo info{};
    info.snd_sid = stream;
    info.snd_ppid = htonl(m3ua::kPayloadProtocol);
    alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof info)> control{};
    iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = IPPROTO_SCTP;
    head->cmsg_type = SCTP_SNDINFO;
    head->cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(head), &info, sizeof info);
    while (sendmsg(of(handle_), &message, MSG_NOSIGNAL) < 0)
        if (errno != EINTR) return false;
    return true;
}

std::uint16_t SctpSocket::outgoing_streams() const {
    sctp_status status{};
    socklen_t size = sizeof status;
    if (getsockopt(of(handle_), IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0) return 0;
    return status.sstat_outstrms;
}

std::optional<std::uint32_t> SctpSocket::unacknowledged() const {
    sctp_status status{};
    socklen_t size = sizeof status;
    if (getsockopt(of(handle_), IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0)
        return std::nullopt;
    return status.sstat_unackdata;
}

void SctpSocket::shutdown() {
    ::shutdown(of(handle_), SHUT_WR);
}

}  // namespace interop
