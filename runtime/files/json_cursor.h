#pragma once
// Reading untrusted JSON with one place for errors.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/json.h"
#include "runtime/files/text.h"

namespace tessera::format {

/// A place in a document. A wrong type is recorded once, with its path, and gives a neutral value.
class JsonCursor {
 public:
  JsonCursor(const Json& value, std::string& error) : value_(&value), error_(&error) {}

  JsonCursor operator[](const char* key) const;
  bool is_null() const { return value_->is_null(); }
  /// Of one line: what prints it cannot be led to print another.
  std::string text() const;
  int64_t integer() const;
  bool boolean() const;
  /// A finite number.
  double number() const;
  std::vector<std::string> texts() const;
  std::vector<int64_t> integers() const;
  /// Calls `visit` for each element of an array.
  void each(const std::function<void(JsonCursor)>& visit) const;
  /// Calls `visit` for each member of an object, in order of key; keys are of one line, too.
  void each_member(const std::function<void(const std::string&, JsonCursor)>& visit) const;
  /// Records an error at this place, unless there is one already.
  void refuse(std::string_view why) const;

 private:
  JsonCursor(const Json& value, std::string& error, std::string path)
      : value_(&value), error_(&error), path_(std::move(path)) {}

  const Json* value_;
  std::string* error_;
  std::string path_;
};

}  // namespace tessera::format
