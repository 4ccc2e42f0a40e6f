// SPDX-License-Identifier: Apache-2.0
// Further files of a configuration: `include` and `peers_from`.
#pragma once
#include "config/document.h"
#include "config/errors.h"

namespace signalbox::config {

inline constexpr std::size_t kMaxFiles = 256;  // of one configuration, all together kMaxFileBytes

/// A file's text, or why it cannot be had. `regular`: devices and pipes are refused.
struct FileText {
    std::string text;
    std::string wrong;
};
FileText read_file(const std::string& path, bool regular);

/// Joins what `include` and `peers_from` name to the main file's document; both keys are gone
/// afterwards. Names are relative to the file that has them; lists join, maps merge, a value given
/// twice is an error. Included files may name files of peers but not include others.
void gather(Node& root, Errors& errors);

/// Rows of a CSV file (RFC 4180, with a header of keys of `peers`) as entries of that list.
void append_peers(Node& peers, std::uint16_t file, Errors& errors);

}  // namespace signalbox::config
