#include "runtime/files/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/files/text.h"

namespace tessera::format {

namespace {

using Library = nlohmann::json;

constexpr size_t max_json_bytes = size_t(64) << 20;
constexpr size_t max_json_depth = 32;

/// Builds a document from what the library's parser finds. The unfinished value of each open bracket is on a
/// stack.
class Builder : public nlohmann::json_sax<Library> {
 public:
  Json take() { return std::move(root_); }
  bool is_too_deep() const { return open_.size() == max_json_depth; }
  /// The key that an object has twice; empty if none has.
  const std::string& twin() const { return twin_; }

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (open_.back().value.contains(value)) twin_ = in_quotes(value);
    open_.back().key = std::move(value);
    return twin_.empty();
  }
  bool parse_error(size_t, const std::string&, const Library::exception&) override { return false; }

 private:
  struct Open {
    Json value;
    std::string key;  ///< of the next member
  };

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& last = open_.back(); last.value.as<Json::Object>()) {
      last.value[last.key] = std::move(value);
    } else {
      last.value.push_back(std::move(value));
    }
    return true;
  }

  bool open(Json value) {
    if (is_too_deep()) return false;
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  Json root_;
  std::vector<Open> open_;
  std::string twin_;
};

class Printer {
 public:
  explicit Printer(bool indents) : indents_(indents) {}

  std::string take() { return std::move(out_); }

  void print(const Json& json) {
    if (const auto* elements = json.as<Json::Array>()) {
      list('[', *elements, ']', [&](const Json& element) { print(element); });
    } else if (const auto* members = json.as<Json::Object>()) {
      list('{', *members, '}', [&](const auto& member) {
        print_scalar(Library(member.first));
        out_ += indents_ ? ": " : ":";
        print(member.second);
      });
    } else {
      print_scalar(scalar(json));
    }
  }

 private:
  template <typename List, typename PrintOne>
  void list(char begin, const List& elements, char end, PrintOne&& print_one) {
    out_ += begin;
    ++depth_;
    bool first = true;
    for (const auto& element : elements) {
      if (!first) out_ += ',';
      first = false;
      new_line();
      print_one(element);
    }
    --depth_;
    if (!first) new_line();
    out_ += end;
  }

  void new_line() {
    if (!indents_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  static Library scalar(const Json& json) {
    if (const auto* truth = json.as<bool>()) return *truth;
    if (const auto* number = json.as<int64_t>()) return *number;
    if (const auto* number = json.as<uint64_t>()) return *number;
    if (const auto* number = json.as<double>()) return *number;
    if (const auto* text = json.as<std::string>()) return *text;
    return nullptr;
  }

  void print_scalar(const Library& value) { out_ += value.dump(-1, ' ', false, Library::error_handler_t::replace); }

  bool indents_;
  size_t depth_ = 0;
  std::string out_;
};

bool is_member(const Json& element) {
  const auto* pair = element.as<Json::Array>();
  return pair && pair->size() == 2 && (*pair)[0].as<std::string>();
}

}  // namespace

Json::Json(std::initializer_list<Json> elements) {
  if (!std::all_of(elements.begin(), elements.end(), is_member)) {
    value_ = Array(elements);
    return;
  }
  Object& members = value_.emplace<Object>();
  for (const Json& element : elements) {
    const Array& pair = *element.as<Array>();
    members.insert_or_assign(*pair[0].as<std::string>(), pair[1]);
  }
}

Json& Json::operator[](std::string_view key) {
  Object& members = std::get<Object>(value_);
  auto found = members.find(key);
  return found != members.end() ? found->second : members.emplace(key, Json()).first->second;
}

bool Json::contains(std::string_view key) const { return std::get<Object>(value_).contains(key); }

std::string Json::compact() const {
  Printer printer(false);
  printer.print(*this);
  return printer.take();
}

std::string Json::indented() const {
  Printer printer(true);
  printer.print(*this);
  return printer.take() + "\n";
}

Result<Json> parse_json(std::string_view text) {
  if (text.size() > max_json_bytes) return error("it is larger than ", max_json_bytes, " bytes");
  // The library takes a zero byte for the end.
  if (text.find('\0') != text.npos) return error("it has zero bytes");
  Builder builder;
  if (!Library::sax_parse(text.begin(), text.end(), &builder)) {
    if (!builder.twin().empty()) return error("it has the key ", builder.twin(), " twice");
    return error(builder.is_too_deep() ? "it nests too deeply" : "it is not JSON");
  }
  return builder.take();
}

}  // namespace tessera::format
