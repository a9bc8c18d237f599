#include "lsp/workspace/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/model/readings.h"

namespace tessera::lsp {

namespace {

std::string squeezed(std::string_view path) {
  std::string out;
  for (char c : path) {
    if (c != ' ' && c != '\t') out += c;
  }
  return out;
}

/// Whether a name around a function may be a size or dtype, so that it declares nothing in a signature.
bool may_be_size(SymbolKind kind) {
  return kind == SymbolKind::Constant || kind == SymbolKind::Param || kind == SymbolKind::Dim ||
         kind == SymbolKind::Import;
}

}  // namespace

Symbol builtin_symbol(const frontend::Builtin& builtin) {
  Symbol made;
  made.kind = SymbolKind::Builtin;
  made.name = builtin.name;
  made.key = fmt::format("{}.{}", builtin.table, builtin.name);
  made.builtin = &builtin;
  return made;
}

Symbol word_symbol(const Word& word) {
  Symbol made;
  made.kind = SymbolKind::Word;
  made.name = word.text;
  made.key = fmt::format("word {} {}", int(word.kind), word.text);
  made.word = &word;
  return made;
}

std::optional<NamePlace> Resolver::name_at(FileModel& file, uint32_t offset) const {
  const Piece* piece = file.piece_at(offset);
  if (!piece) return std::nullopt;
  if (const Occurrence* found = piece->names.at(offset - piece->begin)) return NamePlace{&file, piece, found};
  if (!has_inactive(*piece, "")) return std::nullopt;
  for (const InactiveName& name : readings_of(*piece).names) {
    if (name.occurrence->range.touches(offset - piece->begin)) return NamePlace{&file, name.reading, name.occurrence};
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::language_name(std::string_view name, bool in_type) {
  const frontend::Builtin* op = find_op(name);
  // `p: float` is a compile-time number, elsewhere `float` is a function.
  for (WordKind kind : {WordKind::Type, WordKind::DType}) {
    const Word* word = in_type || !op ? find_word(name, kind) : nullptr;
    if (word) return word_symbol(*word);
  }
  if (op) return builtin_symbol(*op);
  for (WordKind kind : {WordKind::Constant, WordKind::Device, WordKind::Namespace, WordKind::Policy}) {
    if (const Word* word = find_word(name, kind)) return word_symbol(*word);
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::declared_name(FileModel& file, const Piece& from, std::string_view name, bool follow) {
  // A reading of other branches has declarations of its own.
  for (const Declared& own : from.names.declared) {
    if (from.is_reading && own.name == name) return declared(file, from, own, follow);
  }
  for (FileModel* part : workspace_.scope_of(file)) {
    const Piece* piece = nullptr;
    const Declared* found = part->find(name, &piece);
    if (found) return declared(*part, *piece, *found, follow);
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::free_name(FileModel& file, const Piece& from, std::string_view name, bool in_type) {
  auto found = declared_name(file, from, name);
  return found ? found : language_name(name, in_type);
}

/// A known size or dtype of the file or the language is used; only another name declares one.
std::optional<Symbol> Resolver::size(FileModel& file, const Piece& piece, const Local& local) {
  auto known = declared_name(file, piece, local.name);
  if (known && may_be_size(known->kind)) return known;
  for (WordKind kind : {WordKind::DType, WordKind::Type, WordKind::Policy, WordKind::Layout}) {
    if (const Word* word = find_word(local.name, kind)) return word_symbol(*word);
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::local(FileModel& file, const Piece& piece, int32_t index) {
  const Local& local = piece.names.locals[size_t(index)];
  if (local.kind == SymbolKind::Size) {
    if (auto known = size(file, piece, local)) return known;
  }
  if (local.kind == SymbolKind::Constant) return own_member(declared_name(file, piece, local.owner, false), local.name);
  Symbol made;
  made.kind = local.kind;
  made.name = local.name;
  made.file = &file;
  made.piece = &piece;
  made.range = piece.in_document(local.range);
  made.full_range = made.range;
  made.local = &local;
  bool visible_outside = !local.callable.empty() && local.callable[0] != '#';
  made.key = visible_outside ? fmt::format("{}({}){}", file.path(), local.callable, local.name)
                             : fmt::format("{}#{}", file.path(), made.range.begin);
  return made;
}

Symbol Resolver::own_symbol(const DeclaredPlace& declaration) {
  const Declared& declared = *declaration.declared;
  Symbol made;
  made.kind = declared.kind;
  made.name = declared.name;
  made.file = declaration.file;
  made.piece = declaration.piece;
  made.range = made.piece->in_document(declared.name_range);
  made.full_range = made.piece->in_document(declared.range);
  made.declared = &declared;
  made.key = fmt::format("{}:{}", made.file->path(), declared.name);
  return made;
}

std::optional<Symbol> Resolver::declared(FileModel& file, const Piece& piece, const Declared& declared, bool follow) {
  bool imports = declared.kind == SymbolKind::Import || declared.kind == SymbolKind::File ||
                 declared.kind == SymbolKind::Namespace;
  DeclaredPlace asked{&file, &piece, &declared};
  return follow && imports ? linked(linker_.follow(program_.file(file), declared), asked) : own_symbol(asked);
}

std::optional<Symbol> Resolver::step(const names::Linked::Step& step, const DeclaredPlace& asked) {
  if (step.declared == asked.declared) return own_symbol(asked);
  auto [file, piece] = static_cast<const WorkspaceFile*>(step.file)->place_of(*step.declared);
  return file ? std::optional(own_symbol({file, piece, step.declared})) : std::nullopt;
}

std::optional<Symbol> Resolver::target(const names::Linked& linked, const DeclaredPlace& asked) {
  using Kind = names::Linked::Kind;
  Symbol made;
  switch (linked.kind) {
    case Kind::Unknown:
    case Kind::Failed: return std::nullopt;
    case Kind::Declared: return step({linked.file, linked.declared}, asked);
    case Kind::Language: {
      std::string_view path = linked.path;
      if (!path.starts_with("tile.")) return language_name(path, false);
      const frontend::Builtin* op = find_tile_op(path.substr(path.find('.') + 1));
      return op ? std::optional(builtin_symbol(*op)) : std::nullopt;
    }
    case Kind::File:
      made.kind = SymbolKind::File;
      made.name = linked.path;
      made.file = &static_cast<const WorkspaceFile*>(linked.file)->model();
      made.piece = made.file->piece_at(0);
      made.key = "file " + made.file->path();
      return made;
    case Kind::Folder:
      made.kind = SymbolKind::Namespace;
      made.name = linked.path.substr(linked.path.rfind('.') + 1);
      made.prefix = linked.path;
      made.file = &static_cast<const WorkspaceFile*>(linked.file)->model();
      made.key = fmt::format("{}:{}", made.file->path(), linked.path);
      return made;
  }
  return std::nullopt;
}

/// The import under another name makes a name of its own; one that leads nowhere is its own meaning.
std::optional<Symbol> Resolver::linked(const names::Linked& linked, const DeclaredPlace& asked) {
  std::optional<Symbol> found = target(linked, asked);
  std::span<const names::Linked::Step> renaming = linked.steps;
  if (!found && !linked.steps.empty()) {
    found = step(linked.steps.back(), asked);
    if (found) found->kind = SymbolKind::Import;
    renaming = renaming.first(renaming.size() - 1);
  }
  for (const names::Linked::Step& each : renaming) {
    const Declared& declared = *each.declared;
    bool is_whole = declared.kind == SymbolKind::File;
    bool is_path = declared.kind == SymbolKind::Namespace;
    if (is_path || declared.name == (is_whole ? declared.path : declared.imported)) continue;
    std::optional<Symbol> alias = step(each, asked);
    if (!found || !alias) break;
    found->key = alias->key;
    found->alias = Symbol::Alias{alias->name, alias->file, alias->range};
    break;
  }
  return found;
}

std::optional<Symbol> Resolver::module(FileModel& from, std::string_view dotted) {
  return linked(linker_.module(program_.file(from), squeezed(dotted)));
}

names::Linked Resolver::module_of(const Symbol& symbol) {
  using Kind = names::Linked::Kind;
  bool is_language = symbol.word && symbol.word->kind == WordKind::Namespace;
  if (is_language) return {.kind = Kind::Language, .path = symbol.word->text};
  if (symbol.kind == SymbolKind::File) return {.kind = Kind::File, .file = &program_.file(*symbol.file)};
  if (symbol.kind != SymbolKind::Namespace) return {};
  return {.kind = Kind::Folder, .file = &program_.file(*symbol.file), .path = symbol.prefix};
}

std::vector<Symbol> Resolver::names_of(const Symbol& module) {
  names::Linked of = module_of(module);
  std::vector<Symbol> symbols;
  for (const std::string& name : linker_.members(of)) {
    std::optional<Symbol> member = linked(linker_.member(of, name));
    if (!member) continue;
    member->name = name;
    symbols.push_back(std::move(*member));
  }
  return symbols;
}

std::optional<Symbol> Resolver::own_member(const std::optional<Symbol>& module, std::string_view name) {
  if (!module || module->kind != SymbolKind::Module || !module->declared) return std::nullopt;
  for (const Declared& member : module->declared->members) {
    if (member.name != name) continue;
    auto made = declared(*module->file, *module->piece, member, false);
    if (made) made->key = fmt::format("{}:{}.{}", module->file->path(), module->declared->name, name);
    return made;
  }
  return parameter(*module, name);
}

std::optional<Symbol> Resolver::parameter(const Symbol& callable, std::string_view name) {
  if (!callable.file || !callable.piece) return std::nullopt;
  std::string owner;
  if (callable.local) {
    owner = fmt::format("#{}", callable.local->range.begin);
  } else if (callable.declared) {
    // The key of a method names its module.
    owner = callable.declared->name;
    if (callable.kind == SymbolKind::Method) owner = callable.key.substr(callable.file->path().size() + 1);
  }
  const std::vector<Local>& locals = callable.piece->names.locals;
  for (size_t i = 0; i < locals.size(); ++i) {
    bool found = locals[i].name == name && !owner.empty() && locals[i].callable == owner;
    if (found) return local(*callable.file, *callable.piece, int32_t(i));
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::decorator(std::string_view path) {
  std::string name = squeezed(path);
  if (const names::DecoratorRow* row = names::find_decorator(name)) name = row->text;
  const Word* word = find_word(name, WordKind::Decorator);
  if (!word && name == "tessera") word = find_word(name, WordKind::Namespace);
  return word ? std::optional(word_symbol(*word)) : std::nullopt;
}

std::optional<Symbol> Resolver::resolve(const NamePlace& place) {
  Deeper deeper(followed_);
  if (deeper.too_deep()) return std::nullopt;
  const Occurrence& occurrence = *place.occurrence;
  FileModel& file = *place.file;
  std::string_view name = place.piece->text(occurrence.range);
  auto word = [&](WordKind kind) {
    const Word* found = find_word(name, kind);
    return found ? std::optional(word_symbol(*found)) : std::nullopt;
  };
  switch (occurrence.kind) {
    case OccurrenceKind::Local: return local(file, *place.piece, occurrence.local);
    case OccurrenceKind::Free: return free_name(file, *place.piece, name, occurrence.in_type);
    case OccurrenceKind::OwnMember:
      return own_member(declared_name(file, *place.piece, occurrence.owner, false), name);
    case OccurrenceKind::Path: return module(file, occurrence.path);
    case OccurrenceKind::Imported:
      return linked(linker_.imported(program_.file(file), squeezed(occurrence.path), name));
    case OccurrenceKind::Decorator: return decorator(occurrence.path);
    case OccurrenceKind::Effect: return word(WordKind::Effect);
    case OccurrenceKind::Privilege: return word(WordKind::Privilege);
    case OccurrenceKind::Member:
    case OccurrenceKind::Argument: break;
  }
  if (occurrence.kind == OccurrenceKind::Member) return member(meaning_of_parent(place), name);
  std::optional<Symbol> called = called_with(place);
  if (!called) return std::nullopt;
  bool schedule = called->builtin && called->name == "Schedule";
  return schedule ? word(WordKind::ScheduleMember) : parameter(*called, name);
}

std::optional<Symbol> Resolver::resolve_name(FileModel& file, std::string_view name, uint32_t offset) {
  const Piece* piece = file.piece_at(offset);
  int32_t index = piece ? piece->names.visible(name, offset - piece->begin) : -1;
  if (index >= 0) return local(file, *piece, index);
  return piece ? free_name(file, *piece, name, false) : language_name(name, false);
}

}  // namespace tessera::lsp
