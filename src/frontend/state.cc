#include "frontend/state.h"

#include "support/check.h"

namespace tessera::frontend {

std::string_view to_string(StateKind kind) {
  switch (kind) {
    case StateKind::KVCache:
      return "KVCache";
    case StateKind::OptimizerState:
      return "OptimizerState";
  }
  TSR_UNREACHABLE("unknown kind of state");
}

const IrValue* StateValue::field(std::string_view name) const {
  for (const auto& [known, value] : fields_) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::string StateValue::describe() const {
  return "a " + std::string(to_string(kind_));
}

}  // namespace tessera::frontend
