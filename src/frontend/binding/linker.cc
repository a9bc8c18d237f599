#include "frontend/binding/linker.h"

#include <algorithm>

#include "frontend/binding/imports.h"
#include "frontend/binding/words.h"

namespace tessera::names {

namespace {

/// Longer chains of imports are cycles, or lead nowhere; so are constants that name constants.
constexpr size_t longest_chain = 200;
constexpr int deepest_constant = 32;

std::string joined(std::string_view path, std::string_view name) {
  return std::string(path).append(".").append(name);
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '.';
}

/// Whether a declaration is `import a.b` or `import a`, which gives `a` no other name.
bool is_path_import(const Declared& declared) {
  bool is_whole = declared.kind == SymbolKind::File && declared.name == declared.path;
  return is_whole || declared.kind == SymbolKind::Namespace;
}

/// The imports of a file that lead to a path, or through it.
struct PathImports {
  bool ends = false, goes_on = false;

  PathImports(const ModuleFile& file, std::string_view path) {
    for (const Declared* each : file.find(path.substr(0, path.find('.')))) {
      if (!is_path_import(*each)) continue;
      ends |= each->path == path;
      goes_on |= is_below(each->path, path);
    }
  }
};

Linked failed() { return {Linked::Kind::Failed}; }

}  // namespace

DeclaredFile::DeclaredFile(std::vector<Declared> declared) : declared_(std::move(declared)) {
  for (const Declared& each : declared_) by_name_.emplace(each.name, &each);
}

std::vector<const Declared*> DeclaredFile::find(std::string_view name) const {
  std::vector<const Declared*> found;
  for (auto [at, end] = by_name_.equal_range(name); at != end; ++at) found.push_back(at->second);
  return found;
}

NameSet DeclaredFile::names() const {
  NameSet names;
  for (const Declared& each : declared_) names.insert(each.name);
  return names;
}

Linked Linker::name(const ModuleFile& file, std::string_view name) {
  std::vector<const Declared*> declared = file.find(name);
  return declared.empty() ? of_language(name) : follow(file, *declared[0]);
}

Linked Linker::follow(const ModuleFile& file, const Declared& declared) {
  std::vector<Linked::Step> steps;
  Linked::Step at{&file, &declared};
  Linked found;
  while (true) {
    const Declared& here = *at.declared;
    if (here.kind != SymbolKind::Import && here.kind != SymbolKind::File && here.kind != SymbolKind::Namespace) {
      found = {Linked::Kind::Declared, at.file, &here};
      break;
    }
    steps.push_back(at);
    if (is_path_import(here)) {
      found = at_path(*at.file, here.name);
      break;
    }
    found = module(*at.file, here.path);
    if (here.kind == SymbolKind::File || found.kind == Linked::Kind::Failed) break;
    std::vector<const Declared*> next;
    if (found.kind == Linked::Kind::File) next = found.file->find(here.imported);
    if (next.empty() || steps.size() > longest_chain) {
      found = next.empty() ? member(found, here.imported) : failed();
      if (found.kind == Linked::Kind::Unknown) found = failed();
      break;
    }
    at = {found.file, next[0]};
  }
  found.steps = std::move(steps);
  return found;
}

Linked Linker::module(const ModuleFile& importer, std::string_view dotted) {
  ModulePlace place = place_of_module(dotted, "", false, {});
  if (place.kind == ModulePlace::Kind::Language) {
    return {Linked::Kind::Language, nullptr, nullptr, std::string(dotted.substr(dotted.rfind('.') + 1))};
  }
  const ModuleFile* file = program_.module(importer, dotted);
  return file ? Linked{Linked::Kind::File, file, nullptr, std::string(dotted)} : failed();
}

Linked Linker::imported(const ModuleFile& importer, std::string_view dotted, std::string_view name) {
  return member(module(importer, dotted), name);
}

Linked Linker::member(const Linked& object, std::string_view name) {
  switch (object.kind) {
    case Linked::Kind::Unknown:
    case Linked::Kind::Failed: return object;
    case Linked::Kind::File: {
      std::vector<const Declared*> declared = object.file->find(name);
      return declared.empty() ? Linked{} : follow(*object.file, *declared[0]);
    }
    case Linked::Kind::Folder: return of_folder(object, name);
    case Linked::Kind::Language: return word(object.path, name);
    case Linked::Kind::Declared: break;
  }
  Linked module = value(object);
  return module.kind == Linked::Kind::Declared ? Linked{} : member(module, name);
}

Linked Linker::value(const Linked& constant) {
  const ast::Stmt* stmt = constant.declared->stmt;
  const ast::Expr* written = nullptr;
  if (const auto* declared = ast::as<ast::Const>(stmt)) written = declared->value;
  if (const auto* assign = ast::as<ast::Assign>(stmt)) written = assign->value;
  if (constant.declared->kind != SymbolKind::Constant || !written || depth_ >= deepest_constant) return {};
  ++depth_;
  Linked found = expression(*constant.file, *written);
  if (found.kind == Linked::Kind::Declared) found = value(found);
  --depth_;
  return found;
}

Linked Linker::expression(const ModuleFile& file, const ast::Expr& expr) {
  if (const auto* name = ast::as<ast::Name>(&expr)) return this->name(file, name->text);
  const auto* attribute = ast::as<ast::Attribute>(&expr);
  return attribute ? member(expression(file, *attribute->object), attribute->name.text) : Linked{};
}

Linked Linker::of_language(std::string_view name) {
  bool is_name = is_word(name, WordKind::Namespace) || program_.words("ops").contains(name);
  return is_name ? Linked{Linked::Kind::Language, nullptr, nullptr, std::string(name)} : Linked{};
}

Linked Linker::word(std::string_view space, std::string_view name) {
  if (space == "tile" && program_.words(space).contains(name)) {
    return {Linked::Kind::Language, nullptr, nullptr, joined(space, name)};
  }
  bool is_whole = space == "tessera";
  if (!is_whole && space != "ops") return {};
  bool is_part = is_whole && name != space && is_word(name, WordKind::Namespace);
  if (is_part || program_.words("ops").contains(name)) return of_language(name);
  std::string dotted = joined(space, name);
  const ModuleFile* file = is_whole ? program_.library(dotted) : nullptr;
  return file ? Linked{Linked::Kind::File, file, nullptr, std::move(dotted)} : Linked{};
}

Linked Linker::at_path(const ModuleFile& file, std::string_view path) {
  PathImports imports(file, path);
  bool is_module = imports.ends && !imports.goes_on;
  return is_module ? module(file, path) : Linked{Linked::Kind::Folder, &file, nullptr, std::string(path)};
}

Linked Linker::of_folder(const Linked& folder, std::string_view name) {
  std::string dotted = joined(folder.path, name);
  PathImports below(*folder.file, dotted);
  if (below.ends || below.goes_on) return at_path(*folder.file, dotted);
  if (PathImports(*folder.file, folder.path).ends) return member(module(*folder.file, folder.path), name);
  return folder.path == "tessera" ? word(folder.path, name) : Linked{};
}

NameSet Linker::members(const Linked& module) {
  if (module.kind == Linked::Kind::File) return module.file->names();
  NameSet names;
  if (module.kind == Linked::Kind::Folder) {
    if (PathImports(*module.file, module.path).ends) names = members(this->module(*module.file, module.path));
    for (const Declared* each : module.file->find(module.path.substr(0, module.path.find('.')))) {
      if (!is_path_import(*each) || !is_below(each->path, module.path)) continue;
      std::string_view rest = std::string_view(each->path).substr(module.path.size() + 1);
      names.emplace(rest.substr(0, rest.find('.')));
    }
  }
  bool is_language = module.kind == Linked::Kind::Language && is_word(module.path, WordKind::Namespace);
  bool is_whole = module.path == "tessera" && module.kind != Linked::Kind::Unknown;
  if (is_language || is_whole) names.merge(NameSet(program_.words(module.path == "tile" ? "tile" : "ops")));
  if (!is_whole) return names;
  names.merge(NameSet(program_.libraries()));
  for (std::string& word : words_of(WordKind::Namespace)) {
    if (word != module.path) names.insert(std::move(word));
  }
  return names;
}

}  // namespace tessera::names
