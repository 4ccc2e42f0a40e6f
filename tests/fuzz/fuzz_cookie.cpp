// SPDX-License-Identifier: Apache-2.0
// COOKIE ECHO with a good MAC or a forged one, against no association and a live one.
#include "fuzz/association_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using signalbox::sctp::test::Machine;
    static constexpr void (Machine::*kSteps[])() = {&Machine::cookie,    &Machine::cookie,
                                                    &Machine::cookie,    &Machine::send,
                                                    &Machine::pass_time, &Machine::user};
    signalbox::sctp::test::run_association({bytes, size}, kSteps);
    return 0;
}
