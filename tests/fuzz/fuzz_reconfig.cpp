// SPDX-License-Identifier: Apache-2.0
// RE-CONFIG against a live association that resets and adds streams itself.
#include "fuzz/association_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using signalbox::sctp::test::Machine;
    static constexpr void (Machine::*kSteps[])() = {
        &Machine::re_config, &Machine::re_config, &Machine::re_config, &Machine::user,
        &Machine::send,      &Machine::pass_time, &Machine::data};
    signalbox::sctp::test::run_association({bytes, size}, kSteps);
    return 0;
}
