// SPDX-License-Identifier: Apache-2.0
// The form of errors, and what the reader refuses before any key is looked at.
#include <algorithm>
#include <cstdlib>

#include "config/document.h"
#include "unit/config/loaded.h"

namespace signalbox::config::test {

TEST_CASE("an error shows file, line, column, text, the line and a caret") {
    const auto errors = refused(load_text(kBase + "    prot: 2905\n", "etc/a.yaml"));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].format() ==
          "etc/a.yaml:9:5: error: unknown key 'prot' in listeners; did you mean 'port'?\n"
          "    prot: 2905\n"
          "    ^");
}

TEST_CASE("the caret stands right behind characters of many bytes") {
    const auto errors =
        refused(load_text(kBase + "log: {format: \xc3\xa4\xc3\xa4, level: infos}\n", "a"));
    REQUIRE(errors.size() == 2);
    CHECK(errors[1].format() ==
          "a:9:28: error: level: 'infos' is not one of trace, debug, info, warning, error; did you "
          "mean 'info'?\n"
          "log: {format: \xc3\xa4\xc3\xa4, level: infos}\n"
          "                         ^");
}

TEST_CASE("carriage returns are no part of the line") {
    const auto errors = refused(load_text("node: {nam: x}\r\nports: []\r\n", "a"));
    REQUIRE(errors.size() >= 2);
    CHECK(errors[0].source_line == "node: {nam: x}");
}

TEST_CASE("a file that is not there is an error of the file as a whole") {
    const auto errors = refused(load_file("/nonexistent/a.yaml"));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].format() ==
          "/nonexistent/a.yaml: error: cannot be read: No such file or directory");
}

TEST_CASE("a directory is not read as a file") {
    const auto errors = refused(load_file(in_source("config")));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].text == "cannot be read: Is a directory");
}

TEST_CASE("O01: more than 16 MiB are refused") {
    const auto errors = refused(load_text(std::string(kMaxFileBytes + 1, ' '), "big.yaml"));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].format() == "big.yaml: error: larger than 16 MiB");
}

TEST_CASE("O01: 64 levels are the deepest") {
    CHECK(errors_of("a: " + std::string(64, '[') + std::string(64, ']')) ==
          std::vector<std::string>{"1:67 nested deeper than 64 levels"});
}

TEST_CASE("O01: a line of brackets is refused before it costs time, many lines of one as well") {
    CHECK(errors_of(std::string(1'000'000, '[')) ==
          std::vector<std::string>{"1:65 nested deeper than 64 levels"});
    std::string text = "a: ";
    for (int i = 0; i < 100'000; ++i) text += "[\n ";
    CHECK(errors_of(text).size() == 1);  // yaml-cpp sees a list as key before it is as deep
}

TEST_CASE("O01: a million values are the most") {
    std::string text = "a:\n";
    for (int i = 0; i < 100'001; ++i) text += "- [1,1,1,1,1,1,1,1,1]\n";
    CHECK(errors_of(text).at(0).find("more than 1000000 values") != std::string::npos);
}

TEST_CASE("O01: billion laughs end at the first anchor and alias") {
    const auto errors = errors_of("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n");
    CHECK(std::count(errors.begin(), errors.end(), "1:4 anchors are not allowed") == 1);
    CHECK(std::count(errors.begin(), errors.end(), "2:4 anchors are not allowed") == 1);
    CHECK(std::count(errors.begin(), errors.end(), "2:8 aliases are not allowed") == 1);
    CHECK(std::count(errors.begin(), errors.end(), "3:9 aliases are not allowed") == 1);
}

TEST_CASE("what is not YAML is refused with its place") {
    CHECK(errors_of("node: {name: x\nports: }\n").size() == 1);
    CHECK(errors_of("node:\n\tname: x\n").at(0).find("not valid YAML") != std::string::npos);
    CHECK(errors_of("node: *nobody\n").at(0).find("not valid YAML") != std::string::npos);
}

TEST_CASE("an end-of-transmission character does not hide the rest of the file") {
    CHECK(errors_of("node: {name: x}\n# \x04\nports: []\n") ==
          std::vector<std::string>{"2:3 control character 4"});
}

TEST_CASE("one document is the configuration") {
    CHECK(errors_of(kBase + "---\nnode: {name: b}\n").size() == 1);
}

TEST_CASE("an empty file lacks everything") {
    CHECK(errors_of("") ==
          std::vector<std::string>{"1:1 a configuration is a map of keys, this is nothing"});
    CHECK(errors_of("[a]") ==
          std::vector<std::string>{"1:1 a configuration is a map of keys, this is a list"});
}

TEST_CASE("at most a thousand errors are shown, and the number of the others") {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "k" + std::to_string(i) + ": 1\n";
    const auto errors = refused(load_text(kBase + text, "a"));
    REQUIRE(errors.size() == Errors::kMaxErrors + 1);
    CHECK(errors.back().text == "1000 more errors are not shown");
}

TEST_CASE("the environment fills ${NAME}, and :- gives the default") {
    ::setenv("SIGNALBOX_TEST_ID", "7", 1);
    ::unsetenv("SIGNALBOX_TEST_NONE");
    std::string text = kBase;
    text.replace(0, text.find('\n'),
                 "node:\n  name: a-${SIGNALBOX_TEST_NONE:-b}-c\n  id: ${SIGNALBOX_TEST_ID}");
    const Configuration c = good(load_text(text, "a"));
    CHECK(c.core.node_name == "a-b-c");
    CHECK(c.core.node_id == 7);
    CHECK(errors_after_base("log: {level: '${SIGNALBOX_TEST_NONE}'}\n") ==
          std::vector<std::string>{
              "9:14 environment variable 'SIGNALBOX_TEST_NONE' is not set and has no default"});
    CHECK(errors_after_base("log: {level: '${X'}\n") ==
          std::vector<std::string>{"9:14 '${' without '}'"});
}

}  // namespace signalbox::config::test
