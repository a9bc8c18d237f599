#include "frontend/values/builtins.h"

#include <charconv>

#include "support/check.h"

namespace tessera::frontend {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The text up to the next comma, which is taken off `rest`.
std::string_view next_item(std::string_view& rest) {
  size_t comma = rest.find(',');
  std::string_view item = trimmed(rest.substr(0, comma));
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return item;
}

BuiltinParameter read_parameter(std::string_view item, bool keyword_only) {
  BuiltinParameter parameter;
  parameter.keyword_only = keyword_only;
  if (item.starts_with("**")) {
    parameter.kind = BuiltinParameterKind::Keywords;
    item.remove_prefix(2);
  } else if (item.starts_with("*")) {
    parameter.kind = BuiltinParameterKind::Rest;
    item.remove_prefix(1);
  }
  size_t equals = item.find('=');
  parameter.name = std::string(trimmed(item.substr(0, equals)));
  if (equals != std::string_view::npos) {
    parameter.default_text = std::string(trimmed(item.substr(equals + 1)));
  }
  return parameter;
}

}  // namespace

Builtin make_builtin(std::string_view table, uint16_t id, std::string_view name, std::string_view signature) {
  Builtin builtin;
  builtin.name = std::string(name);
  builtin.table = table;
  builtin.id = id;
  bool keyword_only = false;
  while (!signature.empty()) {
    std::string_view item = next_item(signature);
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    builtin.parameters.push_back(read_parameter(item, keyword_only));
    if (builtin.parameters.back().kind == BuiltinParameterKind::Rest) keyword_only = true;
  }
  return builtin;
}

Builtin make_builtin(std::string_view table, uint16_t id, std::string_view written, ElementwiseKind elementwise) {
  size_t open = written.find('(');
  std::string_view signature = written.substr(open + 1, written.size() - open - 2);
  Builtin builtin = make_builtin(table, id, written.substr(0, open), signature);
  builtin.elementwise = elementwise;
  return builtin;
}

std::span<const Builtin> common_builtins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> rows;
#define BUILTIN(Id, name, signature) \
  rows.push_back(make_builtin("ops", uint16_t(BuiltinId::Id), name, signature));
#define BUILTIN_ON_TILES(Id, name, signature) \
  BUILTIN(Id, name, signature)                \
  rows.back().on_tiles = true;
#define ELEMENTWISE_BUILTIN(Id, written) \
  rows.push_back(make_builtin("ops", uint16_t(BuiltinId::Id), written, ElementwiseKind::Id));
#include "frontend/values/builtins.def"
#undef BUILTIN
#undef ELEMENTWISE_BUILTIN
    return rows;
  }();
  return table;
}

Datum default_value(const BuiltinParameter& parameter) {
  std::string_view text = parameter.default_text;
  if (text == "None") return Datum::none();
  if (text == "True" || text == "False") return Datum::boolean(text == "True");
  if (text.starts_with('\'')) return Datum::string(std::string(text.substr(1, text.size() - 2)));
  int64_t integer = 0;
  auto whole = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (whole.ec == std::errc() && whole.ptr == text.data() + text.size()) {
    return Datum::integer(integer);
  }
  double number = 0;
  auto real = std::from_chars(text.data(), text.data() + text.size(), number);
  TSR_CHECK(real.ec == std::errc() && real.ptr == text.data() + text.size(),
            "default of a builtin's parameter");
  return Datum::number(number);
}

}  // namespace tessera::frontend
