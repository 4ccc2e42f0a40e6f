// SPDX-License-Identifier: Apache-2.0
// Who has a TCP port: /proc/net/tcp gives the listening socket's inode, /proc/PID/fd the process
// that holds it. Best effort: another user's processes do not show their descriptors.
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "admin/listen_socket.h"

namespace signalbox::admin {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListening = "0A";  // TCP_LISTEN

std::optional<unsigned> hex_port(std::string_view address_and_port) {
    const auto colon = address_and_port.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    unsigned port = 0;
    const char* end = address_and_port.data() + address_and_port.size();
    const auto [at, error] = std::from_chars(address_and_port.data() + colon + 1, end, port, 16);
    if (error != std::errc{} || at != end) return std::nullopt;
    return port;
}

/// Columns: number, local address, remote address, state, queues, timer, retransmits, uid,
/// time-out, inode.
std::string listening_inode(const char* table, unsigned port) {
    std::ifstream file{table};
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream columns{line};
        std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
        columns >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
            timeout >> inode;
        if (state == kListening && hex_port(local) == port) return inode;
    }
    return {};
}

bool holds(const fs::path& process, const std::string& socket) {
    std::error_code error;
    for (fs::directory_iterator at{process / "fd", error}, end; !error && at != end;
         at.increment(error)) {
        std::error_code link_error;
        if (fs::read_symlink(at->path(), link_error) == socket) return true;
    }
    return false;
}

bool is_process(const std::string& name) {
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
}

std::string holder_of(const std::string& inode) {
    const std::string socket = "socket:[" + inode + "]";
    std::error_code error;
    for (fs::directory_iterator at{"/proc", error}, end; !error && at != end; at.increment(error)) {
        const std::string pid = at->path().filename().string();
        if (!is_process(pid) || !holds(at->path(), socket)) continue;
        std::string name;
        std::getline(std::ifstream{at->path() / "comm"}, name);
        return name + " (pid " + pid + ")";
    }
    return {};
}

}  // namespace

std::string listener_of_port(std::uint16_t port) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"})
        if (const std::string inode = listening_inode(table, port); !inode.empty())
            return holder_of(inode);
    return {};
}

}  // namespace signalbox::admin
