// SPDX-License-Identifier: Apache-2.0
// What keeps the daemon from starting on this host, or should be known: text for people, with what
// mends it.
#pragma once
#include <string>

namespace signalbox::io {

enum class Severity { warning, fatal };

struct Problem {
    Severity severity = Severity::fatal;
    std::string text;
    std::string mend;  // a command, or what to change; empty when there is none
    std::string format() const { return mend.empty() ? text : text + "; to mend it: " + mend; }
};

}  // namespace signalbox::io
