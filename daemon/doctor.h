// SPDX-License-Identifier: Apache-2.0
// `signalboxd doctor`: is this host ready for a configuration? PASS, WARN and FAIL, with what mends
// it.
#pragma once
#include <string>

#include "config/configuration.h"

namespace signalbox::daemon {

/// A line per matter; one that begins with FAIL keeps the daemon from starting.
std::string report_of(const config::Configuration& configuration);
bool has_failure(const std::string& report);

}  // namespace signalbox::daemon
