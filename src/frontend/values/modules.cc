#include "frontend/values/modules.h"

#include <fmt/format.h>

namespace tessera::frontend {

const ast::Def* ModuleReference::method(std::string_view name) const {
  for (const ast::Stmt* stmt : stmt_->body) {
    const auto* def = ast::as<ast::Def>(stmt);
    if (def && def->name.text == name) return def;
  }
  return nullptr;
}

std::string ModuleApplication::describe() const {
  return "an instance of " + module_.describe() + " without a place";
}

bool ModuleApplication::is_like(const ModuleApplication& other) const {
  if (&module_.stmt() != &other.module_.stmt() || module_.scope() != other.module_.scope()) {
    return false;
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!equal(arguments_[i].value, other.arguments_[i].value)) return false;
  }
  return true;
}

const Datum* ModuleInstance::member(std::string_view name) const {
  auto it = members_.find(name);
  return it == members_.end() ? nullptr : &it->second;
}

void ModuleInstance::set_member(std::string_view name, Datum value) {
  members_.insert_or_assign(std::string(name), std::move(value));
}

std::string ModuleInstance::describe() const {
  return "an instance of " + module_.describe();
}

Measure Tree::measure() const {
  Measure all;
  for (const auto& [name, member] : members_.entries) all.add(member.measure());
  return all;
}

std::string joined_key(std::string_view prefix, std::string_view name) {
  if (prefix.empty() || name.empty()) return std::string(prefix.empty() ? name : prefix);
  return fmt::format("{}.{}", prefix, name);
}

bool is_param_field(const ast::Assign& field) {
  const ast::Expr* type = field.annotation;
  // A policy may stand behind the brackets.
  while (const auto* policy = ast::as<ast::Binary>(type)) type = policy->left;
  const auto* subscript = ast::as<ast::Subscript>(type);
  const auto* name = subscript ? ast::as<ast::Name>(subscript->object) : nullptr;
  return name && name->text == "Param";
}

}  // namespace tessera::frontend
