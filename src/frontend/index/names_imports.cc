// Names of other files, and those that the language has.

#include <fmt/format.h>

#include "frontend/builtins.h"
#include "frontend/index/names.h"

namespace tessera::frontend {

namespace {

/// "rmsnorm(x, axis, eps=1e-06)".
std::string signature_of(const Builtin& builtin) {
  std::string text;
  bool keyword_only = false;
  for (const BuiltinParameter& parameter : builtin.parameters) {
    if (!text.empty()) text += ", ";
    if (parameter.keyword_only && !keyword_only) text += "*, ";
    keyword_only = parameter.keyword_only;
    if (parameter.kind == BuiltinParameterKind::Rest) text += "*";
    if (parameter.kind == BuiltinParameterKind::Keywords) text += "**";
    text += parameter.name;
    if (!parameter.default_text.empty()) text += "=" + parameter.default_text;
  }
  return fmt::format("{}({})", builtin.name, text);
}

/// The binding in the file that has the name, behind imports of imports.
const Binding* followed(const Binding* binding) {
  while (binding && binding->alias_scope) {
    binding = binding->alias_scope->find_here(binding->alias);
  }
  return binding;
}

}  // namespace

void NameIndexer::enter_imports(const SourceModule& module) {
  for (const ast::Stmt* stmt : module.unit.imports()) {
    if (const auto* import = ast::as<ast::Import>(stmt)) enter(*import);
    if (const auto* import = ast::as<ast::FromImport>(stmt)) enter(*import);
  }
}

const SourceModule* NameIndexer::file_named(std::string_view name) const {
  for (const auto& module : session_.modules()) {
    if (module->name == name) return module.get();
  }
  return nullptr;
}

void NameIndexer::refer_to_file(std::span<const ast::Identifier> path) {
  const SourceModule* file = file_named(ast::dotted(path));
  if (file) refer(path.back().loc, files_.at(file), ReferenceRole::Import);
}

void NameIndexer::enter(const ast::Import& stmt) {
  for (const ast::ImportItem& item : stmt.items) {
    if (item.path.empty()) continue;
    refer_to_file(item.path);
    bool renamed = !item.alias.text.empty();
    const ast::Identifier& name = renamed ? item.alias : item.path[0];
    if (name.text.empty() || frames_[0].names.count(name.text)) continue;
    const SourceModule* file = file_named(ast::dotted(item.path));
    bool whole = renamed || item.path.size() == 1;
    if (whole && !renamed && file) {
      // The path is the name; the reference to the file stands for both.
      frames_[0].names[name.text] = files_.at(file);
      index_.imported.emplace_back(module_->file, files_.at(file));
      continue;
    }
    SymbolId id = add(SymbolKind::File, name, {}, std::nullopt);
    if (whole && file) index_.symbols[id].target = files_.at(file);
    frames_[0].names[name.text] = id;
  }
}

void NameIndexer::enter(const ast::FromImport& stmt) {
  if (!stmt.path.empty()) refer_to_file(stmt.path);
  for (const ast::ImportedName& item : stmt.names) {
    bool renamed = !item.alias.text.empty();
    const ast::Identifier& name = renamed ? item.alias : item.name;
    if (name.text.empty() || frames_[0].names.count(name.text)) continue;
    const Binding* binding = module_->scope->find_here(name.text);
    std::optional<SymbolId> target;
    if (binding && binding->alias_scope) target = meaning_of(*binding, item.name.text);
    if (target) refer(item.name.loc, *target, ReferenceRole::Import);
    if (target && !renamed) {
      frames_[0].names[name.text] = *target;
      index_.imported.emplace_back(module_->file, *target);
      continue;
    }
    SymbolKind kind = target ? index_.symbols[*target].kind : SymbolKind::Variable;
    SymbolId id = add(kind, name, {}, std::nullopt);
    index_.symbols[id].target = target;
    frames_[0].names[name.text] = id;
  }
}

/// What a binding of a file or of the language is, `name` being its name there.
std::optional<SymbolId> NameIndexer::meaning_of(const Binding& imported, std::string_view name) {
  const Binding* binding = &imported;
  std::string original(name);
  while (binding && binding->alias_scope) {
    original = binding->alias;
    binding = binding->alias_scope->find_here(binding->alias);
  }
  if (!binding) return std::nullopt;
  if (binding->loc.known()) return defined_at(binding->loc);
  return built_in(original, binding->value);
}

NameIndexer::Meaning NameIndexer::member(const Namespace& name_space, std::string_view name) {
  Meaning meaning;
  auto it = name_space.members.find(name);
  if (it != name_space.members.end()) {
    bool is_file = it->second.is(DatumKind::Namespace) && it->second.as_namespace().module;
    std::string prefix = name_space.name == "tile" ? "tile." : "";
    if (is_file) {
      meaning.symbol = files_.at(it->second.as_namespace().module);
    } else {
      meaning.symbol = built_in(prefix + std::string(name), it->second);
    }
    if (it->second.is(DatumKind::Namespace)) meaning.name_space = &it->second.as_namespace();
    return meaning;
  }
  if (name_space.module) {
    Binding* binding = name_space.module->scope->find_here(name);
    if (!binding) return meaning;
    meaning.symbol = meaning_of(*binding, name);
    const Binding* last = followed(binding);
    if (last && last->value.is(DatumKind::Namespace)) meaning.name_space = &last->value.as_namespace();
    return meaning;
  }
  if (name_space.name != "tessera") return meaning;
  if (const SourceModule* file = file_named(fmt::format("tessera.{}", name))) {
    meaning.symbol = files_.at(file);
    meaning.name_space = &file->as_namespace;
  }
  return meaning;
}

NameIndexer::Meaning NameIndexer::meaning_of(const ast::Expr& expr) {
  if (const auto* attribute = ast::as<ast::Attribute>(&expr)) {
    Meaning object = meaning_of(*attribute->object);
    if (object.name_space) return member(*object.name_space, attribute->name.text);
    return {member_of_self(*attribute), nullptr};
  }
  const auto* name = ast::as<ast::Name>(&expr);
  if (!name) return {};
  Meaning meaning{look_up(name->text), nullptr};
  for (size_t i = frames_.size(); i-- > 1;) {
    if (frames_[i].names.count(name->text)) return meaning;
  }
  const Binding* binding = followed(module_->scope->find(name->text));
  if (binding && binding->value.is(DatumKind::Namespace)) {
    meaning.name_space = &binding->value.as_namespace();
  }
  return meaning;
}

/// The member that `self.name` is in a method; none for anything else.
std::optional<SymbolId> NameIndexer::member_of_self(const ast::Attribute& attribute) const {
  const auto* self = ast::as<ast::Name>(attribute.object);
  if (!self || self->text != "self") return std::nullopt;
  for (size_t i = frames_.size(); i-- > 0;) {
    const Frame& frame = frames_[i];
    if (!frame.owner) continue;
    auto members = module_members_.find(*frame.owner);
    if (members == module_members_.end()) continue;
    auto member = members->second.find(attribute.name.text);
    if (member == members->second.end()) return std::nullopt;
    return member->second;
  }
  return std::nullopt;
}

SymbolId NameIndexer::built_in(SymbolKind kind, const std::string& name, std::string signature) {
  auto [it, fresh] = built_ins_.try_emplace({kind, name}, SymbolId(index_.symbols.size()));
  if (fresh) {
    Symbol& symbol = index_.symbols.emplace_back();
    symbol.kind = kind;
    symbol.name = name;
    symbol.signature = signature.empty() ? name : std::move(signature);
  }
  return it->second;
}

std::optional<SymbolId> NameIndexer::built_in(const std::string& name, const Datum& value) {
  switch (value.kind()) {
    case DatumKind::Builtin: {
      const Builtin& builtin = value.as_builtin();
      std::string prefix = builtin.table == "ops" ? "" : std::string(builtin.table) + ".";
      return built_in(SymbolKind::BuiltinFunction, prefix + builtin.name,
                      prefix + signature_of(builtin));
    }
    case DatumKind::DType:
      return built_in(SymbolKind::BuiltinDType, name);
    case DatumKind::Namespace:
      return built_in(SymbolKind::BuiltinNamespace, name);
    case DatumKind::Poison:
      return std::nullopt;
    default:
      return built_in(SymbolKind::BuiltinValue, name, fmt::format("{} = {}", name, to_text(value)));
  }
}

}  // namespace tessera::frontend
