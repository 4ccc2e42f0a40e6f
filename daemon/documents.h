// SPDX-License-Identifier: Apache-2.0
// Documents that come from the program's own tables, so that they cannot say something else.
#pragma once
#include <string>
#include <string_view>

namespace signalbox::daemon {

/// Empty for a name that is none.
std::string document(std::string_view name);
/// The names, one a line.
std::string document_names();

}  // namespace signalbox::daemon
