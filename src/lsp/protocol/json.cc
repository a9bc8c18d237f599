#include "lsp/protocol/json.h"

#include <nlohmann/json.hpp>

namespace tessera::lsp {

namespace {

const Json& nothing() {
  static const Json null;
  return null;
}

}  // namespace

const Json& member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nothing();
  auto found = object.find(std::string(key));
  return found == object.end() ? nothing() : *found;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<int64_t> integer_at(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

bool is_set(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

const Json& at_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    size_t dot = path.find('.');
    at = &member(*at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

bool has_text(const Json& array, std::string_view text) {
  if (!array.is_array()) return false;
  for (const Json& element : array) {
    if (element.is_string() && element.get_ref<const std::string&>() == text) return true;
  }
  return false;
}

std::string to_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::lsp
