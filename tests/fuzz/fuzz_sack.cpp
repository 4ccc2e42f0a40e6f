// SPDX-License-Identifier: Apache-2.0
// SACK against a sender with DATA in flight, with losses and time-outs.
#include "fuzz/association_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using signalbox::sctp::test::Machine;
    static constexpr void (Machine::*kSteps[])() = {
        &Machine::sack, &Machine::sack,      &Machine::sack, &Machine::send,
        &Machine::send, &Machine::pass_time, &Machine::user};
    signalbox::sctp::test::run_association({bytes, size}, kSteps);
    return 0;
}
