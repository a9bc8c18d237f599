#include "frontend/index/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/evaluate/session.h"
#include "frontend/values/modules.h"
#include "frontend/values/state.h"
#include "ir/core/op.h"

namespace tessera::frontend {

namespace {

constexpr size_t text_limit = 240;
constexpr size_t shown_elements = 8;
/// Columns behind which a sequence is cut.
constexpr size_t shown_columns = 72;
constexpr unsigned depth_limit = 4;

/// At most `text_limit` bytes; a cut is marked and splits no character.
std::string shortened(std::string text) {
  constexpr std::string_view mark = "…";
  if (text.size() <= text_limit) return text;
  size_t end = text_limit - mark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  text += mark;
  return text;
}

std::string policies_text(const Policies& policies) {
  std::string text;
  if (policies.accum) text += fmt::format(" @accum({})", to_string(*policies.accum));
  if (policies.stochastic_round) text += " @stochastic_round";
  if (policies.saturate) text += " @saturate";
  if (policies.loss_scale) text += fmt::format(" @loss_scale({})", *policies.loss_scale);
  return text;
}

/// Of a value of that type, which is stored in another dtype perhaps.
ValueFacts type_facts(Type type, DType storage, const Policies& policies) {
  ValueFacts facts;
  facts.dtype = to_string(storage);
  facts.computed = to_string(type->dtype);
  facts.policies = policies_text(policies);
  if (type->is(TypeKind::Scalar)) {
    facts.kind = ValueKind::Scalar;
    facts.text = facts.dtype;
    return facts;
  }
  bool is_tile = type->is(TypeKind::Tile);
  facts.kind = is_tile ? ValueKind::Tile : ValueKind::Tensor;
  for (Dim dim : type->dims) facts.shape.push_back(dim->text);
  facts.text = fmt::format("{}[{}{}{}{}]", is_tile ? "Tile" : "Tensor", fmt::join(facts.shape, ", "),
                           facts.shape.empty() ? "" : ", ", facts.dtype, facts.policies);
  return facts;
}

ValueFacts ir_facts(const IrValue& value) {
  return type_facts(value.value->type(), value.storage, value.policies);
}

std::string text_of(const Datum& value, unsigned depth);

/// "[Tensor[B, f32]] * 12" where all elements are alike.
std::string sequence_text(const Datum& value, unsigned depth) {
  const std::vector<Datum>& elements = value.elements();
  bool is_list = value.is(DatumKind::List);
  std::vector<std::string> texts;
  size_t columns = 0;
  while (texts.size() < std::min(elements.size(), shown_elements) && columns < shown_columns) {
    texts.push_back(text_of(elements[texts.size()], depth + 1));
    columns += texts.back().size() + 2;
  }
  bool cut = elements.size() > texts.size();
  bool alike = is_list && elements.size() > 2;
  for (size_t i = 1; alike && i < elements.size(); ++i) {
    alike = (i < texts.size() ? texts[i] : text_of(elements[i], depth + 1)) == texts[0];
  }
  if (alike) return fmt::format("[{}] * {}", texts[0], elements.size());
  std::string inside = fmt::format("{}{}", fmt::join(texts, ", "), cut ? ", …" : "");
  if (is_list) return fmt::format("[{}]", inside);
  return fmt::format("({}{})", inside, elements.size() == 1 ? "," : "");
}

/// As its type is written: "KVCache[B, H, S, D, bf16]", which says what its first tensor is.
std::string state_text(const StateValue& state) {
  std::string kind(to_string(state.kind()));
  if (state.fields().empty() || !state.form().is_none()) return kind;  // of a tree there are many
  std::string first = ir_facts(state.fields()[0].second).text;
  return kind + first.substr(std::min(first.find('['), first.size()));
}

std::string text_of(const Datum& value, unsigned depth) {
  if (depth >= depth_limit) return "…";
  if (value.is_sequence()) return sequence_text(value, depth);
  if (value.is_ir()) return ir_facts(value.as_ir()).text;
  if (value.is(DatumKind::Function)) return fmt::format("function '{}'", value.as_function().name);
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    return std::string(instance->module().name());
  }
  if (const auto* state = value.object_as<StateValue>()) return state_text(*state);
  if (!value.is(DatumKind::Dict)) return to_text(value);
  std::string text;
  for (const auto& [key, element] : value.entries().entries) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, text_of(element, depth + 1));
    if (text.size() > text_limit) break;
  }
  return fmt::format("{{{}}}", text);
}

ValueKind object_kind(const Datum& value) {
  if (value.object_as<ModuleInstance>()) return ValueKind::Instance;
  if (value.object_as<ModuleReference>()) return ValueKind::Module;
  if (value.object_as<StateValue>()) return ValueKind::State;
  return ValueKind::Other;
}

ValueKind kind_of(const Datum& value) {
  switch (value.kind()) {
    case DatumKind::None:
    case DatumKind::Bool:
    case DatumKind::Int:
    case DatumKind::Float:
    case DatumKind::String:
      return ValueKind::Number;
    case DatumKind::Dim:
      return ValueKind::Size;
    case DatumKind::DType:
      return ValueKind::DType;
    case DatumKind::Tuple:
    case DatumKind::List:
    case DatumKind::Dict:
      return ValueKind::Sequence;
    case DatumKind::Schedule:
      return ValueKind::Schedule;
    case DatumKind::Function:
    case DatumKind::Builtin:
      return ValueKind::Function;
    case DatumKind::Namespace:
      return ValueKind::Namespace;
    case DatumKind::Object:
      return object_kind(value);
    default:
      return ValueKind::Other;
  }
}

Loc definition_of(const Datum& value) {
  if (value.is(DatumKind::Function)) return value.as_function().loc;
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    return instance->module().stmt().name.loc;
  }
  if (const auto* module = value.object_as<ModuleReference>()) return module->stmt().name.loc;
  return {};
}

}  // namespace

ValueFacts facts_of(const Datum& value) {
  ValueFacts facts;
  if (value.is_ir()) {
    facts = ir_facts(value.as_ir());
  } else if (value.is(DatumKind::Type) && value.as_type()->is(TypeKind::Tensor)) {
    Type type = value.as_type();
    facts = type_facts(type, type->dtype, type->policies);
  } else {
    facts.kind = kind_of(value);
    facts.text = text_of(value, 0);
    facts.definition = definition_of(value);
  }
  facts.text = shortened(std::move(facts.text));
  return facts;
}

}  // namespace tessera::frontend
