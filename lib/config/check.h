// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/document.h"
#include "config/errors.h"

namespace signalbox::config {

/// Holds a document against the table of keys: every unknown or missing key and every wrong value
/// is reported, numbers are read, defaults are filled in. What was refused is no longer `good`.
void check_document(Node& root, Errors& errors);

}  // namespace signalbox::config
