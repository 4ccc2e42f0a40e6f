// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "config/configuration.h"

namespace signalbox::daemon {

/// Runs until a signal ends it; returns the exit code.
/// `path`: the file that the configuration was read from.
int run_gateway(const config::Configuration& configuration, const std::string& path);

}  // namespace signalbox::daemon
