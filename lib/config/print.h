// SPDX-License-Identifier: Apache-2.0
// A configuration as text again, and the documents that come from the table of keys.
#pragma once
#include <string>

#include "config/configuration.h"
#include "config/document.h"
#include "config/errors.h"
#include "config/keys.h"

namespace signalbox::config {

/// A checked document as YAML that loads to the same configuration: values given and defaults, in
/// the table's order. `origins`: each value's file and line, or that it is a default, as comments.
std::string print_document(const Node& root, const Errors* origins);

/// Every key with its help, commented where it may be left out. It passes the check.
std::string print_default_configuration();
/// JSON Schema (2020-12) of the file.
std::string print_schema();
/// The reference in Markdown; the same as a manual page (troff).
std::string print_reference_markdown();
std::string print_reference_manual();

/// Values of the keys of a profile that its preset decides, by the preset's position in the table.
std::string_view preset_name(std::int64_t preset);
std::string preset_value(std::int64_t preset, std::string_view key);

/// "a whole number, 1 to 65535, or any"; empty for maps.
std::string form_of(const Key& key);

}  // namespace signalbox::config
