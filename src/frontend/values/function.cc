#include "frontend/values/function.h"

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

}  // namespace tessera::frontend
