// SPDX-License-Identifier: Apache-2.0
// What every benchmark shares: options, the cycle counter and its calibration, medians of segments,
// and rows of results.
#pragma once
#include <sys/resource.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace signalbox::perf {

struct Options {
    bool quick = false;
    bool json = false;

    /// Exits with 64 on an option that is not known.
    static Options parse(int argc, char** argv) {
        Options options;
        for (int i = 1; i < argc; ++i) {
            if (std::strcmp(argv[i], "--quick") == 0) {
                options.quick = true;
            } else if (std::strcmp(argv[i], "--json") == 0) {
                options.json = true;
            } else {
                std::fprintf(stderr, "usage: %s [--quick] [--json]\n", argv[0]);
                std::exit(64);
            }
        }
        return options;
    }
};

inline std::uint64_t cycles() {
    return __rdtsc();
}

/// Time-stamp counts for each nanosecond, against the monotonic clock over 50 ms. Not core cycles:
/// the counter runs at the nominal frequency.
inline double calibrate_cycles_per_ns() {
    using Clock = std::chrono::steady_clock;
    const auto time_start = Clock::now();
    const auto start = cycles();
    auto time_end = time_start;
    while (time_end - time_start < std::chrono::milliseconds(50)) time_end = Clock::now();
    const auto elapsed = cycles() - start;
    return static_cast<double>(elapsed) /
           std::chrono::duration<double, std::nano>(time_end - time_start).count();
}

inline std::string machine_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2) + ", " +
                   std::to_string(std::thread::hardware_concurrency()) + " CPUs";
    return "not known";
}

/// Takes the middle of many short segments: means are moved by whoever else uses the machine.
class Segments {
 public:
    void add(double value) { values_.push_back(value); }
    double last() const { return values_.back(); }
    double median() { return quantile(0.5); }
    double quantile(double q) {
        if (values_.empty()) return 0;
        const auto rank =
            std::min(static_cast<std::size_t>(q * static_cast<double>(size())), values_.size() - 1);
        const auto place = values_.begin() + static_cast<std::ptrdiff_t>(rank);
        std::nth_element(values_.begin(), place, values_.end());
        return *place;
    }
    /// The mean, those left out that the system interrupted, which take many times as long.
    double undisturbed_mean() {
        const double limit = 10 * median();
        double sum = 0, taken = 0;
        for (const double value : values_)
            if (value < limit) sum += value, ++taken;
        return sum / taken;
    }
    void clear() { values_.clear(); }
    std::size_t size() const { return values_.size(); }
    void reserve(std::size_t n) { values_.reserve(n); }

 private:
    std::vector<double> values_;
};

/// What a row was measured with: one form for all programs, an object in JSON.
struct Parameter {
    std::string name;
    std::string value;
    bool quoted = false;

    Parameter(const char* n, const char* text) : name(n), value(text), quoted(true) {}
    Parameter(const char* n, const std::string& text) : name(n), value(text), quoted(true) {}
    template <class Number>
    requires std::is_arithmetic_v<Number> Parameter(const char* n, Number number) : name(n) {
        char text[32];
        std::snprintf(text, sizeof text, "%.10g", static_cast<double>(number));
        value = text;
    }
};
using Parameters = std::vector<Parameter>;

struct Row {
    std::string name;
    double value = 0;
    std::string unit;
    Parameters parameters;
    std::string comparison;  // what it was measured beside; empty: alone
    double ratio = 0;        // how many times better than the comparison; 0: none
};

/// Processor, build and how busy the machine was when the program began.
inline std::string machine_description() {
    double load = 0;
    if (getloadavg(&load, 1) != 1) load = -1;
    char text[64];
#ifdef NDEBUG
    constexpr const char* kBuild = "release";
#else
    constexpr const char* kBuild = "debugoptimized";
#endif
    std::snprintf(text, sizeof text, ", %s, load %.1f", kBuild, load);
    return machine_name() + text;
}

class Report {
 public:
    Report(const char* program, const Options& options)
        : json_(options.json),
          cycles_per_ns_(calibrate_cycles_per_ns()),
          machine_(machine_description() + (options.quick ? ", quick run" : "")) {
        if (!json_)
            std::printf("%s on %s; %.4f counts of the time stamp per ns\n", program,
                        machine_.c_str(), cycles_per_ns_);
    }
    double cycles_per_ns() const { return cycles_per_ns_; }
    double ns(double count) const { return count / cycles_per_ns_; }

    void add(const Row& row) const {
        if (json_)
            std::printf(
                "{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"parameters\":{%s},"
                "\"comparison\":\"%s\",\"ratio\":%.4g,\"machine\":\"%s\"}\n",
                row.name.c_str(), row.value, row.unit.c_str(), json_of(row.parameters).c_str(),
                row.comparison.c_str(), row.ratio, machine_.c_str());
        else if (row.comparison.empty())
            std::printf("%-28s %10.4g %-12s %s\n", row.name.c_str(), row.value, row.unit.c_str(),
                        text_of(row.parameters).c_str());
        else
            std::printf("%-28s %10.4g %-12s %-44s %6.2f x against %s\n", row.name.c_str(),
                        row.value, row.unit.c_str(), text_of(row.parameters).c_str(), row.ratio,
                        row.comparison.c_str());
        std::fflush(stdout);
    }

 private:
    static std::string json_of(const Parameters& parameters) {
        std::string text;
        for (const Parameter& p : parameters) {
            const std::string quote = p.quoted ? "\"" : "";
            text += (text.empty() ? "\"" : ",\"") + p.name + "\":" + quote + p.value + quote;
        }
        return text;
    }
    static std::string text_of(const Parameters& parameters) {
        std::string text;
        for (const Parameter& p : parameters)
            text += (text.empty() ? "" : " ") + p.name + "=" + p.value;
        return text;
    }

    bool json_;
    double cycles_per_ns_;
    std::string machine_;
};

/// How often this thread has left its processor: what was measured across a change was interrupted.
inline long context_switches() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

/// Keeps a value from being optimised away.
template <class T>
inline void keep(const T& value) {
    asm volatile("" : : "g"(value) : "memory");
}

/// splitmix64: the seed is printed with the results.
class Random {
 public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        auto z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    std::size_t below(std::size_t limit) {
        return static_cast<std::size_t>((next() >> 32) * limit >> 32);
    }

 private:
    std::uint64_t state_;
};

}  // namespace signalbox::perf
