#include "frontend/values/function.h"

#include <fmt/format.h>

#include "frontend/syntax/ast.h"

namespace tessera::frontend {

std::span<const ast::Parameter> Function::parameters() const {
  std::span<const ast::Parameter> all = def ? def->parameters : lambda->parameters;
  // A method without 'self' is reported, and keeps all the parameters that it names.
  bool has_self = is_method && !all.empty() && (all[0].name.text == "self" || all[0].name.text == "this");
  return has_self ? all.subspan(1) : all;
}

const ast::Node* Function::node() const {
  if (def) return def;
  return lambda;
}

std::string TransformedFunction::describe() const {
  return fmt::format("{} of {}", name(), frontend::describe(function_));
}

Measure TransformedFunction::measure() const {
  Measure all;
  all.add(function_.measure());
  return all;
}

std::optional<CheckpointPolicy> checkpoint_policy(const Datum& value) {
  CheckpointPolicy policy;
  if (value.is(DatumKind::String)) {
    policy.matmuls = value.as_string() == "matmuls";
    if (policy.matmuls || value.as_string() == "nothing") return policy;
    return std::nullopt;
  }
  if (!value.is_sequence()) return std::nullopt;
  for (const Datum& name : value.elements()) {
    if (!name.is(DatumKind::String)) return std::nullopt;
    policy.names.emplace_back(name.as_string());
  }
  return policy;
}

bool is_function(const Datum& value) {
  return value.is(DatumKind::Function) || value.is(DatumKind::Builtin) || value.object_as<TransformedFunction>();
}

std::vector<std::string_view> parameter_names(const Datum& function) {
  if (const auto* made = function.object_as<TransformedFunction>()) return parameter_names(made->function());
  std::vector<std::string_view> names;
  if (!function.is(DatumKind::Function)) return names;
  for (const ast::Parameter& parameter : function.as_function().parameters()) names.push_back(parameter.name.text);
  return names;
}

}  // namespace tessera::frontend
