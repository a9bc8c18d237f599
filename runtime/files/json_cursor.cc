#include "runtime/files/json_cursor.h"

namespace tessera::format {

namespace {

const Json null_json;

}  // namespace

JsonCursor JsonCursor::operator[](const char* key) const {
  std::string path = path_.empty() ? key : cat(path_, ".", key);
  const auto* members = value_->as<Json::Object>();
  if (!members) {
    refuse("an object is expected");
    return JsonCursor(null_json, *error_, path);
  }
  auto found = members->find(key);
  return JsonCursor(found == members->end() ? null_json : found->second, *error_, path);
}

std::string JsonCursor::text() const {
  const auto* text = value_->as<std::string>();
  if (!text) refuse("a string is expected");
  if (text && !is_one_line(*text)) refuse("it has control characters");
  return text ? *text : "";
}

int64_t JsonCursor::integer() const {
  if (const auto* number = value_->as<int64_t>()) return *number;
  refuse("an integer is expected");
  return 0;
}

double JsonCursor::number() const {
  if (const auto* number = value_->as<double>()) return *number;
  refuse("a number with a fraction is expected");
  return 0;
}

bool JsonCursor::boolean() const {
  if (const auto* truth = value_->as<bool>()) return *truth;
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
  const auto* elements = value_->as<Json::Array>();
  if (!elements) return refuse("an array is expected");
  size_t index = 0;
  for (const Json& item : *elements) {
    if (!error_->empty()) return;
    visit(JsonCursor(item, *error_, cat(path_, "[", index++, "]")));
  }
}

void JsonCursor::each_member(
    const std::function<void(const std::string&, JsonCursor)>& visit) const {
  const auto* members = value_->as<Json::Object>();
  if (!members) return refuse("an object is expected");
  for (const auto& [key, item] : *members) {
    if (!error_->empty()) return;
    if (!is_one_line(key)) return refuse("a key has control characters");
    visit(key, JsonCursor(item, *error_, cat(path_, "[", in_quotes(key), "]")));
  }
}

void JsonCursor::refuse(std::string_view why) const {
  if (error_->empty()) *error_ = path_.empty() ? std::string(why) : cat(path_, ": ", why);
}

}  // namespace tessera::format
