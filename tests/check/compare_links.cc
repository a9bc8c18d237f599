#include "check/compare_links.h"

#include <fmt/format.h>

#include "frontend/binding/declared.h"
#include "frontend/binding/imports.h"
#include "frontend/binding/words.h"
#include "frontend/values/builtins.h"

namespace tessera::check {

namespace {

using frontend::Datum;
using frontend::DatumKind;
using frontend::SourceModule;
using names::Linked;
using Kind = names::Linked::Kind;

std::string describe(const Linked& linked) {
  switch (linked.kind) {
    case Kind::Unknown: return "no name";
    case Kind::Failed: return "an import that leads nowhere";
    case Kind::Declared: return fmt::format("a declaration of '{}'", linked.declared->name);
    case Kind::File: return fmt::format("the file '{}'", linked.path);
    case Kind::Folder: return fmt::format("the folder '{}'", linked.path);
    case Kind::Language: break;
  }
  return fmt::format("'{}' of the language", linked.path);
}

bool is_module(const Linked& linked) {
  bool is_space = linked.kind == Kind::Language && names::is_word(linked.path, names::WordKind::Namespace);
  return is_space || linked.kind == Kind::File || linked.kind == Kind::Folder;
}

/// The value that a constant is written as; null where it is no constant.
const ast::Expr* written_value(const ast::Stmt* stmt) {
  if (const auto* constant = ast::as<ast::Const>(stmt)) return constant->value;
  const auto* assign = ast::as<ast::Assign>(stmt);
  return assign ? assign->value : nullptr;
}

}  // namespace

const LinkComparer::File& LinkComparer::file_of(const SourceModule& module) {
  auto found = files_.find(&module);
  if (found != files_.end()) return found->second;
  std::vector<names::Declared> declared = names::list_all_declared(sources_, module.unit.declarations);
  return files_.try_emplace(&module, module, std::move(declared)).first->second;
}

const LinkComparer::File* LinkComparer::file_at(const names::ModulePlace& place) {
  for (const std::string& path : place.paths) {
    std::string name = place.kind == names::ModulePlace::Kind::Library ? "stdlib/" + path : path;
    for (const auto& module : session_->modules()) {
      if (sources_.file(module->file).name() == name) return &file_of(*module);
    }
  }
  return nullptr;
}

const names::ModuleFile* LinkComparer::module(const names::ModuleFile& importer, std::string_view dotted) {
  const SourceModule& from = *static_cast<const File&>(importer).module;
  const std::string& name = sources_.file(from.file).name();
  return file_at(names::place_of_module(dotted, name, from.builtin, session_->options().parse.include_paths));
}

const names::ModuleFile* LinkComparer::library(std::string_view dotted) {
  return file_at(names::place_of_module(dotted, "", true, {}));
}

bool LinkComparer::is_value(const Linked& linked, const Datum& value) {
  const ast::Expr* written = linked.declared ? written_value(linked.declared->stmt) : nullptr;
  if (const auto* number = ast::as<ast::Integer>(written)) {
    return value.is(DatumKind::Int) && uint64_t(value.as_int()) == number->value;
  }
  if (written) return true;  // the result of that is evaluated
  if (value.is(DatumKind::Namespace)) {
    const frontend::Namespace& space = value.as_namespace();
    if (linked.kind != Kind::File) return is_module(linked) && linked.path == space.name;
    return &static_cast<const File*>(linked.file)->module->as_namespace == &space;
  }
  if (value.is(DatumKind::Builtin) && linked.kind == Kind::Language) {
    std::string_view name = std::string_view(linked.path).substr(linked.path.rfind('.') + 1);
    return names::function_of(name) == value.as_builtin().name;
  }
  if (value.is(DatumKind::Function)) {
    return linked.kind == Kind::Declared && linked.declared->stmt == value.as_function().def;
  }
  if (const auto* module = value.object_as<frontend::ModuleReference>()) {
    return linked.kind == Kind::Declared && linked.declared->stmt == &module->stmt();
  }
  return linked.kind == Kind::Declared || linked.kind == Kind::Language;
}

std::string LinkComparer::compare(const ast::Expr& expr, const Datum& value) {
  const SourceModule* own = nullptr;
  for (const auto& module : session_->modules()) {
    if (module->file == expr.loc.file) own = module.get();
  }
  if (!own) return {};
  const File& file = file_of(*own);
  const auto* attribute = ast::as<ast::Attribute>(&expr);
  // What values have as members is not the linker's to say.
  if (attribute) {
    Linked object = linker_.expression(file, *attribute->object);
    if (!is_module(object) && linker_.member(object, attribute->name.text).kind == Kind::Unknown) return {};
  }
  Linked linked = linker_.expression(file, expr);
  links_ += attribute || !linked.steps.empty();
  if (is_value(linked, value)) return {};
  return fmt::format("is {} by its text, and {} in the evaluation", describe(linked), to_text(value));
}

std::map<std::string, bool> LinkComparer::constants() {
  std::map<std::string, bool> found;
  const SourceModule& main = *session_->modules()[0];
  for (const ast::Declaration& declaration : main.unit.declarations) {
    const auto* constant = ast::as<ast::Const>(declaration.stmt);
    const auto* call = constant ? ast::as<ast::Call>(constant->value) : nullptr;
    if (!constant) continue;
    Linked linked = linker_.expression(file_of(main), call ? *call->callee : *constant->value);
    found[std::string(constant->name.text)] = linked.kind != Kind::Unknown && linked.kind != Kind::Failed;
  }
  return found;
}

}  // namespace tessera::check
