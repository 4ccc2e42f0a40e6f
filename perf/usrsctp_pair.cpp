// SPDX-License-Identifier: Apache-2.0
#include "usrsctp_pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <usrsctp.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

namespace signalbox::perf {
namespace {

using Socket = struct ::socket;

constexpr std::uint16_t kPort = 2905;
constexpr int kBuffer = 1 << 20;

/// What the stack knows an end by is an address of memory; packets to one end come from the other.
std::array<int, 2> ends;
void* const kClientEnd = &ends[0];
void* const kServerEnd = &ends[1];

struct Waiting {
    void* from = nullptr;
    std::uint64_t arrival_ms = 0;
    std::vector<std::uint8_t> bytes;
};
/// The stack is one for the process, and so is its wire. Buffers are used again.
std::deque<Waiting> wire;
std::uint64_t now_ms = 0;
std::uint32_t latency_ms = 0;
std::function<bool(bool)> is_lost;
std::vector<std::vector<std::uint8_t>> spare;

int output(void* from, void* bytes, std::size_t size, std::uint8_t, std::uint8_t) {
    if (is_lost && is_lost(from == kClientEnd)) return 0;
    Waiting packet{.from = from, .arrival_ms = now_ms + latency_ms, .bytes = {}};
    if (!spare.empty()) {
        packet.bytes = std::move(spare.back());
        spare.pop_back();
    }
    const auto* start = static_cast<const std::uint8_t*>(bytes);
    packet.bytes.assign(start, start + size);
    wire.push_back(std::move(packet));
    return 0;
}

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

sockaddr_conn address_of(void* end) {
    sockaddr_conn address{};
    address.sconn_family = AF_CONN;
    address.sconn_port = htons(kPort);
    address.sconn_addr = end;
    return address;
}

template <class Value>
void set(Socket* s, int level, int name, const Value& value) {
    if (usrsctp_setsockopt(s, level, name, &value, sizeof value) != 0) die("usrsctp_setsockopt");
}

Socket* open_end(void* end, std::uint16_t streams) {
    Socket* s = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
    if (s == nullptr) die("usrsctp_socket");
    usrsctp_set_non_blocking(s, 1);
    sctp_initmsg init{};
    init.sinit_num_ostreams = streams;
    init.sinit_max_instreams = streams;
    set(s, IPPROTO_SCTP, SCTP_INITMSG, init);
    set(s, IPPROTO_SCTP, SCTP_NODELAY, 1);
    set(s, SOL_SOCKET, SO_SNDBUF, kBuffer);
    set(s, SOL_SOCKET, SO_RCVBUF, kBuffer);
    set(s, SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
    sockaddr_conn address = address_of(end);
    if (usrsctp_bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        die("usrsctp_bind");
    return s;
}

}  // namespace

UsrsctpPair::UsrsctpPair() {
    usrsctp_init_nothreads(0, output, nullptr);
    usrsctp_register_address(kClientEnd);
    usrsctp_register_address(kServerEnd);
}

UsrsctpPair::~UsrsctpPair() {
    impair(0, {});
    close();
    usrsctp_deregister_address(kClientEnd);
    usrsctp_deregister_address(kServerEnd);
    for (int tries = 0; usrsctp_finish() != 0 && tries < 100; ++tries) usrsctp_handle_timers(100);
}

void UsrsctpPair::pump() {
    while (!wire.empty() && wire.front().arrival_ms <= now_ms) {
        Waiting packet = std::move(wire.front());
        wire.pop_front();
        void* const to = packet.from == kClientEnd ? kServerEnd : kClientEnd;
        usrsctp_conninput(to, packet.bytes.data(), packet.bytes.size(), 0);
        spare.push_back(std::move(packet.bytes));
    }
}

void UsrsctpPair::let_pass(std::uint32_t milliseconds) {
    now_ms += milliseconds;
    usrsctp_handle_timers(milliseconds);
    pump();
}

void UsrsctpPair::impair(std::uint32_t milliseconds, std::function<bool(bool from_client)> lose) {
    latency_ms = milliseconds;
    is_lost = std::move(lose);
}

void UsrsctpPair::use_standard_timers() {
    usrsctp_sysctl_set_sctp_rto_initial_default(1000);
    usrsctp_sysctl_set_sctp_rto_min_default(1000);
    usrsctp_sysctl_set_sctp_rto_max_default(60'000);
    usrsctp_sysctl_set_sctp_delayed_sack_time_default(200);
    usrsctp_sysctl_set_sctp_path_rtx_max_default(5);
    usrsctp_sysctl_set_sctp_assoc_rtx_max_default(10);
}

bool UsrsctpPair::connect(std::uint16_t streams) {
    listener_ = open_end(kServerEnd, streams);
    if (usrsctp_listen(listener_, 1) != 0) die("usrsctp_listen");
    client_ = open_end(kClientEnd, streams);
    // An end names its peer by its own address: that is whose packets output() is given.
    sockaddr_conn server = address_of(kClientEnd);
    usrsctp_connect(client_, reinterpret_cast<sockaddr*>(&server), sizeof server);
    pump();
    server_ = usrsctp_accept(listener_, nullptr, nullptr);
    if (server_ == nullptr) return false;
    usrsctp_set_non_blocking(server_, 1);
    return true;
}

void UsrsctpPair::close() {
    for (Socket** s : {&client_, &server_, &listener_}) {
        if (*s != nullptr) usrsctp_close(*s);
        *s = nullptr;
        pump();
    }
}

bool UsrsctpPair::send(bool from_client, std::span<const std::uint8_t> message,
                       std::uint16_t stream) {
    sctp_sndinfo info{};
    info.snd_sid = stream;
    return usrsctp_sendv(from_client ? client_ : server_, message.data(), message.size(), nullptr,
                         0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) >= 0;
}

std::size_t UsrsctpPair::receive(bool at_client, std::span<std::uint8_t> room) {
    sctp_rcvinfo info{};
    socklen_t info_bytes = sizeof info;
    unsigned type = 0;
    int flags = 0;
    const auto n = usrsctp_recvv(at_client ? client_ : server_, room.data(), room.size(), nullptr,
                                 nullptr, &info, &info_bytes, &type, &flags);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace signalbox::perf
