// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for metrics and health, on libmicrohttpd with threads of its own: no client,
// stuck or hostile, costs the workers or the control thread anything. GET and HEAD of registered
// paths only.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admin/settings.h"

namespace signalbox::admin {

struct Response {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

/// Path -> what makes its page. Called on the server's threads, several at a time; what it throws
/// becomes a 500.
using Routes = std::map<std::string, std::function<Response()>, std::less<>>;

class HttpServer {
 public:
    // Per listen address. A scraper, a dashboard and a few people with curl need far fewer.
    static constexpr unsigned kMaxConnections = 64;
    static constexpr unsigned kMaxConnectionsPerIp = 32;
    static constexpr unsigned kThreads = 2;
    static constexpr unsigned kIdleTimeoutSeconds = 5;  // a silent client is closed after this
    static constexpr std::size_t kMaxRequestBytes = 16 * 1024;  // request line and headers

    explicit HttpServer(Routes routes);
    ~HttpServer();  // stops
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Listens on all addresses, or on none: then the text says which one failed and why. Empty:
    /// all is well.
    std::string start(const std::vector<ListenAddress>& addresses);
    /// Waits for requests that are being answered. No handler runs afterwards.
    void stop();
    /// The port of the i-th address; the one that the system chose where 0 was asked for.
    std::uint16_t port(std::size_t i) const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace signalbox::admin
