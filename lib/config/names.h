// SPDX-License-Identifier: Apache-2.0
// The names of one kind of thing, unique, and the references to them.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/document.h"
#include "config/errors.h"

namespace signalbox::config {

class Names {
 public:
    explicit Names(std::string_view kind) : kind_(kind) {}

    /// The next index is `name`'s. False, and an error: somebody has it.
    bool add(const std::string& name, Place place, Errors& errors);
    /// The same from an entry's key `name`; one whose name was refused keeps its index.
    void add_entry(const Node& entry, Errors& errors);
    /// What was refused before may have had any name: nobody is told then that a name is unknown.
    void mark_incomplete() { complete_ = false; }
    /// The same, if the list itself or an entry was refused.
    void begin(const Node* list);
    /// nullopt, and an error: nobody has the name. A null reference was reported before.
    std::optional<std::size_t> find(const Node* reference, Errors& errors) const;
    /// The same for names that may be missing without an error.
    std::optional<std::size_t> index_of(const std::string& name) const;
    std::size_t size() const { return size_; }

 private:
    struct Entry {
        std::size_t index;
        Place place;
    };
    std::string kind_;
    std::map<std::string, Entry> entries_;
    std::size_t size_ = 0;
    bool complete_ = true;  // else a name was refused, and an unknown one may be it
};

}  // namespace signalbox::config
