// SPDX-License-Identifier: Apache-2.0
// Where memory can be refused on purpose (adversarial F10): a test serves so many requests and
// refuses the next ones, so that each site meets its "no" in turn. Unarmed it never refuses, and
// costs a decrement.
#pragma once
#include <cstdint>

namespace signalbox::mem {

class FaultPoint {
 public:
    /// The next `served` requests are served, the `refused` after them are not, all others are.
    void arm(std::uint64_t served, std::uint64_t refused = 1) {
        served_ = served;
        refused_ = refused;
    }
    bool refuses() noexcept {
        if (served_ != 0) {
            --served_;
            return false;
        }
        if (refused_ == 0) {
            served_ = kNever;
            return false;
        }
        --refused_;
        return true;
    }
    /// Requests since arm(kNever).
    std::uint64_t counted() const { return kNever - served_; }

    static constexpr std::uint64_t kNever = ~std::uint64_t{0};

 private:
    std::uint64_t served_ = kNever;
    std::uint64_t refused_ = 0;
};

}  // namespace signalbox::mem
