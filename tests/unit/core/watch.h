// SPDX-License-Identifier: Apache-2.0
// What a worker's calls may not do, counted while watch(true); defined in steady_state_test.cpp.
#pragma once
#include <atomic>

namespace signalbox::test {

extern std::atomic<unsigned long> allocations;
extern std::atomic<unsigned long> locks;
extern std::atomic<unsigned long> system_calls;

/// Once, first. False: this kernel cannot tell us about system calls.
bool dispatch_available();
void watch(bool on);

}  // namespace signalbox::test
