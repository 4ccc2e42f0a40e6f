// SPDX-License-Identifier: Apache-2.0
// signalboxctl: asks and commands a running signalboxd over its control socket.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "admin/command_table.h"
#include "admin/settings.h"
#include "admin/table.h"
#include "control_client.h"
#include "options.h"

namespace signalbox::daemon {

namespace {

constexpr int kExitUnavailable = 69;  // EX_UNAVAILABLE: the daemon does not answer
constexpr int kPatienceSeconds = 60;

struct Wanted {
    std::string socket = admin::Settings{}.control_socket;
    bool json = false;
    std::vector<std::string> words;
    std::string error;
    bool help = false;
};

Wanted parse(int argc, char** argv) {
    Wanted w;
    if (const char* socket = std::getenv("SIGNALBOX_CONTROL_SOCKET")) w.socket = socket;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--help" || word == "-h" || (word == "help" && w.words.empty())) {
            w.help = true;
        } else if (word == "-s" || word == "-o") {
            if (!has_value) return w.error = word + " needs a value", w;
            const std::string value = argv[++i];
            if (word == "-s") w.socket = value;
            if (word == "-o" && value != "table" && value != "json")
                return w.error = "-o: table or json", w;
            if (word == "-o") w.json = value == "json";
        } else if (word.empty() || word.find_first_of(" \t\n\r") != std::string::npos) {
            return w.error = "an argument is one word", w;
        } else {
            w.words.push_back(word);
        }
    }
    return w;
}

int usage(std::FILE* to) {
    std::fprintf(to,
                 "usage: signalboxctl [-s SOCKET] [-o table|json] COMMAND\n"
                 "%s",
                 admin::command_help().c_str());
    return to == stdout ? kExitOk : kExitUsage;
}

int print(const std::string& text) {
    const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return whole && std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
}

int show(const std::string& body, bool json) {
    constexpr std::string_view kText = "text\n";
    if (body.rfind(kText, 0) == 0) {
        const std::string text = body.substr(kText.size());
        return print(json ? "{\"schema\": \"signalbox.text/1\", \"text\": " +
                                admin::json_string(text) + "}\n"
                          : text);
    }
    const auto table = admin::decode_table(body);
    if (!table) {
        std::fputs("signalboxctl: the answer broke off\n", stderr);
        return kExitFailed;
    }
    return print(json ? admin::table_as_json(*table) : admin::table_as_text(*table));
}

int run(const Wanted& wanted) {
    const admin::Given given = admin::parse_command(wanted.words);
    if (!given.error.empty()) {
        std::fprintf(stderr, "signalboxctl: %s\n", given.error.c_str());
        return kExitUsage;
    }
    std::string line;
    for (const std::string& word : wanted.words) line += (line.empty() ? "" : " ") + word;
    const ControlAnswer answer = ask_daemon(wanted.socket, line, kPatienceSeconds);
    if (answer.error.empty()) return show(answer.body, wanted.json);
    std::fprintf(stderr, "signalboxctl: %s\n", answer.error.c_str());
    return answer.reached ? kExitFailed : kExitUnavailable;
}

}  // namespace

}  // namespace signalbox::daemon

int main(int argc, char** argv) {
    using namespace signalbox::daemon;
    const Wanted wanted = parse(argc, argv);
    if (wanted.help) return usage(stdout);
    if (!wanted.error.empty() || wanted.words.empty()) {
        if (!wanted.error.empty()) std::fprintf(stderr, "signalboxctl: %s\n", wanted.error.c_str());
        return usage(stderr);
    }
    try {
        return run(wanted);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "signalboxctl: %s\n", error.what());
        return kExitFailed;
    }
}
