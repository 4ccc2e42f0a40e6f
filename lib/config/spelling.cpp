// SPDX-License-Identifier: Apache-2.0
#include "config/spelling.h"

#include <algorithm>
#include <numeric>

namespace signalbox::config {
namespace {

constexpr std::size_t kMaxWord = 64;  // no key is longer: a longer word is nobody's slip

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one
/// each.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
    if (word.size() > kMaxWord) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const std::size_t d = distance(word, candidate);
        if (d >= best_distance || d >= candidate.size()) continue;
        best = candidate;
        best_distance = d;
    }
    return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace signalbox::config
