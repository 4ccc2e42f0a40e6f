// SPDX-License-Identifier: Apache-2.0
// The list of metrics for operators, made from what a scrape shows.
#pragma once
#include <string>

namespace signalbox::metrics {

std::string reference_markdown();

}  // namespace signalbox::metrics
