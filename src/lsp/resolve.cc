#include "lsp/resolve.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::lsp {

namespace {

/// Imports of imports, and members of members, are followed this far.
constexpr int follow_limit = 32;

class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  bool too_deep() const { return depth_ > follow_limit; }

 private:
  int& depth_;
};

SymbolKind symbol_kind(DeclaredKind kind) {
  switch (kind) {
    case DeclaredKind::Function: return SymbolKind::Function;
    case DeclaredKind::Entry: return SymbolKind::Entry;
    case DeclaredKind::Kernel: return SymbolKind::Kernel;
    case DeclaredKind::Module: return SymbolKind::Module;
    case DeclaredKind::Param: return SymbolKind::Param;
    case DeclaredKind::Dim: return SymbolKind::Dim;
    case DeclaredKind::Field: return SymbolKind::Field;
    case DeclaredKind::Method: return SymbolKind::Method;
    case DeclaredKind::Namespace: return SymbolKind::File;
    case DeclaredKind::Constant:
    case DeclaredKind::Imported: return SymbolKind::Constant;
  }
  return SymbolKind::Constant;
}

SymbolKind symbol_kind(LocalKind kind) {
  switch (kind) {
    case LocalKind::Parameter: return SymbolKind::Parameter;
    case LocalKind::Self: return SymbolKind::Self;
    case LocalKind::Variable: return SymbolKind::Variable;
    case LocalKind::Symbol: return SymbolKind::Size;
    case LocalKind::Function: return SymbolKind::Function;
  }
  return SymbolKind::Variable;
}

std::string squeezed(std::string_view path) {
  std::string out;
  for (char c : path) {
    if (c != ' ' && c != '\t') out += c;
  }
  return out;
}

const Declared* find_member(const Declared& module, std::string_view name) {
  for (const Declared& member : module.members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

/// The call that gives a field or constant its instance: `Linear(I, O)` in `[Linear(I, O)] * 3`.
const ast::Expr* instance_expression(const Declared& declared) {
  const auto* assign = ast::as<ast::Assign>(declared.stmt);
  const auto* constant = ast::as<ast::Const>(declared.stmt);
  const ast::Expr* expr = constant ? constant->value : nullptr;
  if (assign) expr = assign->annotation ? assign->annotation : assign->value;
  const auto* call = ast::as<ast::Call>(expr);
  return call ? call->callee : nullptr;
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
  if (word.kind == WordKind::Namespace) made.prefix = word.text;
  return made;
}

std::optional<NamePlace> Resolver::name_at(FileModel& file, uint32_t offset) const {
  const Piece* piece = file.piece_at(offset);
  if (!piece) return std::nullopt;
  const Occurrence* found = piece->names.at(offset - piece->begin);
  if (!found) return std::nullopt;
  return NamePlace{&file, piece, found};
}

std::optional<Symbol> Resolver::language_name(std::string_view name) {
  if (const Word* dtype = find_word(name, WordKind::DType); dtype && !find_op(name)) return word_symbol(*dtype);
  if (const frontend::Builtin* op = find_op(name)) return builtin_symbol(*op);
  for (WordKind kind : {WordKind::Constant, WordKind::Namespace, WordKind::Type, WordKind::Policy}) {
    if (const Word* word = find_word(name, kind)) return word_symbol(*word);
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::free_name(FileModel& file, std::string_view name) {
  const Piece* piece = nullptr;
  if (const Declared* found = file.find(name, &piece)) return declared(file, *piece, *found);
  return language_name(name);
}

std::optional<Symbol> Resolver::local(FileModel& file, const Piece& piece, int32_t index) {
  const Local& local = piece.names.locals[size_t(index)];
  if (local.kind == LocalKind::Symbol) {
    // What the file or the language knows is used; only another name declares a size.
    const Piece* where = nullptr;
    const Declared* known = file.find(local.name, &where);
    bool is_value = known && known->kind != DeclaredKind::Function && known->kind != DeclaredKind::Entry;
    if (is_value) return declared(file, *where, *known);
    for (WordKind kind : {WordKind::DType, WordKind::Type, WordKind::Policy}) {
      if (const Word* word = find_word(local.name, kind)) return word_symbol(*word);
    }
  }
  Symbol made;
  made.kind = symbol_kind(local.kind);
  made.name = local.name;
  made.file = &file;
  made.piece = &piece;
  made.range = piece.in_document(local.range);
  made.full_range = made.range;
  made.local = &local;
  made.key = local.callable.empty() ? fmt::format("{}#{}#{}", file.path(), piece.begin, index)
                                    : fmt::format("{}({}){}", file.path(), local.callable, local.name);
  return made;
}

std::optional<Symbol> Resolver::declared(FileModel& file, const Piece& piece, const Declared& declared, bool follow) {
  Deeper deeper(depth_);
  if (deeper.too_deep()) return std::nullopt;
  Symbol made;
  made.kind = symbol_kind(declared.kind);
  made.name = declared.name;
  made.file = &file;
  made.piece = &piece;
  made.range = piece.in_document(declared.name_range);
  made.full_range = piece.in_document(declared.range);
  made.declared = &declared;
  made.key = fmt::format("{}:{}", file.path(), declared.name);
  if (!follow) return made;
  if (declared.kind == DeclaredKind::Imported) {
    auto target = imported(file, declared.path, declared.imported);
    if (!target) return made;
    // Under another name it is a name of its own.
    if (declared.imported != declared.name) target->key = made.key;
    return target;
  }
  if (declared.kind == DeclaredKind::Namespace) {
    if (declared.imported.empty()) {
      auto target = file_symbol(file, declared.path);
      if (target) target->key = made.key;
      return target ? target : made;
    }
    made.kind = SymbolKind::Namespace;
    made.prefix = declared.name;
  }
  return made;
}

std::optional<Symbol> Resolver::file_symbol(FileModel& from, std::string_view dotted) {
  std::string path = workspace_.resolve_import(dotted, from.path());
  FileModel* file = path.empty() ? nullptr : workspace_.model(path);
  if (!file) {
    if (dotted == "tessera" || dotted == "tessera.ops") return word_symbol(*find_word("ops", WordKind::Namespace));
    if (dotted == "tessera.tile") return word_symbol(*find_word("tile", WordKind::Namespace));
    return std::nullopt;
  }
  Symbol made;
  made.kind = SymbolKind::File;
  made.name = dotted;
  made.key = "file " + path;
  made.file = file;
  made.piece = file->piece_at(0);
  return made;
}

std::optional<Symbol> Resolver::imported(FileModel& from, std::string_view path, std::string_view name) {
  std::optional<Symbol> file = file_symbol(from, squeezed(path));
  return file ? member(*file, name) : std::nullopt;
}

std::optional<Symbol> Resolver::own_member(FileModel& file, std::string_view owner, std::string_view name) {
  const Piece* piece = nullptr;
  const Declared* module = file.find(owner, &piece);
  if (!module || module->kind != DeclaredKind::Module) return std::nullopt;
  if (const Declared* found = find_member(*module, name)) {
    auto made = declared(file, *piece, *found, false);
    if (made) made->key = fmt::format("{}:{}.{}", file.path(), owner, name);
    return made;
  }
  auto holder = declared(file, *piece, *module, false);
  return holder ? parameter(*holder, name) : std::nullopt;
}

std::optional<Symbol> Resolver::module_of(const Symbol& symbol) {
  if (symbol.kind == SymbolKind::Module) return symbol;
  Deeper deeper(depth_);
  if (deeper.too_deep() || !symbol.file) return std::nullopt;
  if (symbol.kind == SymbolKind::Self) {
    const Piece* piece = nullptr;
    const Declared* module = symbol.file->find(symbol.local->owner, &piece);
    return module ? declared(*symbol.file, *piece, *module, false) : std::nullopt;
  }
  const ast::Expr* made = symbol.declared ? instance_expression(*symbol.declared) : nullptr;
  if (const auto* name = ast::as<ast::Name>(made)) {
    auto callee = free_name(*symbol.file, name->text);
    return callee && callee->kind == SymbolKind::Module ? callee : std::nullopt;
  }
  if (const auto* attribute = ast::as<ast::Attribute>(made)) {
    const auto* object = ast::as<ast::Name>(attribute->object);
    auto space = object ? free_name(*symbol.file, object->text) : std::nullopt;
    auto callee = space ? member(*space, attribute->name.text) : std::nullopt;
    return callee && callee->kind == SymbolKind::Module ? callee : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::member(const Symbol& object, std::string_view name) {
  Deeper deeper(depth_);
  if (deeper.too_deep()) return std::nullopt;
  if (object.kind == SymbolKind::File) {
    const Piece* piece = nullptr;
    const Declared* found = object.file->find(name, &piece);
    return found ? declared(*object.file, *piece, *found) : std::nullopt;
  }
  if (object.kind == SymbolKind::Namespace) {
    std::string dotted = fmt::format("{}.{}", object.prefix, name);
    if (auto file = file_symbol(*object.file, dotted)) return file;
    if (object.prefix == "tessera") return language_name(name);
    Symbol deeper_space = object;
    deeper_space.prefix = dotted;
    deeper_space.name = name;
    return deeper_space;
  }
  if (object.word && object.word->kind == WordKind::Namespace) {
    if (object.prefix == "tile") {
      const frontend::Builtin* op = find_tile_op(name);
      return op ? std::optional(builtin_symbol(*op)) : std::nullopt;
    }
    return language_name(name);
  }
  if (auto module = module_of(object); module && object.kind != SymbolKind::Module) {
    return own_member(*module->file, module->name, name);
  }
  bool may_be_tensor = object.kind == SymbolKind::Parameter || object.kind == SymbolKind::Variable ||
                       object.kind == SymbolKind::Param || object.kind == SymbolKind::Field;
  if (!may_be_tensor) return std::nullopt;
  for (WordKind kind : {WordKind::TensorMember, WordKind::CacheMember}) {
    if (const Word* word = find_word(name, kind)) return word_symbol(*word);
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::callee(const Symbol& symbol) {
  if (symbol.kind != SymbolKind::Field && symbol.kind != SymbolKind::Constant) return symbol;
  auto module = module_of(symbol);
  return module ? own_member(*module->file, module->name, "__call__") : std::nullopt;
}

std::optional<Symbol> Resolver::parameter(const Symbol& callable, std::string_view name) {
  if (!callable.file || !callable.piece || !callable.declared) return std::nullopt;
  std::string_view full = callable.key;
  full.remove_prefix(std::min(full.size(), callable.file->path().size() + 1));
  std::string by_declaration = callable.kind == SymbolKind::Method ? std::string(full) : callable.declared->name;
  const std::vector<Local>& locals = callable.piece->names.locals;
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i].name == name && locals[i].callable == by_declaration) {
      return local(*callable.file, *callable.piece, int32_t(i));
    }
  }
  return std::nullopt;
}

std::optional<Symbol> Resolver::decorator(std::string_view path) {
  std::string name = squeezed(path);
  if (name.starts_with("tessera.")) name.erase(0, 8);
  const Word* word = find_word(name, WordKind::Decorator);
  if (!word && name == "tessera") word = find_word(name, WordKind::Namespace);
  return word ? std::optional(word_symbol(*word)) : std::nullopt;
}

std::optional<Symbol> Resolver::resolve(const NamePlace& place) {
  Deeper deeper(depth_);
  if (deeper.too_deep()) return std::nullopt;
  const Occurrence& occurrence = *place.occurrence;
  std::string_view name = place.piece->text(occurrence.range);
  switch (occurrence.kind) {
    case OccurrenceKind::Local: return local(*place.file, *place.piece, occurrence.local);
    case OccurrenceKind::Free: return free_name(*place.file, name);
    case OccurrenceKind::OwnMember: return own_member(*place.file, occurrence.owner, name);
    case OccurrenceKind::Path: return file_symbol(*place.file, squeezed(occurrence.path));
    case OccurrenceKind::Imported: return imported(*place.file, occurrence.path, name);
    case OccurrenceKind::Decorator: return decorator(occurrence.path);
    case OccurrenceKind::Effect: {
      const Word* word = find_word(name, WordKind::Effect);
      return word ? std::optional(word_symbol(*word)) : std::nullopt;
    }
    case OccurrenceKind::Member:
    case OccurrenceKind::Argument: break;
  }
  if (occurrence.parent < 0) {
    const Word* word = occurrence.kind == OccurrenceKind::Member ? find_word(name, WordKind::TensorMember) : nullptr;
    return word ? std::optional(word_symbol(*word)) : std::nullopt;
  }
  NamePlace outer = place;
  outer.occurrence = &place.piece->names.occurrences[size_t(occurrence.parent)];
  std::optional<Symbol> parent = resolve(outer);
  if (!parent) return std::nullopt;
  if (occurrence.kind == OccurrenceKind::Member) return member(*parent, name);
  std::optional<Symbol> called = callee(*parent);
  return called ? parameter(*called, name) : std::nullopt;
}

std::optional<Symbol> Resolver::resolve_name(FileModel& file, std::string_view name, uint32_t offset) {
  const Piece* piece = file.piece_at(offset);
  int32_t index = piece ? piece->names.visible(name, offset - piece->begin) : -1;
  return index >= 0 ? local(file, *piece, index) : free_name(file, name);
}

}  // namespace tessera::lsp
