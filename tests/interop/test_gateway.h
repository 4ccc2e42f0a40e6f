// SPDX-License-Identifier: Apache-2.0
// The least gateway that an application server can talk to, on the same foreign stack: it tries the
// test peer itself before anything is judged with it. It knows one application server per
// association and routes by point code.
#pragma once
#include <atomic>

#include "options.h"

namespace interop {

int run_test_gateway(const Options& options, const volatile std::atomic<bool>& stop);

}  // namespace interop
