// SPDX-License-Identifier: Apache-2.0
// DATA, I-DATA and (I-)FORWARD TSN: reassembly and ordering.
#include "fuzz/association_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using signalbox::sctp::test::Machine;
    static constexpr void (Machine::*kSteps[])() = {&Machine::data,      &Machine::data,
                                                    &Machine::data,      &Machine::forward_tsn,
                                                    &Machine::pass_time, &Machine::user};
    signalbox::sctp::test::run_association({bytes, size}, kSteps);
    return 0;
}
