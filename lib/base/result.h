// SPDX-License-Identifier: Apache-2.0
// A value or an error, for the control plane. The packet path uses optional or a Drop.
#pragma once
#include <cassert>
#include <type_traits>
#include <utility>
#include <variant>

namespace signalbox {

/// Marks the error in `return Failure{error};`, so that T and E may be the same type.
template <class E>
struct Failure {
    E error;
};
template <class E>
Failure(E) -> Failure<E>;

template <class T, class E>
class [[nodiscard]] Result {
 public:
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    template <class F>
    requires std::is_convertible_v<F, E> Result(Failure<F> failure)
        : content_(std::in_place_index<1>, std::move(failure.error)) {}

    bool ok() const { return content_.index() == 0; }
    explicit operator bool() const { return ok(); }
    T& value() & { return checked<0>(content_); }
    const T& value() const& { return checked<0>(content_); }
    T&& value() && { return std::move(checked<0>(content_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    E& error() { return checked<1>(content_); }
    const E& error() const { return checked<1>(content_); }

 private:
    template <std::size_t I, class Variant>
    static auto& checked(Variant& content) {
        assert(content.index() == I);
        return *std::get_if<I>(&content);
    }
    std::variant<T, E> content_;
};

/// Success without a value.
template <class E>
class [[nodiscard]] Result<void, E> {
 public:
    Result() = default;
    template <class F>
    requires std::is_convertible_v<F, E> Result(Failure<F> failure)
        : content_(std::in_place_index<1>, std::move(failure.error)) {}

    bool ok() const { return content_.index() == 0; }
    explicit operator bool() const { return ok(); }
    E& error() {
        assert(!ok());
        return *std::get_if<1>(&content_);
    }
    const E& error() const {
        assert(!ok());
        return *std::get_if<1>(&content_);
    }

 private:
    std::variant<std::monostate, E> content_;
};

}  // namespace signalbox
