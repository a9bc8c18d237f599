#include "frontend/values/transform.h"

#include <fmt/format.h>

#include "frontend/values/function.h"

namespace tessera::frontend {

std::string GradientFunction::describe() const {
  return fmt::format("{} of {}", name(), frontend::describe(function_));
}

Measure GradientFunction::measure() const {
  Measure all;
  all.add(function_.measure());
  return all;
}

Measure GradientTree::measure() const {
  Measure all;
  for (const auto& [name, member] : members_.entries) all.add(member.measure());
  return all;
}

bool is_function(const Datum& value) {
  return value.is(DatumKind::Function) || value.is(DatumKind::Builtin) || value.object_as<GradientFunction>();
}

std::vector<std::string_view> parameter_names(const Datum& function) {
  if (const auto* gradient = function.object_as<GradientFunction>()) return parameter_names(gradient->function());
  std::vector<std::string_view> names;
  if (!function.is(DatumKind::Function)) return names;
  for (const ast::Parameter& parameter : function.as_function().parameters()) names.push_back(parameter.name.text);
  return names;
}

}  // namespace tessera::frontend
