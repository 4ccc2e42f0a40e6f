// SPDX-License-Identifier: Apache-2.0
// What two configurations differ in, key by key, each with its reload class from the table.
#pragma once
#include <string>
#include <vector>

#include "config/configuration.h"
#include "config/keys.h"

namespace signalbox::config {

struct Change {
    std::string key;     // "peers[msc1].profile"
    std::string before;  // empty: absent
    std::string after;
    Reload reload = Reload::restart;
};

std::vector<Change> changes_between(const Configuration& before, const Configuration& after);

}  // namespace signalbox::config
