// SPDX-License-Identifier: Apache-2.0
// Serial number arithmetic, RFC 1982, as RFC 9260 1.6 asks for TSN and SSN.
#pragma once
#include <cstdint>
#include <type_traits>

namespace signalbox {

/// A number that wraps. `a < b` holds when b is ahead of a by less than half the space.
template <class Tag, class T>
struct SerialNumber {
    static_assert(std::is_unsigned_v<T>);
    using Difference = std::make_signed_t<T>;
    T value{};

    friend constexpr bool operator==(SerialNumber, SerialNumber) = default;
    friend constexpr bool operator<(SerialNumber a, SerialNumber b) { return (b - a) > 0; }
    friend constexpr bool operator>(SerialNumber a, SerialNumber b) { return b < a; }
    friend constexpr bool operator<=(SerialNumber a, SerialNumber b) { return !(b < a); }
    friend constexpr bool operator>=(SerialNumber a, SerialNumber b) { return !(a < b); }
    friend constexpr SerialNumber operator+(SerialNumber a, T n) {
        return {static_cast<T>(a.value + n)};
    }
    friend constexpr SerialNumber operator-(SerialNumber a, T n) {
        return {static_cast<T>(a.value - n)};
    }
    /// Signed distance a - b.
    friend constexpr Difference operator-(SerialNumber a, SerialNumber b) {
        return static_cast<Difference>(static_cast<T>(a.value - b.value));
    }
    constexpr SerialNumber& operator++() {
        ++value;
        return *this;
    }
};

}  // namespace signalbox
