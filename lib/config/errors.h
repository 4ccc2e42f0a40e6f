// SPDX-License-Identifier: Apache-2.0
// Collects every error of one file, with its place and its line of source.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"

namespace signalbox::config {

struct Place {
    int line = 0;  // from 1
    int column = 0;
};

class Errors {
 public:
    /// `text` must outlive this object.
    Errors(std::string file, std::string_view text);

    void add(Place place, std::string text);
    bool empty() const { return list_.empty(); }
    bool is_full() const { return list_.size() == kMaxErrors; }  // further ones are only counted
    /// By place, at most kMaxErrors and then a last one that says how many were left out.
    std::vector<Error> take();

    static constexpr std::size_t kMaxErrors =
        1000;  // a wrong file of 16 MiB must not fill the terminal

 private:
    std::string line(int number) const;

    std::string file_;
    std::string_view text_;
    std::vector<std::size_t> line_starts_;
    std::vector<Error> list_;
    std::size_t left_out_ = 0;
};

}  // namespace signalbox::config
