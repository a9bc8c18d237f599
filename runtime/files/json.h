#pragma once
// A JSON document. The library that reads the text has values of its own, whose destructors allocate: where memory
// ends they end the process, which a library may not. So its parser fills these values, and its printer writes single
// numbers and strings only.

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/files/result.h"

namespace tessera::format {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() = default;  ///< null
  Json(bool value) : value_(value) {}
  Json(std::floating_point auto value) : value_(double(value)) {}
  Json(std::integral auto value) : value_(int64_t(value)) {
    if (std::cmp_greater(value, INT64_MAX)) value_ = uint64_t(value);
  }
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  /// An object where each element is a pair that begins with a string, else an array.
  Json(std::initializer_list<Json> elements);
  template <typename T>
  Json(const std::map<std::string, T>& members) : value_(Object(members.begin(), members.end())) {}
  template <typename T>
  Json(const std::vector<T>& elements) : value_(Array(elements.begin(), elements.end())) {}
  template <typename T, size_t count>
  Json(const std::array<T, count>& elements) : value_(Array(elements.begin(), elements.end())) {}

  static Json array() { return of(Array()); }
  static Json object() { return of(Object()); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  /// The value if it is of that kind, else null: bool, int64_t, uint64_t (beyond int64_t), double, std::string, Array
  /// or Object.
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }

  /// Of an array.
  void push_back(Json element) { std::get<Array>(value_).push_back(std::move(element)); }
  /// Of an object: the member, null if it is new.
  Json& operator[](std::string_view key);
  bool contains(std::string_view key) const;

  /// Members in order of key. Bytes that are no UTF-8 are replaced.
  std::string compact() const;
  /// The same with two spaces of indentation and a final newline.
  std::string indented() const;

 private:
  using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object>;

  static Json of(Value value) {
    Json json;
    json.value_ = std::move(value);
    return json;
  }

  Value value_;
};

/// Parses text of bounded size and depth.
Result<Json> parse_json(std::string_view text);

}  // namespace tessera::format
