// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "flow.h"

namespace interop {
namespace {

constexpr const char* kUsage =
    "usrsctp_asp [--mode asp|sg [--fault drop|duplicate|swap|corrupt]]\n"
    "  --local A[,B] --remote A[,B] [--port N] [--local-port N] [--streams N]\n"
    "  [--asp-id N] [--rc N] [--traffic-mode N|none] [--opc PC] [--dpc PC] [--ni N]\n"
    "  [--send COUNT|unlimited] [--rate PER_SECOND] [--payload BYTES] [--expect COUNT]\n"
    "  [--sls-count N] [--share] [--record FILE] [--start-file FILE] [--no-audit]\n"
    "  [--listen] [--linger S] [--timeout S] [--stall S] [--progress]\n"
    "  [--rto-min MS] [--rto-max MS] [--path-retransmits N] [--heartbeat MS]\n";

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "asp: %s\n%s", why.c_str(), kUsage);
    std::exit(64);
}

std::uint64_t number(const std::string& text) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
    if (text.empty() || *end != '\0') refuse("'" + text + "' is no number");
    return value;
}

std::vector<std::string> list(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        parts.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return parts;
}

std::uint32_t point_code(const std::string& text) {
    const auto code = m3ua::parse_point_code(text);
    if (!code) refuse("'" + text + "' is no point code");
    return *code;
}

using Setter = std::function<void(const std::string&)>;

template <class T>
Setter into(T& target) {
    return [&target](const std::string& text) { target = static_cast<T>(number(text)); };
}

std::map<std::string, Setter> values_of(Options& o) {
    return {
        {"--mode", [&o](const std::string& v) { o.gateway = v == "sg"; }},
        {"--fault", [&o](const std::string& v) { o.fault = v; }},
        {"--local", [&o](const std::string& v) { o.local = list(v); }},
        {"--remote", [&o](const std::string& v) { o.remote = list(v); }},
        {"--port", into(o.port)},
        {"--local-port", into(o.local_port)},
        {"--streams", into(o.streams)},
        {"--asp-id",
         [&o](const std::string& v) { o.asp_id = static_cast<std::uint32_t>(number(v)); }},
        {"--rc",
         [&o](const std::string& v) { o.routing_context = static_cast<std::uint32_t>(number(v)); }},
        {"--traffic-mode",
         [&o](const std::string& v) {
             o.traffic_mode.reset();
             if (v != "none") o.traffic_mode = static_cast<std::uint32_t>(number(v));
         }},
        {"--opc", [&o](const std::string& v) { o.opc = point_code(v); }},
        {"--dpc", [&o](const std::string& v) { o.dpc = point_code(v); }},
        {"--ni", into(o.network_indicator)},
        {"--send",
         [&o](const std::string& v) { o.send = v == "unlimited" ? kUnlimited : number(v); }},
        {"--rate", into(o.rate)},
        {"--payload", into(o.payload_bytes)},
        {"--expect", into(o.expect)},
        {"--sls-count", into(o.sls_count)},
        {"--record", [&o](const std::string& v) { o.record = v; }},
        {"--start-file", [&o](const std::string& v) { o.start_file = v; }},
        {"--linger", [&o](const std::string& v) { o.linger_s = std::atof(v.c_str()); }},
        {"--timeout", [&o](const std::string& v) { o.timeout_s = std::atof(v.c_str()); }},
        {"--stall", [&o](const std::string& v) { o.stall_s = std::atof(v.c_str()); }},
        {"--rto-min", into(o.stack.rto_min_ms)},
        {"--rto-max", into(o.stack.rto_max_ms)},
        {"--path-retransmits", into(o.stack.path_max_retransmits)},
        {"--heartbeat", into(o.stack.heartbeat_interval_ms)},
    };
}

std::map<std::string, std::function<void()>> switches_of(Options& o) {
    return {
        {"--listen", [&o] { o.listen = true; }},
        {"--share", [&o] { o.share = true; }},
        {"--no-audit", [&o] { o.audit = false; }},
        {"--progress", [&o] { o.progress = true; }},
    };
}

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    const auto values = values_of(options);
    const auto switches = switches_of(options);
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (const auto it = switches.find(name); it != switches.end()) {
            it->second();
        } else if (const auto at = values.find(name); at == values.end()) {
            refuse("unknown option '" + name + "'");
        } else if (++i == argc) {
            refuse(name + " needs a value");
        } else {
            at->second(argv[i]);
        }
    }
    if (options.local.empty()) refuse("--local is missing");
    if (options.remote.empty() && !options.gateway && !options.listen)
        refuse("--remote is missing");
    if (options.payload_bytes < kStampBytes) refuse("--payload is at least 24");
    if (options.sls_count < 1 || options.sls_count > 256) refuse("--sls-count is 1 to 256");
    return options;
}

}  // namespace interop
