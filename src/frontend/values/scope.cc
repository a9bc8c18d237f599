#include "frontend/values/scope.h"

#include "frontend/values/function.h"

namespace tessera::frontend {

Scope* Scope::module_scope() const { return module_ ? module_->scope : nullptr; }

void Scope::enter(std::string_view name, Binding binding) {
  constexpr size_t node_bytes = sizeof(std::pair<std::string, Binding>) + 48;
  bool is_new = names_.insert_or_assign(std::string(name), std::move(binding)).second;
  if (is_new) bytes_.add(node_bytes + name.size());
}

void Scope::set(std::string_view name, Datum value, Loc loc) {
  Binding binding;
  binding.value = std::move(value);
  binding.loc = loc;
  enter(name, std::move(binding));
}

void Scope::set_pending(std::string_view name, const ast::Stmt* stmt, Loc loc) {
  Binding binding;
  binding.loc = loc;
  binding.state = Binding::State::Pending;
  binding.pending = stmt;
  enter(name, std::move(binding));
}

void Scope::set_alias(std::string_view name, Scope* scope, std::string_view target, Loc loc) {
  Binding binding;
  binding.loc = loc;
  binding.alias_scope = scope;
  binding.alias = target;
  enter(name, std::move(binding));
}

Binding* Scope::find_here(std::string_view name) {
  auto it = names_.find(name);
  return it == names_.end() ? nullptr : &it->second;
}

Binding* Scope::find(std::string_view name, Scope** where) {
  for (Scope* scope = this; scope; scope = scope->parent_) {
    if (Binding* binding = scope->find_here(name)) {
      if (where) *where = scope;
      return binding;
    }
  }
  return nullptr;
}

std::vector<std::string> Scope::visible_names() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope; scope = scope->parent_) {
    for (const auto& [name, binding] : scope->names_) names.push_back(name);
  }
  return names;
}

}  // namespace tessera::frontend
