#pragma once
// A value or the reason why there is none. The formats report plain text: they know no source
// locations and are shared by the compiler, the runtime and the tools.

#include <optional>
#include <string>
#include <utility>

namespace tessera::format {

/// Why something was refused: lower-case text without a final period.
struct Error {
  std::string text;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return value_.value(); }
  const T& operator*() const { return value_.value(); }
  T* operator->() { return &value_.value(); }
  const T* operator->() const { return &value_.value(); }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// Success, or the reason for failure.
class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  Outcome(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace tessera::format
