// The text form of types, read back: `head<dims, dtype policies, key = value…>`.

#include <algorithm>
#include <charconv>

#include "ir/core/context.h"

namespace tessera {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at a separator outside brackets of any kind.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '<') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '>') --depth;
    if (depth == 0 && text.substr(i, separator.size()) == separator) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + separator.size();
      i += separator.size() - 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The argument of `name(argument)`, or nullopt.
std::optional<std::string_view> call_argument(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || text.size() < name.size() + 2) return std::nullopt;
  if (text[name.size()] != '(' || text.back() != ')') return std::nullopt;
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

bool parse_dims(DimTable& table, std::string_view text, std::string_view separator,
                std::vector<Dim>& dims) {
  for (std::string_view part : split(text, separator)) {
    Dim dim = table.parse(part);
    if (!dim) return false;
    dims.push_back(dim);
  }
  return true;
}

bool parse_element(std::string_view text, DType& dtype, Policies& policies) {
  std::vector<std::string_view> words = split(text, " ");
  std::optional<DType> parsed = parse_dtype(words[0]);
  if (!parsed) return false;
  dtype = *parsed;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "stochastic_round") {
      policies.stochastic_round = true;
    } else if (words[i] == "saturate") {
      policies.saturate = true;
    } else if (auto accum = call_argument(words[i], "accum")) {
      policies.accum = parse_dtype(*accum);
      if (!policies.accum) return false;
    } else if (auto scale = call_argument(words[i], "loss_scale")) {
      policies.loss_scale = parse_int(*scale);
      if (!policies.loss_scale) return false;
    } else {
      return false;
    }
  }
  return true;
}

struct ViewFields {
  std::vector<Dim> strides;
  Dim offset = nullptr;
  std::optional<MemorySpace> space;
};

bool parse_view_field(DimTable& table, std::string_view text, ViewFields& fields) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  std::string_view key = trim(text.substr(0, equals)), value = trim(text.substr(equals + 1));
  if (key == "offset") return (fields.offset = table.parse(value)) != nullptr;
  if (key == "space") return (fields.space = parse_memory_space(value)).has_value();
  if (key != "strides" || value.size() < 2 || value.front() != '[' || value.back() != ']') return false;
  value = value.substr(1, value.size() - 2);
  return value.empty() || parse_dims(table, value, ",", fields.strides);
}

/// Lanes of a register; no instruction set has so many.
constexpr int64_t most_lanes = 1024;

}  // namespace

Type Context::parse_type(std::string_view text) {
  text = trim(text);
  if (text == "ptr") return ptr();
  if (text == "ptr<shared>") return ptr(MemorySpace::Shared);
  if (std::optional<DType> scalar_dtype = parse_dtype(text)) return scalar(*scalar_dtype);
  size_t open = text.find('<');
  if (open == std::string_view::npos || text.back() != '>') return nullptr;
  std::string_view head = text.substr(0, open);
  std::string_view body = text.substr(open + 1, text.size() - open - 2);
  if (head == "reg") {
    std::vector<std::string_view> parts = split(body, " x ");
    if (parts.size() != 2) return nullptr;
    std::optional<DType> dtype = parse_dtype(parts[0]);
    std::optional<int64_t> lanes = parse_int(parts[1]);
    return dtype && lanes && *lanes > 0 && *lanes <= most_lanes ? reg(*dtype, *lanes) : nullptr;
  }
  std::vector<std::string_view> parts = split(body, ",");
  DType dtype;
  Policies policies;
  size_t next = 0;
  std::vector<Dim> dims;
  if (!parse_element(parts[next], dtype, policies)) {
    if (!parse_dims(dims_, parts[next++], " x ", dims)) return nullptr;
    auto is_negative = [](Dim extent) { return extent->constant().value_or(0) < 0; };
    if (std::ranges::any_of(dims, is_negative)) return nullptr;
    if (next == parts.size() || !parse_element(parts[next], dtype, policies)) return nullptr;
  }
  ++next;
  std::string_view layout;
  if (next < parts.size() && parts.back().starts_with('#')) {
    layout = parts.back();
    parts.pop_back();
  }
  if (head == "view") {
    ViewFields fields;
    for (; next < parts.size(); ++next) {
      if (!parse_view_field(dims_, parts[next], fields)) return nullptr;
    }
    if (!fields.offset || !fields.space || fields.strides.size() != dims.size()) return nullptr;
    if (!policies.empty()) return nullptr;
    return with_layout(view(dims, dtype, fields.strides, fields.offset, *fields.space), layout);
  }
  if (next != parts.size()) return nullptr;
  if (head == "tensor" && layout.empty()) return tensor(dims, dtype, policies);
  if (head == "tile" && policies.empty()) return with_layout(tile(dims, dtype), layout);
  return nullptr;
}

}  // namespace tessera
