// SPDX-License-Identifier: Apache-2.0
#include "admin/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <cstdarg>
#include <exception>
#include <string_view>
#include <utility>

#include "admin/listen_socket.h"

namespace signalbox::admin {

namespace {

Response plain(unsigned status, std::string body) {
    return {.status = status, .content_type = Response{}.content_type, .body = std::move(body)};
}

Response answer(const Routes& routes, std::string_view path, std::string_view method) {
    const auto route = routes.find(path);
    if (route == routes.end()) return plain(MHD_HTTP_NOT_FOUND, "not found\n");
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return plain(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    try {
        return route->second();
    } catch (const std::exception& error) {
        return plain(MHD_HTTP_INTERNAL_SERVER_ERROR, std::string{error.what()} + "\n");
    }
}

MHD_Result queue(MHD_Connection* connection, const Response& response) {
    // MHD_RESPMEM_MUST_COPY does not write to the buffer, its declaration only lacks the const.
    auto* body = const_cast<char*>(response.body.data());
    MHD_Response* made =
        MHD_create_response_from_buffer(response.body.size(), body, MHD_RESPMEM_MUST_COPY);
    if (made == nullptr) return MHD_NO;
    MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
    MHD_add_response_header(made, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(made, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const MHD_Result result = MHD_queue_response(connection, response.status, made);
    MHD_destroy_response(made);
    return result;
}

/// The body of a request, if it has one, is never asked for: the answer goes out on the first call.
MHD_Result on_request(void* routes, MHD_Connection* connection, const char* url, const char* method,
                      const char* /*version*/, const char* /*upload_data*/,
                      std::size_t* /*upload_size*/, void** /*request*/) {
    return queue(connection, answer(*static_cast<const Routes*>(routes), url, method));
}

/// What a client did wrong is no news: libmicrohttpd would write it to stderr.
void ignore_log(void* /*argument*/, const char* /*format*/, va_list /*arguments*/) {}

MHD_Daemon* run(const ListenSocket& socket, Routes* routes) {
    unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG;
    if (socket.ipv6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(
        flags, 0, nullptr, nullptr, &on_request, routes,   //
        MHD_OPTION_EXTERNAL_LOGGER, &ignore_log, nullptr,  // first: it serves the options behind it
        MHD_OPTION_LISTEN_SOCKET, socket.descriptor,       //
        MHD_OPTION_THREAD_POOL_SIZE, HttpServer::kThreads, MHD_OPTION_CONNECTION_LIMIT,
        HttpServer::kMaxConnections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        HttpServer::kMaxConnectionsPerIp, MHD_OPTION_CONNECTION_TIMEOUT,
        HttpServer::kIdleTimeoutSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        HttpServer::kMaxRequestBytes, MHD_OPTION_END);
}

}  // namespace

struct HttpServer::State {
    Routes routes;
    std::vector<MHD_Daemon*> daemons;
    std::vector<std::uint16_t> ports;
};

HttpServer::HttpServer(Routes routes) : state_(std::make_unique<State>()) {
    state_->routes = std::move(routes);
}

HttpServer::~HttpServer() {
    stop();
}

std::string HttpServer::start(const std::vector<ListenAddress>& addresses) {
    for (const ListenAddress& address : addresses) {
        ListenSocket socket = listen_on(address);
        MHD_Daemon* daemon = socket.descriptor >= 0 ? run(socket, &state_->routes) : nullptr;
        if (daemon == nullptr) {
            if (socket.descriptor >= 0) {
                close(socket.descriptor);
                socket.error = "cannot serve HTTP on " + text_of(address) +
                               ": libmicrohttpd could not start its threads";
            }
            stop();
            return socket.error;
        }
        state_->daemons.push_back(daemon);
        state_->ports.push_back(socket.port);
    }
    return {};
}

void HttpServer::stop() {
    for (MHD_Daemon* daemon : state_->daemons) MHD_stop_daemon(daemon);
    state_->daemons.clear();
    state_->ports.clear();
}

std::uint16_t HttpServer::port(std::size_t i) const {
    return state_->ports.at(i);
}

}  // namespace signalbox::admin
