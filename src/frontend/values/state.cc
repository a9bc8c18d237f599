#include "frontend/values/state.h"

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
  std::string name(to_string(kind_));
  bool has_vowel = name[0] == 'O';
  return (has_vowel ? "an " : "a ") + name;
}

}  // namespace tessera::frontend
