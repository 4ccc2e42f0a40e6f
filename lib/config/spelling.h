// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::config {

/// "; did you mean 'x'?" for the candidate that is nearest to `word`, or "" when none is near.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace signalbox::config
