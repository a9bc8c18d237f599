// What an evaluation reports to its observer beside values: parameters and devices.

#include "frontend/evaluate/evaluate.h"

namespace tessera::frontend {

void Evaluator::observe_parameters(const Function& function, Scope& scope) {
  auto observe_name = [&](std::string_view name, Loc loc) {
    if (Binding* binding = scope.find_here(name)) observe(name, loc, binding->value);
  };
  for (const ast::Parameter& parameter : function.parameters()) {
    observe_name(parameter.name.text, parameter.name.loc);
  }
  const Signature* signature = function.def ? session_.known_signature(function) : nullptr;
  if (!signature) return;
  for (const DeclaredSymbol& symbol : signature->dims) observe_name(symbol.name, symbol.loc);
  for (const DeclaredSymbol& symbol : signature->dtypes) observe_name(symbol.name, symbol.loc);
}

void Evaluator::set_device(std::string device) {
  if (device == device_) return;
  device_ = std::move(device);
  if (session_.observer()) session_.observer()->placed(device_);
}

}  // namespace tessera::frontend
