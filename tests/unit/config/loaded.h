// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "config/configuration.h"

namespace signalbox::config::test {

inline std::string in_source(const std::string& path) {
    return SIGNALBOX_SOURCE_ROOT "/" + path;
}

inline Configuration good(const Loaded& loaded) {
    if (const auto* errors = std::get_if<std::vector<Error>>(&loaded)) {
        std::string all;
        for (const Error& e : *errors) all += e.format() + "\n";
        FAIL(all);
    }
    return std::get<Configuration>(loaded);
}

inline std::vector<Error> refused(const Loaded& loaded) {
    const auto* errors = std::get_if<std::vector<Error>>(&loaded);
    return errors != nullptr ? *errors : std::vector<Error>{};
}

/// "line:column text" of each error.
inline std::vector<std::string> briefly(const std::vector<Error>& errors) {
    std::vector<std::string> lines;
    for (const Error& e : errors)
        lines.push_back(std::to_string(e.line) + ":" + std::to_string(e.column) + " " + e.text);
    return lines;
}

inline std::vector<std::string> errors_of(const std::string& text) {
    return briefly(refused(load_text(text, "t.yaml")));
}

/// Lines 1 to 8 of a good file; what a test adds begins at line 9.
inline const std::string kBase =
    "node: {name: n}\n"
    "ports:\n"
    "  - name: p\n"
    "    driver: tap\n"
    "    device: tap0\n"
    "    addresses: [10.0.0.1/24]\n"
    "listeners:\n"
    "  - name: l\n";

inline std::vector<std::string> errors_after_base(const std::string& text) {
    return errors_of(kBase + text);
}

}  // namespace signalbox::config::test
