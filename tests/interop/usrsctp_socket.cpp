// SPDX-License-Identifier: Apache-2.0
#include "sctp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>
#include <usrsctp.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace interop {
namespace {

constexpr std::size_t kMessageMax = 65536;
constexpr int kBuffer = 1 << 20;

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(2);
}

// sctp_bindx and sctp_connectx take the addresses packed one behind the other, each in the size of
// its own family.
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
            std::fprintf(stderr, "usrsctp_asp: '%s' is no numeric address\n", text.c_str());
            std::exit(64);
        }
    }
    return packed;
}

struct socket* of(std::intptr_t handle) {
    return reinterpret_cast<struct socket*>(handle);
}

int family_of(const std::vector<std::string>& addresses) {
    for (const std::string& a : addresses)
        if (a.find(':') != std::string::npos) return AF_INET6;
    return AF_INET;
}

Received notification(const m3ua::Bytes& bytes) {
    decltype(sctp_notification::sn_header) head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.sn_type == SCTP_SHUTDOWN_EVENT) return {Received::What::closing, 0, 0, {}};
    if (head.sn_type == SCTP_PEER_ADDR_CHANGE) {
        sctp_paddr_change change{};
        std::memcpy(&change, bytes.data(), sizeof change);
        if (change.spc_state == SCTP_ADDR_UNREACHABLE) return {Received::What::path_down, 0, 0, {}};
        if (change.spc_state == SCTP_ADDR_AVAILABLE) return {Received::What::path_up, 0, 0, {}};
    }
    if (head.sn_type != SCTP_ASSOC_CHANGE) return {};
    sctp_assoc_change change{};
    std::memcpy(&change, bytes.data(), sizeof change);
    if (change.sac_state == SCTP_COMM_UP) return {Received::What::up, 0, 0, {}};
    if (change.sac_state == SCTP_COMM_LOST || change.sac_state == SCTP_CANT_STR_ASSOC)
        return {Received::What::lost, 0, 0, {}};
    return {};
}

}  // namespace

void start_stack(const StackSettings& settings) {
    usrsctp_init(0, nullptr, nullptr);  // port 0: protocol 132 in raw IP, no UDP encapsulation
    usrsctp_sysctl_set_sctp_blackhole(0);
    usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_rto_min_default(settings.rto_min_ms);
    usrsctp_sysctl_set_sctp_rto_max_default(settings.rto_max_ms);
    usrsctp_sysctl_set_sctp_rto_initial_default(settings.rto_min_ms * 2);
    usrsctp_sysctl_set_sctp_init_rto_max_default(settings.rto_max_ms);
    usrsctp_sysctl_set_sctp_path_rtx_max_default(settings.path_max_retransmits);
    usrsctp_sysctl_set_sctp_heartbeat_interval_default(settings.heartbeat_interval_ms);
}

SctpSocket::SctpSocket(const std::vector<std::string>& local, std::uint16_t local_port,
                       std::uint16_t streams) {
    const int family = family_of(local);
    struct socket* const made =
        usrsctp_socket(family, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
    if (made == nullptr) die("usrsctp_asp: socket");
    handle_ = reinterpret_cast<Handle>(made);
    const int on = 1;
    const int off = 0;
    if (family == AF_INET6)
        usrsctp_setsockopt(of(handle_), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    usrsctp_setsockopt(of(handle_), SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
    usrsctp_setsockopt(of(handle_), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
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
    m3ua::Bytes packed = pack(local, local_port);
    void* addresses = packed.data();
    if (usrsctp_bindx(of(handle_), static_cast<sockaddr*>(addresses),
                      static_cast<int>(local.size()), SCTP_BINDX_ADD_ADDR) != 0)
        die("usrsctp_asp: bindx");
}

SctpSocket::~SctpSocket() {
    usrsctp_close(of(handle_));
}

void SctpSocket::option(int name, const void* value, std::size_t size) {
    if (usrsctp_setsockopt(of(handle_), IPPROTO_SCTP, name, value, static_cast<socklen_t>(size)) !=
        0)
        die("usrsctp_asp: setsockopt");
}

bool SctpSocket::connect(const std::vector<std::string>& remote, std::uint16_t port) {
    m3ua::Bytes packed = pack(remote, port);
    const void* addresses = packed.data();
    sctp_assoc_t id = 0;
    return usrsctp_connectx(of(handle_), static_cast<const sockaddr*>(addresses),
                            static_cast<int>(remote.size()), &id) == 0 ||
           errno == EINPROGRESS;
}

bool SctpSocket::listen() {
    return usrsctp_listen(of(handle_), 8) == 0;
}

std::optional<SctpSocket::Handle> SctpSocket::accept() {
    struct socket* const accepted = usrsctp_accept(of(handle_), nullptr, nullptr);
    if (accepted == nullptr) return std::nullopt;
    return reinterpret_cast<Handle>(accepted);
}

Received SctpSocket::receive() {
    Received got;
    bool whole = false;
    while (!whole) {
        std::array<std::uint8_t, kMessageMax> buffer;
        sockaddr_storage from{};
        void* const from_address = &from;
        socklen_t from_size = sizeof from;
        sctp_rcvinfo info{};
        socklen_t info_size = sizeof info;
        unsigned info_type = 0;
        int flags = 0;
        const ssize_t n = usrsctp_recvv(of(handle_), buffer.data(), buffer.size(),
                                        static_cast<sockaddr*>(from_address), &from_size, &info,
                                        &info_size, &info_type, &flags);
        if (n < 0 && (errno == ENOTCONN || errno == EINTR || errno == EAGAIN) &&
            got.bytes.empty()) {
            usleep(1000);  // the handshake still goes on
            return {};
        }
        if (n <= 0) return {Received::What::ended, 0, 0, {}};
        got.bytes.insert(got.bytes.end(), buffer.begin(), buffer.begin() + n);
        whole = (flags & MSG_EOR) != 0;
        if ((flags & MSG_NOTIFICATION) != 0) {
            if (whole) return notification(got.bytes);
            continue;
        }
        got.what = Received::What::message;
        if (info_type == SCTP_RECVV_RCVINFO) {
            got.stream = info.rcv_sid;
            got.protocol = ntohl(info.rcv_ppid);
        }
    }
    return got;
}

bool SctpSocket::send(m3ua::View bytes, std::uint16_t stream) {
    sctp_sndinfo info{};
    info.snd_sid = stream;
    info.snd_ppid = htonl(m3ua::kPayloadProtocol);
    while (usrsctp_sendv(of(handle_), bytes.data(), bytes.size(), nullptr, 0, &info, sizeof info,
                         SCTP_SENDV_SNDINFO, 0) < 0) {
        if (errno != EAGAIN && errno != EINTR) return false;
        usleep(1000);
    }
    return true;
}

std::uint16_t SctpSocket::outgoing_streams() const {
    sctp_status status{};
    socklen_t size = sizeof status;
    if (usrsctp_getsockopt(of(handle_), IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0) return 0;
    return status.sstat_outstrms;
}

std::optional<std::uint32_t> SctpSocket::unacknowledged() const {
    sctp_status status{};
    socklen_t size = sizeof status;
    if (usrsctp_getsockopt(of(handle_), IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0)
        return std::nullopt;
    return status.sstat_unackdata;
}

void SctpSocket::shutdown() {
    usrsctp_shutdown(of(handle_), SHUT_WR);
}

}  // namespace interop
