// SPDX-License-Identifier: Apache-2.0
// Collects every error of a file and of those that it includes, with place and line of source.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"

namespace signalbox::config {

struct Place {
    int line = 0;  // from 1
    int column = 0;
    std::uint16_t file = 0;  // of Errors' files
};

class Errors {
 public:
    Errors(std::string file, std::string text);

    /// A further file; its number is what places in it carry.
    std::uint16_t add_file(std::string file, std::string text);
    std::string_view text_of(std::uint16_t file) const { return files_[file].text; }
    const std::string& name_of(std::uint16_t file) const { return files_[file].name; }
    std::size_t file_count() const { return files_.size(); }
    std::size_t bytes() const;  // of all files

    void add(Place place, std::string text);
    /// "line 4", seen from another place of the same file; else "b.yaml:4".
    std::string mention(Place place, Place from) const;
    bool empty() const { return list_.empty(); }
    bool is_full() const { return list_.size() == kMaxErrors; }  // further ones are only counted
    /// By file and place, at most kMaxErrors and then a last one that says how many were left out.
    std::vector<Error> take();

    static constexpr std::size_t kMaxErrors =
        1000;  // a wrong file of 16 MiB must not fill the terminal

 private:
    struct File {
        std::string name;
        std::string text;
        std::vector<std::size_t> line_starts;
    };
    struct Placed {
        Place place;
        Error error;
    };
    std::string line(Place place) const;

    std::deque<File> files_;  // texts stay where they are
    std::vector<Placed> list_;
    std::size_t left_out_ = 0;
};

}  // namespace signalbox::config
