// SPDX-License-Identifier: Apache-2.0
#include "admin/control_socket.h"

#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

namespace signalbox::admin {

namespace {

using Clock = std::chrono::steady_clock;

std::string why(const std::string& what) {
    return what + ": " + std::strerror(errno);
}

bool address_of(const std::string& path, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
}

/// True when a process answers there.
bool somebody_listens(const sockaddr_un& address) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const bool there = result == 0 || errno == EAGAIN || errno == EINPROGRESS;
    ::close(fd);
    return there;
}

/// False when the time is over or the other end is gone.
bool wait_for(int fd, int stop, short events, Clock::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return false;
        pollfd both[] = {{fd, events, 0}, {stop, POLLIN, 0}};
        const int ready = ::poll(both, 2, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || both[1].revents != 0) return false;
        return (both[0].revents & events) != 0;
    }
}

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : line + " ") {
        if (c != ' ') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    return words;
}

}  // namespace

struct ControlSocket::State {
    struct Connection {
        std::thread thread;
        std::atomic<bool> done{false};
        uid_t uid = 0;
    };

    Handler handler;
    std::string path;
    int listener = -1;
    int stop_event = -1;  // readable for good once stop() was called
    std::thread acceptor;
    std::list<Connection> connections;  // acceptor's own until it ended

    void accept_all();
    void reap();
    void take(int fd);
    void serve(int fd, const Client& client) const;
    bool read_line(int fd, std::string& line) const;
    void write_all(int fd, const std::string& text) const;
};

void ControlSocket::State::reap() {
    connections.remove_if([](Connection& c) {
        if (!c.done.load(std::memory_order_acquire)) return false;
        c.thread.join();
        return true;
    });
}

void ControlSocket::State::take(int fd) {
    ucred who{};
    socklen_t length = sizeof who;
    const bool known = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0;
    const auto of_user = std::count_if(connections.begin(), connections.end(),
                                       [&](const Connection& c) { return c.uid == who.uid; });
    if (!known || connections.size() >= kMaxConnections ||
        static_cast<std::size_t>(of_user) >= kMaxConnectionsPerUser) {
        const std::string busy = std::string(kControlError) + "too many connections\n";
        static_cast<void>(::send(fd, busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        ::close(fd);
        return;
    }
    Connection& c = connections.emplace_back();
    c.uid = who.uid;
    const Client client{who.uid, who.gid, who.pid};
    try {
        c.thread = std::thread([this, fd, client, &c] {
            serve(fd, client);
            ::close(fd);
            c.done.store(true, std::memory_order_release);
        });
    } catch (const std::exception&) {  // no thread left: the client sees the end
        connections.pop_back();
        ::close(fd);
    }
}

void ControlSocket::State::accept_all() {
    for (;;) {
        pollfd both[] = {{listener, POLLIN, 0}, {stop_event, POLLIN, 0}};
        if (::poll(both, 2, connections.empty() ? -1 : 1000) < 0 && errno != EINTR) return;
        if (both[1].revents != 0) return;
        reap();
        if ((both[0].revents & POLLIN) == 0) continue;
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) take(fd);
        // Out of descriptors: the queue stays readable, and looking at it all the time helps
        // nobody.
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

bool ControlSocket::State::read_line(int fd, std::string& line) const {
    const auto deadline = Clock::now() + std::chrono::milliseconds(kRequestMs);
    char buffer[256];
    while (line.find('\n') == std::string::npos) {
        if (!wait_for(fd, stop_event, POLLIN, deadline)) return false;
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0) return false;
        line.append(buffer, static_cast<std::size_t>(got));
        if (line.size() > kMaxRequestBytes) return false;
    }
    line.erase(line.find('\n'));
    return std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c != 0x7f; });
}

void ControlSocket::State::write_all(int fd, const std::string& text) const {
    const auto deadline = Clock::now() + std::chrono::milliseconds(kAnswerMs);
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n > 0) sent += static_cast<std::size_t>(n);
        if (n >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN || !wait_for(fd, stop_event, POLLOUT, deadline)) return;
    }
}

void ControlSocket::State::serve(int fd, const Client& client) const {
    std::string line;
    if (!read_line(fd, line))
        return write_all(fd, std::string(kControlError) + "a request is one line of text\n");
    std::string answer;
    try {
        answer = handler(client, words_of(line));
    } catch (const std::exception& error) {
        answer = std::string(kControlError) + error.what() + "\n";
    }
    write_all(fd, answer);
}

ControlSocket::ControlSocket(Handler handler) : state_(std::make_unique<State>()) {
    state_->handler = std::move(handler);
}

ControlSocket::~ControlSocket() {
    stop();
}

std::string ControlSocket::start(const std::string& path, const std::string& group) {
    State& s = *state_;
    const std::string what = "control socket " + path;
    sockaddr_un address;
    if (!address_of(path, address)) return what + ": the path is too long";
    if (somebody_listens(address)) return what + ": another signalboxd answers there";
    struct stat old {};
    if (::lstat(path.c_str(), &old) == 0) {
        if (!S_ISSOCK(old.st_mode)) return what + ": a file that is no socket stands there";
        ::unlink(path.c_str());
    }
    s.stop_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s.listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s.listener < 0 || s.stop_event < 0) return why(what);
    // Nobody may connect between bind and chmod.
    const mode_t before = ::umask(0177);
    const int bound =
        ::bind(s.listener, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::umask(before);
    if (bound != 0) return why(what);
    s.path = path;
    if (!group.empty()) {
        const ::group* entry = ::getgrnam(group.c_str());
        if (entry == nullptr) return what + ": there is no group '" + group + "'";
        if (::chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0)
            return why(what + ": its group cannot be '" + group + "'");
    }
    if (::chmod(path.c_str(), 0660) != 0) return why(what);
    if (::listen(s.listener, static_cast<int>(kMaxConnections)) != 0) return why(what);
    s.acceptor = std::thread([&s] { s.accept_all(); });
    return {};
}

void ControlSocket::stop() {
    State& s = *state_;
    if (s.stop_event >= 0) {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(s.stop_event, &one, sizeof one));
    }
    if (s.acceptor.joinable()) s.acceptor.join();
    for (State::Connection& c : s.connections) c.thread.join();
    s.connections.clear();
    for (int* fd : {&s.listener, &s.stop_event}) {
        if (*fd >= 0) ::close(*fd);
        *fd = -1;
    }
    if (!s.path.empty()) ::unlink(s.path.c_str());
    s.path.clear();
}

}  // namespace signalbox::admin
