// Definitions: of files, of modules, of functions and their parameters.

#include "frontend/index/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/index/source_text.h"

namespace tessera::frontend {

namespace {

/// "kernel", "kernel.schedule", and both after `tessera.`.
bool makes_kernel(const ast::Decorator& decorator) {
  std::span<const ast::Identifier> path = decorator.path;
  if (!path.empty() && path.front().text == "tessera") path = path.subspan(1);
  return !path.empty() && path.front().text == "kernel";
}

SymbolKind kind_of(const ast::Def& def) {
  bool kernel = std::any_of(def.decorators.begin(), def.decorators.end(), makes_kernel);
  return kernel ? SymbolKind::Kernel : SymbolKind::Function;
}

std::string docstring(ast::StmtList body) {
  const auto* first = body.empty() ? nullptr : ast::as<ast::ExprStmt>(body.front());
  const auto* string = first ? ast::as<ast::String>(first->value) : nullptr;
  return string ? dedented(string->value) : std::string();
}

/// From the first byte of one place to the last of another behind it in the same file.
Loc joined(Loc first, Loc last, const SourceManager& sources) {
  if (!first.known() || !last.known() || first.file != last.file) return first;
  const SourceFile& file = sources.file(first.file);
  size_t from = size_t(file.line(first.line).data() - file.text().data()) + first.column;
  size_t to = size_t(file.line(last.line).data() - file.text().data()) + last.column + last.length;
  if (to > from) first.length = uint32_t(to - from);
  return first;
}

}  // namespace

void NameIndexer::run() {
  for (const auto& module : session_.modules()) declare_file(*module);
  for (const auto& module : session_.modules()) {
    if (!module->builtin) walk_file(*module);
  }
}

std::optional<SymbolId> NameIndexer::defined_at(Loc name) const {
  auto it = by_place_.find({name.file, name.line, name.column});
  if (it == by_place_.end()) return std::nullopt;
  return it->second;
}

std::optional<SymbolId> NameIndexer::parameter_of(SymbolId callee, std::string_view name) const {
  for (SymbolId parameter : index_.symbols[index_.resolved(callee)].parameters) {
    if (index_.symbols[parameter].name == name) return parameter;
  }
  return std::nullopt;
}

SymbolId NameIndexer::add(SymbolKind kind, const ast::Identifier& name, Loc extent,
                          std::optional<SymbolId> container) {
  auto id = SymbolId(index_.symbols.size());
  Symbol& symbol = index_.symbols.emplace_back();
  symbol.kind = kind;
  symbol.name = std::string(name.text);
  symbol.loc = name.loc;
  symbol.extent = extent_of(session_.sources(), extent.known() ? extent : name.loc);
  symbol.container = container;
  symbol.signature = one_line(session_.sources(), extent.known() ? extent : name.loc);
  if (name.loc.known()) {
    by_place_.try_emplace({name.loc.file, name.loc.line, name.loc.column}, id);
  }
  return id;
}

void NameIndexer::declare_file(const SourceModule& module) {
  ast::Identifier name{module.name, Loc{module.file, 1, 1, 0}};
  auto id = SymbolId(index_.symbols.size());
  files_[&module] = id;
  Symbol& symbol = index_.symbols.emplace_back();
  symbol.kind = SymbolKind::File;
  symbol.name = std::string(name.text);
  symbol.loc = name.loc;
  symbol.signature = fmt::format("file '{}'", session_.sources().file(module.file).name());
  Names& names = file_names_[&module];
  for (const ast::Declaration& declaration : module.unit.declarations) {
    declare(*declaration.stmt, names);
  }
}

void NameIndexer::declare_one(SymbolKind kind, const ast::Identifier& name, const ast::Stmt& stmt,
                              Names& names) {
  if (name.text.empty()) return;
  SymbolId id = add(kind, name, stmt.loc, std::nullopt);
  index_.symbols[id].docs = comment_above(session_.sources(), stmt.loc);
  names.try_emplace(name.text, id);
}

void NameIndexer::declare(const ast::Stmt& stmt, Names& names) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: {
      const auto& def = ast::cast<ast::Def>(stmt);
      if (def.name.text.empty()) return;
      names.try_emplace(def.name.text, declare_function(def, kind_of(def), std::nullopt));
      return;
    }
    case ast::NodeKind::Module:
      return declare_module(ast::cast<ast::Module>(stmt), names);
    case ast::NodeKind::Const:
      return declare_one(SymbolKind::Constant, ast::cast<ast::Const>(stmt).name, stmt, names);
    case ast::NodeKind::Param:
      for (const ast::Identifier& name : ast::cast<ast::Param>(stmt).names) {
        declare_one(SymbolKind::Param, name, stmt, names);
      }
      return;
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) {
        declare_one(SymbolKind::Dimension, name, stmt, names);
      }
      return;
    case ast::NodeKind::Assign:
      for (const ast::Expr* target : ast::cast<ast::Assign>(stmt).targets) {
        const auto* name = ast::as<ast::Name>(target);
        if (name) declare_one(SymbolKind::Constant, {name->text, name->loc}, stmt, names);
      }
      return;
    default:
      return;
  }
}

void NameIndexer::declare_module(const ast::Module& module, Names& names) {
  if (module.name.text.empty()) return;
  SymbolId id = add(SymbolKind::Module, module.name, module.loc, std::nullopt);
  names.try_emplace(module.name.text, id);
  index_.symbols[id].signature =
      fmt::format("module {}({})", module.name.text, parameters_text(module.parameters));
  std::string docs = docstring(module.body);
  index_.symbols[id].docs = docs.empty() ? comment_above(session_.sources(), module.loc) : docs;
  add_parameters(id, module.parameters);
  Names members;
  for (SymbolId parameter : index_.symbols[id].parameters) {
    for (const ast::Parameter& each : module.parameters) {
      if (each.name.loc == index_.symbols[parameter].loc) members.try_emplace(each.name.text, parameter);
    }
  }
  for (const ast::Stmt* stmt : module.body) {
    ast::Identifier name;
    SymbolKind kind = SymbolKind::Field;
    if (const auto* def = ast::as<ast::Def>(stmt)) {
      if (def->name.text.empty()) continue;
      members.try_emplace(def->name.text, declare_function(*def, SymbolKind::Method, id));
      continue;
    }
    if (const auto* constant = ast::as<ast::Const>(stmt)) {
      name = constant->name;
      kind = SymbolKind::Constant;
    } else if (const auto* field = ast::as<ast::Assign>(stmt)) {
      const auto* target = ast::as<ast::Name>(field->targets[0]);
      if (target) name = {target->text, target->loc};
      if (target && is_param_field(*field)) kind = SymbolKind::Param;
    }
    if (name.text.empty()) continue;
    SymbolId member = add(kind, name, stmt->loc, id);
    index_.symbols[member].docs = comment_above(session_.sources(), stmt->loc);
    members.try_emplace(name.text, member);
  }
  module_members_[id] = std::move(members);
}

SymbolId NameIndexer::declare_function(const ast::Def& def, SymbolKind kind,
                                       std::optional<SymbolId> container) {
  SymbolId id = add(kind, def.name, def.loc, container);
  std::string docs = docstring(def.body);
  if (docs.empty()) {
    // The comment stands above the decorators.
    Loc first = def.decorators.empty() ? def.loc : def.decorators.front().loc;
    docs = comment_above(session_.sources(), first);
  }
  index_.symbols[id].docs = std::move(docs);
  index_.symbols[id].signature = header(def);
  add_parameters(id, def.parameters);
  return id;
}

void NameIndexer::add_parameters(SymbolId owner, std::span<const ast::Parameter> parameters) {
  for (const ast::Parameter& parameter : parameters) {
    if (parameter.name.text.empty()) continue;
    SymbolId id = add(SymbolKind::Parameter, parameter.name, parameter.loc, owner);
    index_.symbols[owner].parameters.push_back(id);
    const auto* privileged = ast::as<ast::PrivilegedType>(parameter.annotation);
    if (!privileged) continue;
    for (const ast::Expr* privilege : privileged->privileges) {
      index_.symbols[id].privileges.push_back(one_line(session_.sources(), privilege->loc));
    }
  }
}

std::string NameIndexer::parameters_text(std::span<const ast::Parameter> parameters) const {
  std::string text;
  bool keyword_only = false;
  for (const ast::Parameter& parameter : parameters) {
    if (!text.empty()) text += ", ";
    if (parameter.keyword_only && !keyword_only) text += "*, ";
    keyword_only = parameter.keyword_only;
    text += one_line(session_.sources(), parameter.loc);
  }
  return text;
}

std::string NameIndexer::header(const ast::Def& def) const {
  const SourceManager& sources = session_.sources();
  std::string text = fmt::format("def {}({})", def.name.text, parameters_text(def.parameters));
  if (def.return_type) text += " -> " + one_line(sources, def.return_type->loc);
  if (def.has_effects) {
    std::string effects;
    for (const ast::Expr* effect : def.effects) {
      effects += (effects.empty() ? "" : ", ") + one_line(sources, effect->loc);
    }
    text += fmt::format(" !{{{}}}", effects);
  }
  if (!def.where.empty()) {
    text += " where " + one_line(sources, joined(def.where.front()->loc, def.where.back()->loc, sources));
  }
  return text;
}

}  // namespace tessera::frontend
