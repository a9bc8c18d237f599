#include "frontend/values/value.h"

#include <fmt/format.h>

#include <array>

#include "frontend/values/builtins.h"
#include "frontend/values/function.h"
#include "frontend/values/type_text.h"
#include "ir/core/op.h"
#include "support/check.h"

namespace tessera::frontend {

namespace {

/// Messages are read by people: no more of a value than this, and a little.
constexpr size_t shown_length = 2000;

/// The text, or its beginning in whole characters.
std::string cut(const std::string& text) {
  if (text.size() <= shown_length) return text;
  size_t end = shown_length;
  while (end > 0 && (uint8_t(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

/// Writes a part of a list unless there is enough of that.
template <typename F>
bool put_part(std::string& text, size_t begin, F&& put) {
  if (text.size() > begin) text += ", ";
  if (text.size() > shown_length) return text += "…", false;
  put();
  return true;
}

void write(std::string& text, const Datum& datum);

void write(std::string& text, const std::vector<Datum>& elements) {
  size_t begin = text.size();
  for (const Datum& element : elements) {
    if (!put_part(text, begin, [&] { write(text, element); })) return;
  }
}

void write(std::string& text, const Dictionary& entries, std::string_view separator) {
  size_t begin = text.size();
  for (const auto& [key, value] : entries.entries) {
    bool goes_on = put_part(text, begin, [&] {
      text += key;
      text += separator;
      write(text, value);
    });
    if (!goes_on) return;
  }
}

/// A value in a value, or one alone.
void write(std::string& text, const Datum& datum) {
  switch (datum.kind()) {
    case DatumKind::Tuple:
      text += '(';
      write(text, datum.elements());
      text += datum.elements().size() == 1 ? ",)" : ")";
      return;
    case DatumKind::List:
      text += '[';
      write(text, datum.elements());
      text += ']';
      return;
    case DatumKind::Dict:
      text += '{';
      write(text, datum.entries(), ": ");
      text += '}';
      return;
    case DatumKind::Schedule:
      text += "Schedule(";
      write(text, datum.entries(), "=");
      text += ')';
      return;
    default: text += to_text(datum);
  }
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

namespace {

/// The memory of a value beside its parts: the shared block, with the overhead of the allocator.
constexpr size_t block_bytes = 64;
/// Bytes that are copied in the time of a step.
constexpr size_t bytes_of_step = 1024;

Measure measure_of(const std::string&) { return {}; }
Measure measure_of(const std::vector<Datum>& elements) {
  Measure all;
  for (const Datum& element : elements) all.add(element.measure());
  return all;
}
Measure measure_of(const Dictionary& entries) {
  Measure all;
  for (const auto& [key, value] : entries.entries) all.add(value.measure());
  return all;
}

size_t size_of(const std::string& text) { return text.capacity(); }
size_t size_of(const std::vector<Datum>& elements) { return elements.capacity() * sizeof(Datum); }
size_t size_of(const Dictionary& entries) {
  size_t bytes = entries.entries.capacity() * sizeof(entries.entries[0]);
  for (const auto& [key, value] : entries.entries) bytes += key.capacity();
  return bytes;
}

}  // namespace

template <typename T>
Datum::Shared<T>::Shared(T made)
    : content(std::move(made)), measure(measure_of(content)), bytes(size_of(content) + block_bytes) {
  spending().steps += size_of(content) / bytes_of_step;
}

Datum::Datum() : storage_(Poison{}) {}
Datum::Datum(const Datum& other) = default;
Datum::Datum(Datum&& other) noexcept = default;
Datum& Datum::operator=(const Datum& other) = default;
Datum& Datum::operator=(Datum&& other) noexcept = default;
Datum::~Datum() = default;

namespace {

/// Values that are known of values that are known of values, and so on, tell nobody more.
constexpr uint32_t known_depth = 8;

}  // namespace

Datum Datum::unknown_list(Datum element) {
  if (element.measure().depth > known_depth) return poison();
  return Datum(Poison{std::make_shared<const Shared<Elements>>(Elements{std::move(element)}), true});
}

Datum Datum::or_none(Datum value) {
  if (value.is_poison() || value.measure().depth > known_depth) return poison();
  return Datum(Poison{std::make_shared<const Shared<Elements>>(Elements{std::move(value)}), false});
}

const Datum* Datum::known(bool is_list) const {
  const auto* poison = std::get_if<Poison>(&storage_);
  return poison && poison->known && poison->is_list == is_list ? &poison->known->content[0] : nullptr;
}

Datum Datum::none() {
  return Datum(NoneValue{});
}

Datum Datum::no_result(const Function* of) {
  return Datum(NoneValue{of});
}

Datum Datum::boolean(bool value) {
  return Datum(value);
}

Datum Datum::integer(int64_t value) {
  return Datum(value);
}

Datum Datum::number(double value) {
  return Datum(value);
}

Datum Datum::dtype(DType value, Policies policies) {
  return Datum(DTypeValue{value, policies});
}

Datum Datum::function(const Function* value) {
  return Datum(value);
}

Datum Datum::builtin(const Builtin* value) {
  return Datum(value);
}

Datum Datum::name_space(const Namespace* value) {
  return Datum(value);
}

Datum Datum::type(Type value) {
  return Datum(TypeReference{value});
}

Datum Datum::object(std::shared_ptr<const Object> value) {
  return Datum(std::move(value));
}

Datum Datum::ir(IrValue value) {
  return Datum(std::move(value));
}

Datum Datum::string(std::string value) {
  return Datum(std::make_shared<const Shared<std::string>>(std::move(value)));
}

Measure Datum::measure() const {
  switch (kind()) {
    case DatumKind::Poison: {
      const Poison& poison = std::get<Poison>(storage_);
      return poison.known ? poison.known->measure : Measure{};
    }
    case DatumKind::Tuple: return std::get<TupleValue>(storage_).sequence->measure;
    case DatumKind::List: return std::get<ListValue>(storage_).sequence->measure;
    case DatumKind::Dict: return std::get<DictValue>(storage_).dictionary->measure;
    case DatumKind::Schedule: return std::get<ScheduleStorage>(storage_).attributes->measure;
    case DatumKind::Object: return as_object().measure();
    default: return {};
  }
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
  return Datum(TupleValue{std::make_shared<const Shared<Elements>>(std::move(elements))});
}

Datum Datum::list(std::vector<Datum> elements) {
  return Datum(ListValue{std::make_shared<const Shared<Elements>>(std::move(elements))});
}

Datum Datum::dict(Dictionary entries) {
  return Datum(DictValue{std::make_shared<const Shared<Dictionary>>(std::move(entries))});
}

Datum Datum::schedule(Dictionary attributes) {
  std::sort(attributes.entries.begin(), attributes.entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Datum(ScheduleStorage{std::make_shared<const Shared<Dictionary>>(std::move(attributes))});
}

DatumKind Datum::kind() const {
  return DatumKind(storage_.index());
}

const std::vector<Datum>& Datum::elements() const {
  if (is(DatumKind::Tuple)) return std::get<TupleValue>(storage_).sequence->content;
  return std::get<ListValue>(storage_).sequence->content;
}

const Dictionary& Datum::entries() const {
  if (is(DatumKind::Dict)) return std::get<DictValue>(storage_).dictionary->content;
  return std::get<ScheduleStorage>(storage_).attributes->content;
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
      return fmt::format("\"{}\"", cut(datum.as_string()));
    case DatumKind::DType:
      return std::string(to_string(datum.as_dtype()));
    case DatumKind::Dim:
      return datum.as_dim()->text;
    case DatumKind::Tuple:
    case DatumKind::List:
    case DatumKind::Dict:
    case DatumKind::Schedule: {
      std::string text;
      write(text, datum);
      return text;
    }
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

std::string describe_given(const Datum& datum) {
  return datum.is(DatumKind::Float) ? to_text(datum) : describe(datum);
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
