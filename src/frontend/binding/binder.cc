// Names and scopes, and the declarations that open them.

#include "frontend/binding/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/syntax/ast_walk.h"

namespace tessera::names {

FileNames Binder::bind(std::span<const ast::Declaration> declarations) {
  uint32_t end = uint32_t(text().size());
  for (size_t i = 0; i < declarations.size(); ++i) {
    const ast::Stmt& stmt = *declarations[i].stmt;
    if (!is_own(stmt.loc)) continue;
    bool has_next = i + 1 < declarations.size() && is_own(declarations[i + 1].stmt->loc);
    uint32_t next = has_next ? range(declarations[i + 1].stmt->loc).begin : end;
    top_level(stmt, {range(stmt.loc).begin, std::max(next, range(stmt.loc).end)});
  }
  out_.sort();
  return std::move(out_);
}

FreeNames Binder::free_names(const ast::Node& node) {
  if (ast::is_expression(node.kind)) {
    expression(static_cast<const ast::Expr*>(&node));
  } else {
    top_level(static_cast<const ast::Stmt&>(node), range(node.loc));
  }
  return std::move(free_);
}

void Binder::Join::add(const Flow& flow) {
  if (flow.ends) return;
  if (!any_) given_ = flow.given;
  any_ = true;
  given_.resize(std::min(given_.size(), flow.given.size()));
  for (size_t i = 0; i < given_.size(); ++i) given_[i] = given_[i] && flow.given[i];
}

Binder::Flow Binder::Join::result(const Flow& before) const {
  return any_ ? Flow{given_, false} : Flow{before.given, true};
}

int32_t Binder::add(Loc loc, OccurrenceKind kind, bool writes) {
  if (!is_own(loc)) return -1;
  TextRange place = range(loc);
  auto [it, fresh] = by_offset_.try_emplace(place.begin, int32_t(out_.occurrences.size()));
  if (!fresh) return it->second;  // two names of one macro
  out_.occurrences.push_back({place, kind, writes});
  return it->second;
}

int32_t Binder::declare(std::string_view name, Loc loc, SymbolKind kind) {
  if (name.empty() || scope_ < 0) return -1;
  ScopeNames& scope = out_.scopes[size_t(scope_)];
  auto [it, fresh] = scope.names.try_emplace(name, int32_t(out_.locals.size()));
  if (fresh) out_.locals.push_back({std::string(name), kind, range(loc), scope.range});
  return it->second;
}

void Binder::give(int32_t local) {
  if (local < 0) return;
  if (flow_.given.size() <= size_t(local)) flow_.given.resize(size_t(local) + 1);
  flow_.given[size_t(local)] = true;
}

void Binder::note_free(std::string_view name, Place place) {
  bool is_size = false;
  for (int32_t at = scope_; at >= 0; at = out_.scopes[size_t(at)].parent) {
    const auto& names = out_.scopes[size_t(at)].names;
    auto found = names.find(name);
    if (found == names.end()) continue;
    is_size = out_.locals[size_t(found->second)].kind == SymbolKind::Size;
    if (is_size) break;
    if (is_given(found->second)) return;
  }
  std::vector<std::string_view>& list = is_size ? free_.sizes : place == Place::Value ? free_.names : free_.types;
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

int32_t Binder::use(std::string_view name, Loc loc, Place place, bool writes) {
  int32_t local = out_.find(name, scope_);
  if (local < 0 && place == Place::TypeArgument && signature_ >= 0) {
    int32_t inner = std::exchange(scope_, signature_);
    local = declare(name, loc, SymbolKind::Size);
    give(local);
    scope_ = inner;
    writes = true;
  }
  if (!writes && local >= 0) out_.locals[size_t(local)].is_read = true;
  if (!writes || place == Place::TypeArgument) note_free(name, place);
  int32_t made = add(loc, local < 0 ? OccurrenceKind::Free : OccurrenceKind::Local, writes);
  if (made < 0) return made;
  Occurrence& occurrence = out_.occurrences[size_t(made)];
  occurrence.local = local;
  occurrence.in_type = place != Place::Value;
  occurrence.is_certain = writes || local < 0 || is_given(local);
  return made;
}

void Binder::open(TextRange range) {
  out_.scopes.push_back({scope_, range, {}});
  scope_ = int32_t(out_.scopes.size()) - 1;
}

uint32_t Binder::end_of(ast::StmtList body, size_t i, uint32_t end) const {
  bool has_next = i + 1 < body.size() && is_own(body[i + 1]->loc);
  return has_next ? range(body[i + 1]->loc).begin : end;
}

void Binder::parameters(std::span<const ast::Parameter> list, const std::string& callable, std::string_view owner) {
  for (size_t i = 0; i < list.size(); ++i) {
    bool is_self = i == 0 && !owner.empty();
    int32_t made = declare(list[i].name.text, list[i].name.loc, is_self ? SymbolKind::Self : SymbolKind::Parameter);
    if (made < 0) continue;
    give(made);
    Local& local = out_.locals[size_t(made)];
    local.parameter = &list[i];
    local.callable = is_self ? "" : callable;
    if (is_self) local.owner = owner;
    use(list[i].name.text, list[i].name.loc, Place::Value, true);
  }
  for (const ast::Parameter& parameter : list) expression(parameter.annotation, Place::Annotation);
}

void Binder::decorators(std::span<const ast::Decorator> list) {
  for (const ast::Decorator& decorator : list) {
    path(decorator.path, OccurrenceKind::Decorator);
    arguments(decorator.arguments, -1, nullptr, Place::Value);
  }
}

void Binder::effects(ast::ExprList list) {
  for (const ast::Expr* effect : list) {
    const auto* call = ast::as<ast::Call>(effect);
    const auto* name = ast::as<ast::Name>(call ? call->callee : effect);
    if (name) add(name->loc, OccurrenceKind::Effect);
    if (call) arguments(call->arguments, -1, nullptr, Place::Value);
  }
}

/// The defaults of a function whose scope is open. One that names a size or dtype of the signature waits for its value;
/// others are of the scope around.
void Binder::defaults(std::span<const ast::Parameter> list) {
  for (const ast::Parameter& parameter : list) {
    if (!parameter.default_value) continue;
    bool waits = false;
    ast::walk(*parameter.default_value, [&](const ast::Node& node) {
      const auto* name = node.kind == ast::NodeKind::Name ? static_cast<const ast::Name*>(&node) : nullptr;
      if (!name) return;
      const auto& names = out_.scopes[size_t(scope_)].names;
      auto found = names.find(name->text);
      waits |= found != names.end() && out_.locals[size_t(found->second)].kind == SymbolKind::Size;
    });
    int32_t inner = scope_;
    if (!waits) scope_ = out_.scopes[size_t(scope_)].parent;
    expression(parameter.default_value);
    scope_ = inner;
  }
}

/// The parameters, types and body of a function whose name is bound.
void Binder::function(const ast::Def& def, const std::string& callable, std::string_view owner, uint32_t end) {
  Flow around = flow_;
  flow_.ends = false;
  open({range(def.loc).begin, end});
  int32_t outer = std::exchange(signature_, scope_);
  parameters(def.parameters, callable, owner);
  signature_ = outer;
  defaults(def.parameters);
  expression(def.return_type, Place::Annotation);
  effects(def.effects);
  for (const ast::Expr* clause : def.where) expression(clause);
  int32_t none = std::exchange(signature_, -1);
  block(def.body, end);
  signature_ = none;
  close();
  flow_ = std::move(around);
}

void Binder::def(const ast::Def& def, std::string_view owner, uint32_t end) {
  decorators(def.decorators);
  int32_t made = add(def.name.loc, owner.empty() ? OccurrenceKind::Free : OccurrenceKind::OwnMember, true);
  if (made >= 0) out_.occurrences[size_t(made)].owner = owner;
  std::string name(def.name.text);
  function(def, owner.empty() ? name : std::string(owner) + "." + name, owner, end);
}

void Binder::nested_def(const ast::Def& def, uint32_t end) {
  // A broken layout leaves parts of functions at the top level.
  if (scope_ < 0) return this->def(def, "", end);
  decorators(def.decorators);
  int32_t made = declare(def.name.text, def.name.loc, SymbolKind::Function);
  if (made >= 0 && !out_.locals[size_t(made)].def) out_.locals[size_t(made)].def = &def;
  use(def.name.text, def.name.loc, Place::Value, true);
  give(made);  // it can name itself
  // Its callers are in the functions around it.
  function(def, fmt::format("#{}", range(def.name.loc).begin), "", end);
}

void Binder::field(const ast::Assign& field, std::string_view owner) {
  expression(field.annotation, Place::Annotation);
  expression(field.value);
  for (const ast::Expr* target : field.targets) {
    int32_t made = add(target->loc, OccurrenceKind::OwnMember, true);
    if (made >= 0) out_.occurrences[size_t(made)].owner = owner;
  }
}

void Binder::module(const ast::Module& module, uint32_t end) {
  decorators(module.decorators);
  add(module.name.loc, OccurrenceKind::Free, true);
  for (const ast::Parameter& parameter : module.parameters) expression(parameter.default_value);
  open({range(module.loc).begin, end});
  parameters(module.parameters, std::string(module.name.text), "");
  for (const ast::Stmt* stmt : module.body) {
    const auto* constant = ast::as<ast::Const>(stmt);
    int32_t made = constant ? declare(constant->name.text, constant->name.loc, SymbolKind::Constant) : -1;
    if (made < 0) continue;
    give(made);
    out_.locals[size_t(made)].owner = module.name.text;
  }
  for (const ast::Expr* clause : module.where) expression(clause);
  for (size_t i = 0; i < module.body.size(); ++i) {
    member(*module.body[i], module.name.text, end_of(module.body, i, end));
  }
  close();
}

void Binder::member(const ast::Stmt& stmt, std::string_view owner, uint32_t end) {
  if (const auto* method = ast::as<ast::Def>(&stmt)) {
    def(*method, owner, end);
  } else if (const auto* assign = ast::as<ast::Assign>(&stmt)) {
    field(*assign, owner);
  } else if (const auto* constant = ast::as<ast::Const>(&stmt)) {
    expression(constant->annotation, Place::Annotation);
    expression(constant->value);
    use(constant->name.text, constant->name.loc, Place::Value, true);
  } else {
    statement(stmt, end);
  }
}

void Binder::path(std::span<const ast::Identifier> parts, OccurrenceKind kind) {
  for (const ast::Identifier& part : parts) {
    int32_t made = add(part.loc, kind);
    if (made < 0) continue;
    // From the first byte of the path to the last of this part, as it is written.
    uint32_t begin = range(parts.front().loc).begin;
    Occurrence& occurrence = out_.occurrences[size_t(made)];
    occurrence.path = text().substr(begin, occurrence.range.end - begin);
  }
}

void Binder::imports(const ast::Import& stmt) {
  for (const ast::ImportItem& item : stmt.items) {
    path(item.path, OccurrenceKind::Path);
    if (!item.alias.text.empty()) add(item.alias.loc, OccurrenceKind::Free, true);
  }
}

void Binder::imports(const ast::FromImport& stmt) {
  path(stmt.path, OccurrenceKind::Path);
  std::string_view file;
  if (!stmt.path.empty() && is_own(stmt.path.back().loc)) {
    uint32_t begin = range(stmt.path.front().loc).begin;
    file = text().substr(begin, range(stmt.path.back().loc).end - begin);
  }
  for (const ast::ImportedName& item : stmt.names) {
    int32_t made = add(item.name.loc, OccurrenceKind::Imported, item.alias.text.empty());
    if (made >= 0) out_.occurrences[size_t(made)].path = file;
    if (!item.alias.text.empty()) add(item.alias.loc, OccurrenceKind::Free, true);
  }
}

void Binder::top_level(const ast::Stmt& stmt, TextRange range) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return def(ast::cast<ast::Def>(stmt), "", range.end);
    case ast::NodeKind::Module: return module(ast::cast<ast::Module>(stmt), range.end);
    case ast::NodeKind::Const: {
      const auto& constant = ast::cast<ast::Const>(stmt);
      expression(constant.annotation, Place::Annotation);
      expression(constant.value);
      add(constant.name.loc, OccurrenceKind::Free, true);
      return;
    }
    case ast::NodeKind::Param: {
      const auto& param = ast::cast<ast::Param>(stmt);
      for (const ast::Identifier& name : param.names) add(name.loc, OccurrenceKind::Free, true);
      expression(param.annotation, Place::Annotation);
      expression(param.initialiser);
      return;
    }
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) add(name.loc, OccurrenceKind::Free, true);
      return;
    case ast::NodeKind::Import: return imports(ast::cast<ast::Import>(stmt));
    case ast::NodeKind::FromImport: return imports(ast::cast<ast::FromImport>(stmt));
    default: return statement(stmt, range.end);
  }
}

}  // namespace tessera::names
