// SPDX-License-Identifier: Apache-2.0
// The control socket: a Unix stream socket on which a client sends one line, a command, and reads
// one answer. A thread per connection, few of them; a client that is slow, silent or of the same
// user as too many others costs the rest nothing.
//
//   request   show peers msc1\n
//   answer    signalbox-control/1 ok\n  or  signalbox-control/1 error TEXT\n, then tables (table.h)
//             or, after "text\n", plain text
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::admin {

inline constexpr const char* kControlOk = "signalbox-control/1 ok";
inline constexpr const char* kControlError = "signalbox-control/1 error ";

/// Who is at the other end, as the kernel says (SO_PEERCRED).
struct Client {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
};

class ControlSocket {
 public:
    static constexpr std::size_t kMaxConnections = 16;
    static constexpr std::size_t kMaxConnectionsPerUser = 8;  // root always finds room
    static constexpr std::size_t kMaxRequestBytes = 1024;
    static constexpr int kRequestMs = 5000;  // for the whole line
    static constexpr int kAnswerMs = 30000;  // for the whole answer to be read

    /// Words of a request -> the whole answer. On a thread of the connection.
    using Handler = std::function<std::string(const Client&, const std::vector<std::string>&)>;

    explicit ControlSocket(Handler handler);
    ~ControlSocket();
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    /// Binds `path` with mode 0660; `group`: its group, empty: the process's. A socket that a
    /// daemon left behind when it was killed is replaced, one that answers is not. The text says
    /// what is wrong; empty: all is well.
    std::string start(const std::string& path, const std::string& group);
    void stop();

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox::admin
