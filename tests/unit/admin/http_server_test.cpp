// SPDX-License-Identifier: Apache-2.0
#include "admin/http_server.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <stdexcept>

#include "http_client.h"

using namespace signalbox::admin;
using namespace std::chrono_literals;

namespace {

Routes pages() {
    return {{"/metrics", [] { return Response{.body = "signalbox_up 1\n"}; }},
            {"/-/ready", [] { return Response{.status = 503, .body = "draining\n"}; }},
            {"/broken", []() -> Response { throw std::runtime_error{"no luck"}; }}};
}

struct Server {
    HttpServer http{pages()};
    std::uint16_t port = 0;
    explicit Server(const char* host = "127.0.0.1") {
        const std::string error = http.start({{host, 0}});
        INFO(error);
        REQUIRE(error.empty());
        port = http.port(0);
    }
};

bool status_is(const std::string& answer, const char* status) {
    return answer.rfind(std::string{"HTTP/1.1 "} + status + " ", 0) == 0;
}

std::string body_of(const std::string& answer) {
    const auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? "" : answer.substr(at + 4);
}

}  // namespace

TEST_CASE("GET gives the page, HEAD the same without the body") {
    Server server;
    const std::string got = Client{server.port}.ask("GET", "/metrics");
    CHECK(status_is(got, "200"));
    CHECK(body_of(got) == "signalbox_up 1\n");
    CHECK(got.find("Content-Type: text/plain; charset=utf-8") != std::string::npos);
    const std::string head = Client{server.port}.ask("HEAD", "/metrics");
    CHECK(status_is(head, "200"));
    CHECK(head.find("Content-Length: 15") != std::string::npos);
    CHECK(body_of(head).empty());
    CHECK(status_is(Client{server.port}.ask("GET", "/-/ready"), "503"));
}

TEST_CASE("O02: other paths, methods and failing pages get their status") {
    Server server;
    CHECK(status_is(Client{server.port}.ask("GET", "/"), "404"));
    CHECK(status_is(Client{server.port}.ask("GET", "/../etc/passwd"), "404"));
    CHECK(status_is(Client{server.port}.ask("GET", "/metrics/"), "404"));
    CHECK(status_is(Client{server.port}.ask("GET", "/metrics?name=x"), "200"));
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"}) {
        const std::string answer = Client{server.port}.ask(method, "/metrics");
        CHECK(status_is(answer, "405"));
        CHECK(answer.find("Allow: GET, HEAD") != std::string::npos);
    }
    const std::string broken = Client{server.port}.ask("GET", "/broken");
    CHECK(status_is(broken, "500"));
    CHECK(body_of(broken) == "no luck\n");
}

TEST_CASE("O02: malformed HTTP is refused or dropped, and the next client is served") {
    Server server;
    const std::string long_header(100'000, 'a');
    const std::string requests[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        std::string{"\0\1\2\3\r\n\r\n", 8},
        "GET /metrics HTTP/9.9\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nno colon here\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /" + long_header + " HTTP/1.1\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nX: " + long_header + "\r\n\r\n",
    };
    for (const std::string& request : requests) {
        INFO(request.substr(0, 60));
        {
            Client client{server.port};
            REQUIRE(client.connected());
            client.send(request);
        }
        CHECK(status_is(Client{server.port}.ask("GET", "/metrics"), "200"));
    }
    Client too_long{server.port};
    too_long.send(requests[8]);
    const std::string refused = too_long.read_all();
    CHECK((refused.empty() || status_is(refused, "431")));
}

TEST_CASE("O02: two silent clients delay no scrape, and are closed after the time-out") {
    Server server;
    Client silent{server.port};
    Client half{server.port};
    REQUIRE(half.send("GET /metrics HTT"));
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i)
        CHECK(status_is(Client{server.port}.ask("GET", "/metrics"), "200"));
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    CHECK(silent.read_all().empty());
    const std::string late = half.read_all();
    CHECK((late.empty() || status_is(late, "408")));
    CHECK(std::chrono::steady_clock::now() - begin < 9s);
}

TEST_CASE("O02: more connections than the limit from one address are closed, not queued for ever") {
    Server server;
    std::list<Client> clients;
    for (unsigned i = 0; i < HttpServer::kMaxConnectionsPerIp + 8; ++i)
        clients.emplace_back(server.port);
    // Refused at once: end of file long before the idle time-out of those that were taken.
    const auto begin = std::chrono::steady_clock::now();
    CHECK(clients.back().read_all().empty());
    CHECK(std::chrono::steady_clock::now() - begin < 3s);
    clients.clear();
    // The server's threads see the closed connections a moment later; well before the idle
    // time-out.
    bool served = false;
    const auto gone = std::chrono::steady_clock::now();
    while (!served && std::chrono::steady_clock::now() - gone < 3s)
        served = status_is(Client{server.port}.ask("GET", "/metrics"), "200");
    CHECK(served);
}

TEST_CASE("IPv6 is served where the machine has it") {
    HttpServer http{pages()};
    const std::string error = http.start({{"127.0.0.1", 0}, {"::1", 0}});
    if (!error.empty()) {
        WARN("no IPv6 loopback here: " << error);
        return;
    }
    CHECK(status_is(Client{http.port(0)}.ask("GET", "/metrics"), "200"));
    CHECK(status_is(Client(http.port(1), true).ask("GET", "/metrics"), "200"));
}

TEST_CASE("a port in use: the error names address and process, and nothing listens afterwards") {
    Server first;
    HttpServer second{pages()};
    const std::string error = second.start({{"127.0.0.1", 0}, {"127.0.0.1", first.port}});
    CHECK(error.find("127.0.0.1:" + std::to_string(first.port)) != std::string::npos);
    CHECK(error.find("Address already in use") != std::string::npos);
    CHECK(error.find("(pid " + std::to_string(getpid()) + ") listens there") != std::string::npos);
    CHECK_THROWS_AS(second.port(0), std::out_of_range);
    CHECK(status_is(Client{first.port}.ask("GET", "/metrics"), "200"));
}

TEST_CASE("an address that is no numeric address is refused with its text") {
    HttpServer http{pages()};
    CHECK(http.start({{"localhost", 0}}).find("localhost:0: not a numeric") != std::string::npos);
    CHECK(http.start({{"192.0.2.77", 1}}).find("192.0.2.77:1") != std::string::npos);
}

TEST_CASE("after stop() nobody answers, and the port can be taken again") {
    Server server;
    const std::uint16_t port = server.port;
    Client{port}.ask("GET", "/metrics");
    server.http.stop();
    CHECK_FALSE(Client{port}.connected());
    HttpServer next{pages()};
    CHECK(next.start({{"127.0.0.1", port}}).empty());
}
