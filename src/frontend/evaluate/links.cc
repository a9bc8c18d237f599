#include "frontend/evaluate/links.h"

#include "frontend/binding/declared.h"
#include "frontend/evaluate/session.h"

namespace tessera::frontend {

using names::Linked;

void Links::add(SourceModule& module, std::span<const std::string> broken) {
  std::vector<names::Declared> declared = names::list_all_declared(session_.sources(), module.unit.declarations);
  for (const std::string& name : broken) declared.push_back({.name = name});
  const File& file = files_.try_emplace(&module, module, std::move(declared)).first->second;
  module.as_namespace = {module.name, {.kind = Linked::Kind::File, .file = &file, .path = module.name}};
}

void Links::add_import(const SourceModule& importer, std::string_view dotted, SourceModule* target) {
  files_.at(&importer).imports[std::string(dotted)] = target ? &file_of(*target) : nullptr;
}

Linked Links::expression(const ast::Expr& expr, Scope& scope) {
  if (const auto* attribute = ast::as<ast::Attribute>(&expr)) {
    return member(expression(*attribute->object, scope), attribute->name.text);
  }
  const auto* written = ast::as<ast::Name>(&expr);
  for (Scope* at = &scope; written && at; at = at->parent()) {
    if (at == at->module_scope()) return name(*at->module(), written->text);
    const Binding* local = at->find_here(written->text);
    if (!local) continue;
    if (at == session_.prelude()) return linker_.of_language(written->text);
    return local->value.is(DatumKind::Namespace) ? local->value.as_namespace().linked : Linked{};
  }
  return {};
}

std::string Links::language_name(const ast::Expr& expr, const Function& function) {
  const ast::Expr* first = &expr;
  while (const auto* member = ast::as<ast::Attribute>(first)) first = member->object;
  const auto* name = ast::as<ast::Name>(first);
  if (!name || !session_.free_names(*function.node()).contains(name->text)) return {};
  Linked linked = expression(expr, *function.scope);
  if (linked.kind == Linked::Kind::Declared) linked = linker_.value(linked);
  return linked.kind == Linked::Kind::Language ? linked.path : std::string();
}

Links::Found Links::find(const Linked& linked) {
  switch (linked.kind) {
    case Linked::Kind::Declared: {
      Scope* scope = static_cast<const File*>(linked.file)->module->scope;
      return {scope, scope->find_here(linked.declared->name)};
    }
    case Linked::Kind::File: return {.module = &static_cast<const File*>(linked.file)->module->as_namespace};
    case Linked::Kind::Folder: {
      auto [it, is_new] = folders_.try_emplace({linked.file, linked.path});
      if (is_new) it->second = {linked.path, linked};
      return {.module = &it->second};
    }
    case Linked::Kind::Language: {
      bool is_inside = linked.path.find('.') != std::string::npos;
      Scope* scope = is_inside ? session_.tile_scope() : session_.prelude();
      return {scope, scope->find_here(name_in_scope(linked))};
    }
    case Linked::Kind::Unknown:
    case Linked::Kind::Failed: break;
  }
  return {};
}

Links::Found Links::lookup(const ast::Expr& expr, Scope& scope) {
  const auto* name = ast::as<ast::Name>(&expr);
  if (!name) return find(expression(expr, scope));
  Found found;
  found.binding = scope.find(name->text, &found.scope);
  if (!found.binding || !found.binding->alias_scope) return found;
  Scope* target = found.binding->alias_scope;
  return {target, target->find_here(found.binding->alias)};
}

std::string_view Links::name_in_scope(const Linked& linked) {
  if (linked.declared) return linked.declared->name;
  return std::string_view(linked.path).substr(linked.path.rfind('.') + 1);
}

bool Links::is_broken(const Linked& module) const {
  bool is_file = module.kind == Linked::Kind::File;
  return is_file && static_cast<const File*>(module.file)->module->broken;
}

const names::ModuleFile* Links::module(const names::ModuleFile& importer, std::string_view dotted) {
  const auto& imports = static_cast<const File&>(importer).imports;
  auto found = imports.find(dotted);
  return found == imports.end() ? nullptr : found->second;
}

const names::ModuleFile* Links::library(std::string_view dotted) {
  SourceModule* module = session_.load_library(dotted);
  return module ? &file_of(*module) : nullptr;
}

}  // namespace tessera::frontend
