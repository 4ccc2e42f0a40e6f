// SPDX-License-Identifier: Apache-2.0
#include "config/names.h"

#include <vector>

#include "config/spelling.h"

namespace signalbox::config {

bool Names::add(const std::string& name, Place place, Errors& errors) {
    const auto [at, fresh] = entries_.emplace(name, Entry{size_, place});
    ++size_;
    if (fresh) return true;
    std::string where = at->second.place.line == 0
                            ? " is built in"
                            : " already stands in " + errors.mention(at->second.place, place);
    errors.add(place, kind_ + " '" + name + "'" + where);
    return false;
}

void Names::add_entry(const Node& entry, Errors& errors) {
    if (const Node* name = entry.find("name")) {
        add(name->text, name->place, errors);
        return;
    }
    complete_ = false;
    ++size_;
}

void Names::begin(const Node* list) {
    if (list == nullptr) return mark_incomplete();
    for (const Node& entry : list->children)
        if (!entry.good) mark_incomplete();
}

std::optional<std::size_t> Names::index_of(const std::string& name) const {
    const auto at = entries_.find(name);
    if (at == entries_.end()) return std::nullopt;
    return at->second.index;
}

std::optional<std::size_t> Names::find(const Node* reference, Errors& errors) const {
    if (reference == nullptr) return std::nullopt;
    if (const auto index = index_of(reference->text)) return index;
    if (!complete_) return std::nullopt;
    std::vector<std::string_view> known;
    constexpr std::size_t kMaxCompared = 1000;  // keeps a file full of wrong references cheap
    for (const auto& [name, entry] : entries_)
        if (known.size() < kMaxCompared && !errors.is_full()) known.push_back(name);
    errors.add(reference->place, "no " + kind_ + " is called '" + reference->text + "'" +
                                     suggestion(reference->text, known));
    return std::nullopt;
}

}  // namespace signalbox::config
