// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/configuration.h"

namespace signalbox::daemon {

/// Runs until a signal ends it; returns the exit code.
int run_gateway(const config::Configuration& configuration);

}  // namespace signalbox::daemon
