// SPDX-License-Identifier: Apache-2.0
// Tables, the command table, the control thread's queue and the socket itself.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "admin/command_table.h"
#include "admin/control_queue.h"
#include "admin/control_socket.h"
#include "admin/rates.h"
#include "admin/table.h"

namespace signalbox::admin {
namespace {

using Words = std::vector<std::string>;

class Directory {
 public:
    Directory() {
        char name[] = "/tmp/signalbox-control-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string socket() const { return (path_ / "control.sock").string(); }

 private:
    std::filesystem::path path_;
};

int connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

std::string read_all(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    ::close(fd);
    return text;
}

std::string ask(const std::string& path, const std::string& line) {
    const int fd = connect_to(path);
    REQUIRE(fd >= 0);
    static_cast<void>(::send(fd, line.data(), line.size(), MSG_NOSIGNAL));
    return read_all(fd);
}

std::string echo(const Client&, const Words& words) {
    std::string out = std::string(kControlOk) + "\n";
    for (const std::string& word : words) out += "[" + word + "]";
    return out;
}

}  // namespace

TEST_CASE("a table comes through the socket's form unharmed and shows as text and JSON") {
    Table table{"signalbox.test/1",
                {{"name", "Name"}, {"count", "Count", Cell::number}, {"up", "Up", Cell::flag}},
                {}};
    table.add({"tab\there", "12", "true"});
    table.add({"line\nend \\n \"quoted\"", "", "false"});
    const auto again = decode_table(encode(table));
    REQUIRE(again);
    CHECK(again->rows == table.rows);
    CHECK(again->columns[1].kind == Cell::number);
    CHECK(table_as_json(*again) ==
          "{\"schema\": \"signalbox.test/1\", \"rows\": [\n"
          "  {\"name\": \"tab\\u0009here\", \"count\": 12, \"up\": true},\n"
          "  {\"name\": \"line\\u000aend \\\\n \\\"quoted\\\"\", \"count\": null, \"up\": false}\n"
          "]}\n");
    const Table plain{"s/1", {{"a", "A"}, {"n", "Nr", Cell::number}}, {{"x", "1"}, {"yyy", "100"}}};
    CHECK(table_as_text(plain) == "A     Nr\n---  ---\nx      1\nyyy  100\n");
}

TEST_CASE("an answer that broke off is not taken for a table") {
    const std::string whole =
        encode({"s/1", {{"a", "A"}, {"n", "N", Cell::number}}, {{"x", "1"}, {"y", "2"}}});
    REQUIRE(decode_table(whole));
    for (std::size_t n = 0; n + 1 < whole.size(); ++n) {
        INFO(n);
        if (whole.substr(0, n).find("\nend") == std::string::npos)
            CHECK_FALSE(decode_table(whole.substr(0, n)));
    }
}

TEST_CASE("commands are found by their words, and wrong ones are told what there is") {
    CHECK(parse_command(Words{"show", "peers", "msc1"}).arguments == Words{"msc1"});
    CHECK(parse_command(Words{"show", "drops", "--all"}).options == Words{"--all"});
    CHECK(parse_command(Words{"show", "drops", "--none"}).error == "unknown option --none");
    CHECK(parse_command(Words{"peer", "drop"}).error == "usage: peer drop NAME");
    CHECK(parse_command(Words{"fly"}).error == "no such command");
    CHECK(parse_command(Words{"peer", "fly"}).error.find("peer drop") != std::string::npos);
    CHECK(parse_command(Words{}).error == "a command is missing");
    for (const Command& c : commands()) {
        INFO(c.words);
        CHECK_FALSE(c.help.empty());
        CHECK(command_help().find(c.words) != std::string::npos);
    }
}

TEST_CASE("the control thread's queue takes a step a turn, is bounded and lets go at the end") {
    ControlQueue queue;
    std::atomic<int> calls{0};
    bool done = false;
    std::thread other([&] { done = queue.run([&calls](Time) { return ++calls == 3; }); });
    while (calls < 3) {
        const int before = calls;
        queue.turn(Time{});
        CHECK(calls - before <= 1);
        std::this_thread::yield();
    }
    other.join();
    CHECK(done);
    std::vector<std::thread> waiting;
    std::atomic<int> refused{0};
    for (std::size_t i = 0; i < ControlQueue::kMaxWaiting + 5; ++i)
        waiting.emplace_back([&] {
            if (!queue.run([](Time) { return false; })) ++refused;
        });
    while (refused < 5) std::this_thread::yield();
    queue.close();
    for (std::thread& t : waiting) t.join();
    CHECK(refused == static_cast<int>(ControlQueue::kMaxWaiting) + 5);
    CHECK_FALSE(queue.run([](Time) { return true; }));
}

TEST_CASE("O03 the control socket: mode 0660, one line in, one answer out") {
    const Directory d;
    ControlSocket server(echo);
    REQUIRE(server.start(d.socket(), "") == "");
    struct stat about {};
    REQUIRE(::stat(d.socket().c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0660);
    CHECK(ask(d.socket(), "show  peers msc1\n") == "signalbox-control/1 ok\n[show][peers][msc1]");
    CHECK(ask(d.socket(), "bell\x07\n").find("error") != std::string::npos);
    CHECK(ask(d.socket(), std::string(2000, 'x')).find("error") != std::string::npos);

    ControlSocket second(echo);
    CHECK(second.start(d.socket(), "").find("another signalboxd") != std::string::npos);
    server.stop();
    CHECK_FALSE(std::filesystem::exists(d.socket()));
}

TEST_CASE("O03 a socket left behind is replaced, a file that is none is not") {
    const Directory d;
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, d.socket().c_str(), d.socket().size());
        REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        ::close(fd);  // as a killed daemon leaves it
    }
    ControlSocket server(echo);
    CHECK(server.start(d.socket(), "") == "");
    server.stop();
    std::ofstream(d.socket()) << "precious";
    ControlSocket other(echo);
    CHECK(other.start(d.socket(), "").find("no socket") != std::string::npos);
    CHECK(std::filesystem::exists(d.socket()));
    CHECK(other.start(d.socket() + std::string(200, 'x'), "").find("too long") !=
          std::string::npos);
}

TEST_CASE("O03 silent clients and half commands fill their share of connections and no more") {
    const Directory d;
    ControlSocket server(echo);
    REQUIRE(server.start(d.socket(), "") == "");
    std::vector<int> silent;
    for (std::size_t i = 0; i < ControlSocket::kMaxConnectionsPerUser; ++i) {
        silent.push_back(connect_to(d.socket()));
        static_cast<void>(::send(silent.back(), "show pee", 8, MSG_NOSIGNAL));
    }
    std::string refused;
    for (int i = 0; i < 200; ++i) refused = ask(d.socket(), "version\n");
    CHECK(refused.find("too many connections") != std::string::npos);
    for (const int fd : silent) ::close(fd);
    // Room again as soon as they are gone; nothing waited for a time-out.
    std::string answer;
    for (int i = 0; i < 300 && answer.find("ok") == std::string::npos; ++i) {
        answer = ask(d.socket(), "version\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(answer == "signalbox-control/1 ok\n[version]");
    server.stop();
}

TEST_CASE("rates are those of the span, or of the time since the start") {
    Rates rates;
    Rates::Sums sums{};
    for (int second = 0; second <= 4000; ++second) {
        rates.sample(sums, Time{std::chrono::seconds{second}});
        sums[0] += second < 3990 ? 10 : 100;  // the last ten seconds are busy
    }
    CHECK(rates.over(std::chrono::seconds{1})[0] == Approx(100));
    CHECK(rates.over(std::chrono::seconds{60})[0] == Approx((50 * 10 + 10 * 100) / 60.0));
    CHECK(rates.over(std::chrono::seconds{3600})[0] == Approx((3590 * 10 + 10 * 100) / 3600.0));
    CHECK(rates.over(std::chrono::seconds{1})[1] == 0);
}

}  // namespace signalbox::admin
