// SPDX-License-Identifier: Apache-2.0
// The two state machines of RFC 4666 4.3 as tables.
//
//   ASP in one AS (4.3.1)                      AS (4.3.2)
//   DOWN --up--> INACTIVE --active--> ACTIVE   DOWN --an ASP up--> INACTIVE --n active--> ACTIVE
//    ^------------'  ^-----inactive----'        ^-- none up ---'    ^                      |
//    '------------------------down-----'                            '--T(r)-- PENDING <----' last
//    one gone
//                                                                             '--> ACTIVE: one is
//                                                                             active again
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "sigtran/distribution.h"

namespace signalbox::sigtran {

enum class AspEvent : std::uint8_t { up, down, active, inactive };

/// [state][event]. ASPTM does nothing in DOWN: it is refused (4.3.4.3).
inline constexpr std::array<std::array<AspState, 4>, 3> kAspNext{{
    {AspState::inactive, AspState::down, AspState::down, AspState::down},
    {AspState::inactive, AspState::down, AspState::active, AspState::inactive},
    {AspState::inactive, AspState::down, AspState::active, AspState::inactive},
}};
constexpr AspState next_state(AspState state, AspEvent event) {
    return kAspNext[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

/// What the ASPs of an AS are together.
enum class Strength : std::uint8_t { nobody, none_active, too_few_active, enough_active };
constexpr Strength strength_of(std::size_t up, std::size_t active, std::size_t required_active) {
    if (active > 0)
        return active >= required_active ? Strength::enough_active : Strength::too_few_active;
    return up > 0 ? Strength::none_active : Strength::nobody;
}

/// [state][strength]. n ASPs are needed to begin; once begun, traffic goes on while one is left
/// (4.3.2).
inline constexpr std::array<std::array<AsState, 4>, 4> kAsNext{{
    {AsState::down, AsState::inactive, AsState::inactive, AsState::active},
    {AsState::down, AsState::inactive, AsState::inactive, AsState::active},
    {AsState::pending, AsState::pending, AsState::active, AsState::active},
    {AsState::pending, AsState::pending, AsState::active, AsState::active},
}};
constexpr AsState next_state(AsState state, Strength strength) {
    return kAsNext[static_cast<std::size_t>(state)][static_cast<std::size_t>(strength)];
}
/// PENDING when T(r) is over.
constexpr AsState after_recovery(Strength strength) {
    return next_state(AsState::inactive, strength);
}

template <class State, std::size_t Rows, std::size_t Columns>
constexpr bool every_state_can_be_left_and_reached(
    const std::array<std::array<State, Columns>, Rows>& table) {
    std::array<bool, Rows> reached{};
    for (std::size_t s = 0; s < Rows; ++s) {
        bool left = false;
        for (const State next : table[s]) {
            if (static_cast<std::size_t>(next) == s) continue;
            left = true;
            reached[static_cast<std::size_t>(next)] = true;
        }
        if (!left) return false;
    }
    for (const bool r : reached)
        if (!r) return false;
    return true;
}
static_assert(every_state_can_be_left_and_reached(kAspNext));
static_assert(every_state_can_be_left_and_reached(kAsNext));

}  // namespace signalbox::sigtran
