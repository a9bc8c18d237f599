#include "frontend/value.h"

#include <fmt/format.h>

#include <array>

#include "frontend/builtins.h"
#include "frontend/session.h"
#include "frontend/type_text.h"
#include "ir/core/op.h"
#include "support/check.h"

namespace tessera::frontend {

namespace {

std::string joined(const std::vector<Datum>& elements) {
  std::string text;
  for (const Datum& element : elements) {
    if (!text.empty()) text += ", ";
    text += to_text(element);
  }
  return text;
}

std::string joined(const Dictionary& entries, std::string_view separator) {
  std::string text;
  for (const auto& [key, value] : entries.entries) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}{}{}", key, separator, to_text(value));
  }
  return text;
}

/// Python's spelling: always with a point, an exponent or a word.
std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

bool equal(const std::vector<Datum>& a, const std::vector<Datum>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!frontend::equal(a[i], b[i])) return false;
  }
  return true;
}

bool equal(const Dictionary& a, const Dictionary& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Datum* other = b.get(key);
    if (!other || !frontend::equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

const Datum* Dictionary::get(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string_view describe(DatumKind kind) {
  static constexpr std::array<std::string_view, 18> names = {
      "nothing",    "None",       "a bool",   "an integer", "a number",  "a string",
      "a dtype",    "a size",     "a tuple",  "a list",     "a dict",    "a schedule",
      "a function", "a function", "a module", "a type",     "an object", "a tensor"};
  return names[size_t(kind)];
}

Datum Datum::string(std::string value) {
  return Datum(std::make_shared<const std::string>(std::move(value)));
}

Datum Datum::dim(Dim value) {
  if (value == nullptr || value->overflow) return poison();
  if (std::optional<int64_t> constant = value->constant()) return integer(*constant);
  return Datum(value);
}

Datum Datum::along(const KernelAxis* axis) const {
  Datum same = *this;
  same.axis_ = axis;
  return same;
}

Datum Datum::tuple(std::vector<Datum> elements) {
  return Datum(TupleValue{std::make_shared<const Sequence>(Sequence{std::move(elements)})});
}

Datum Datum::list(std::vector<Datum> elements) {
  return Datum(ListValue{std::make_shared<const Sequence>(Sequence{std::move(elements)})});
}

Datum Datum::dict(Dictionary entries) {
  return Datum(std::make_shared<const Dictionary>(std::move(entries)));
}

Datum Datum::schedule(Dictionary attributes) {
  std::sort(attributes.entries.begin(), attributes.entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Datum(std::make_shared<const ScheduleValue>(ScheduleValue{std::move(attributes)}));
}

DatumKind Datum::kind() const {
  return DatumKind(storage_.index());
}

const std::vector<Datum>& Datum::elements() const {
  if (is(DatumKind::Tuple)) return std::get<TupleValue>(storage_).sequence->elements;
  return std::get<ListValue>(storage_).sequence->elements;
}

const Dictionary& Datum::entries() const {
  if (is(DatumKind::Dict)) return *std::get<DictValue>(storage_);
  return std::get<ScheduleStorage>(storage_)->attributes;
}

std::string to_text(const Datum& datum) {
  switch (datum.kind()) {
    case DatumKind::Poison:
      return "?";
    case DatumKind::None:
      return "None";
    case DatumKind::Bool:
      return datum.as_bool() ? "True" : "False";
    case DatumKind::Int:
      return fmt::format("{}", datum.as_int());
    case DatumKind::Float:
      return number_text(datum.as_float());
    case DatumKind::String:
      return fmt::format("\"{}\"", datum.as_string());
    case DatumKind::DType:
      return std::string(to_string(datum.as_dtype()));
    case DatumKind::Dim:
      return datum.as_dim()->text;
    case DatumKind::Tuple:
      return fmt::format("({}{})", joined(datum.elements()),
                         datum.elements().size() == 1 ? "," : "");
    case DatumKind::List:
      return fmt::format("[{}]", joined(datum.elements()));
    case DatumKind::Dict:
      return fmt::format("{{{}}}", joined(datum.entries(), ": "));
    case DatumKind::Schedule:
      return fmt::format("Schedule({})", joined(datum.entries(), "="));
    case DatumKind::Function:
      return datum.as_function().name;
    case DatumKind::Builtin:
      return datum.as_builtin().name;
    case DatumKind::Namespace:
      return datum.as_namespace().name;
    case DatumKind::Type:
      return datum.as_type()->text;
    case DatumKind::Object:
      return datum.as_object().describe();
    case DatumKind::Ir:
      return datum.as_ir().value->type()->text;
  }
  TSR_UNREACHABLE("datum kind");
}

std::string describe(const Datum& datum) {
  if (datum.is_ir()) return with_article(datum.as_ir().value->type());
  if (datum.is(DatumKind::Object)) return datum.as_object().describe();
  return std::string(describe(datum.kind()));
}

std::optional<DType> named_dtype(const Datum& datum) {
  if (datum.is(DatumKind::DType)) return datum.as_dtype();
  if (!datum.is(DatumKind::Builtin) || datum.as_builtin().table != "ops") return std::nullopt;
  switch (BuiltinId(datum.as_builtin().id)) {
    case BuiltinId::ToInt:
      return DType::I64;
    case BuiltinId::ToFloat:
      return DType::F32;
    case BuiltinId::ToBool:
      return DType::Bool;
    default:
      return std::nullopt;
  }
}

bool equal(const Datum& a, const Datum& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is(DatumKind::Int) && b.is(DatumKind::Int)) return a.as_int() == b.as_int();
    return a.as_double() == b.as_double();
  }
  if (a.is(DatumKind::DType) || b.is(DatumKind::DType)) {
    return named_dtype(a) && named_dtype(a) == named_dtype(b);
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case DatumKind::Poison:
    case DatumKind::None:
      return true;
    case DatumKind::Bool:
      return a.as_bool() == b.as_bool();
    case DatumKind::String:
      return a.as_string() == b.as_string();
    case DatumKind::Dim:
      return a.as_dim() == b.as_dim();
    case DatumKind::Tuple:
    case DatumKind::List:
      return equal(a.elements(), b.elements());
    case DatumKind::Dict:
    case DatumKind::Schedule:
      return equal(a.entries(), b.entries());
    case DatumKind::Function:
      return &a.as_function() == &b.as_function();
    case DatumKind::Builtin:
      return &a.as_builtin() == &b.as_builtin();
    case DatumKind::Namespace:
      return &a.as_namespace() == &b.as_namespace();
    case DatumKind::Type:
      return a.as_type() == b.as_type();
    case DatumKind::Object:
      return &a.as_object() == &b.as_object();
    case DatumKind::Int:
    case DatumKind::Float:
    case DatumKind::DType:
    case DatumKind::Ir:
      break;
  }
  return false;
}

}  // namespace tessera::frontend
