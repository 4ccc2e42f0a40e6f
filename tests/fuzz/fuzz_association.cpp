// SPDX-License-Identifier: Apache-2.0
// Everything at once: the order of the steps is what the corpus in use counts on.
#include "fuzz/association_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using signalbox::sctp::test::Machine;
    static constexpr void (Machine::*kSteps[])() = {
        &Machine::raw,       &Machine::data,        &Machine::sack,
        &Machine::re_config, &Machine::forward_tsn, &Machine::send,
        &Machine::pass_time, &Machine::user,        &Machine::cookie};
    signalbox::sctp::test::run_association({bytes, size}, kSteps);
    return 0;
}
