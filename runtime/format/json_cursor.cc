#include "runtime/format/json_cursor.h"

namespace tessera::format {

namespace {

constexpr size_t max_json_bytes = size_t(64) << 20;
constexpr int max_json_depth = 32;
const Json null_json;

/// Deepest nesting of brackets outside strings.
int bracket_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.size() > max_json_bytes) return error("it is larger than ", max_json_bytes, " bytes");
  if (bracket_depth(text) > max_json_depth) return error("it nests too deeply");
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return error("it is not JSON");
  return value;
}

std::string print_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

JsonCursor JsonCursor::operator[](const char* key) const {
  std::string path = path_.empty() ? key : cat(path_, ".", key);
  if (!value_->is_object()) {
    refuse("an object is expected");
    return JsonCursor(null_json, *error_, path);
  }
  auto found = value_->find(key);
  return JsonCursor(found == value_->end() ? null_json : *found, *error_, path);
}

std::string JsonCursor::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  refuse("a string is expected");
  return "";
}

int64_t JsonCursor::integer() const {
  bool fits = value_->is_number_integer() &&
              (!value_->is_number_unsigned() || value_->get<uint64_t>() <= uint64_t(INT64_MAX));
  if (fits) return value_->get<int64_t>();
  refuse("an integer is expected");
  return 0;
}

double JsonCursor::number() const {
  if (value_->is_number_float()) return value_->get<double>();
  refuse("a number with a fraction is expected");
  return 0;
}

bool JsonCursor::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  refuse("true or false is expected");
  return false;
}

std::vector<std::string> JsonCursor::texts() const {
  std::vector<std::string> out;
  each([&](JsonCursor item) { out.push_back(item.text()); });
  return out;
}

std::vector<int64_t> JsonCursor::integers() const {
  std::vector<int64_t> out;
  each([&](JsonCursor item) { out.push_back(item.integer()); });
  return out;
}

void JsonCursor::each(const std::function<void(JsonCursor)>& visit) const {
  if (!value_->is_array()) return refuse("an array is expected");
  size_t index = 0;
  for (const Json& item : *value_) {
    if (!error_->empty()) return;
    visit(JsonCursor(item, *error_, cat(path_, "[", index++, "]")));
  }
}

void JsonCursor::each_member(
    const std::function<void(const std::string&, JsonCursor)>& visit) const {
  if (!value_->is_object()) return refuse("an object is expected");
  for (const auto& [key, item] : value_->items()) {
    if (!error_->empty()) return;
    visit(key, JsonCursor(item, *error_, cat(path_, "[", in_quotes(key), "]")));
  }
}

void JsonCursor::refuse(std::string_view why) const {
  if (error_->empty()) *error_ = path_.empty() ? std::string(why) : cat(path_, ": ", why);
}

}  // namespace tessera::format
