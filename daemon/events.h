// SPDX-License-Identifier: Apache-2.0
// The core's event records as log lines with stable names; repeated ones fold.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "core/node.h"
#include "event_catalogue.h"

namespace signalbox::daemon {

struct Field {
    std::string_view name;
    std::string value;
};

/// One line of the log. `event` is a stable name that alarms may match on.
struct Line {
    Level level = Level::info;
    std::string_view event;
    std::vector<Field> fields;
    std::string text;  // for people; may be empty when name and fields say it all
};

Line line_of(const core::EventRecord& record, const core::Settings& settings,
             std::uint64_t similar = 0);

/// Lines of one kind about one peer and server come at most kBurst in kInterval. Of the others the
/// last one is given out when the interval is over, with how many it stands for besides itself. All
/// kinds together keep to kLinesPerInterval.
class Damper {
 public:
    static constexpr Duration kInterval = std::chrono::seconds{10};
    static constexpr unsigned kBurst = 5;
    static constexpr unsigned kLinesPerInterval = 1000;

    struct Told {
        core::EventRecord record;
        std::uint64_t similar = 0;  // those that were not written before this one
    };
    /// Nothing: not written now.
    std::optional<Told> judge(const core::EventRecord& record, Time now);
    /// What was folded and whose interval is over.
    std::vector<Told> due(Time now);
    /// Events that were not written and of which no later line has told yet.
    std::uint64_t silent() const { return silent_; }

 private:
    static constexpr std::size_t kKeysMax = 65536;  // bounds memory
    struct Window {
        Time since{};
        unsigned written = 0;
        std::uint64_t folded = 0;
        core::EventRecord last;
    };
    void begin_interval(Time now);
    static std::uint64_t key_of(const core::EventRecord& record);
    std::unordered_map<std::uint64_t, Window> windows_;
    std::vector<std::uint64_t> folding_;  // windows with something folded
    Time interval_since_{};
    unsigned interval_written_ = 0;
    std::uint64_t silent_ = 0;
};

}  // namespace signalbox::daemon
