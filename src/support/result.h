#pragma once
// A value or a failure whose diagnostics have already been reported.

#include <optional>
#include <utility>

#include "support/check.h"

namespace tessera {

/// The failure case: what went wrong is in the diagnostic engine.
struct Failure {};
inline constexpr Failure failure{};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Failure) {}

  explicit operator bool() const { return value_.has_value(); }
  bool failed() const { return !value_.has_value(); }
  T& operator*() { return checked(); }
  T* operator->() { return &checked(); }
  const T& operator*() const { return const_cast<Result*>(this)->checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

 private:
  T& checked() {
    TSR_CHECK(value_.has_value(), "a failed Result was read");
    return *value_;
  }
  std::optional<T> value_;
};

/// Success or failure without a value.
class [[nodiscard]] Status {
 public:
  Status(Failure) : ok_(false) {}
  static Status success() { return Status(); }
  explicit operator bool() const { return ok_; }
  bool failed() const { return !ok_; }

 private:
  Status() = default;
  bool ok_ = true;
};
inline const Status success = Status::success();

}  // namespace tessera
