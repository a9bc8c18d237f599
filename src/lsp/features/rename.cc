// Renames a name everywhere. A name that is not the user's (keywords, functions of the language,
// the library), or that would clash, is refused with the reason.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/syntax/lexer.h"
#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"
#include "lsp/features/usages.h"
#include "support/diagnostic_rows.h"

namespace tessera::lsp {

namespace {

struct Renamed {
  FileModel* file;
  NamePlace place;
  Symbol symbol;
};

/// Why a name cannot be renamed; empty when it can.
std::string refuse(const std::optional<Symbol>& symbol) {
  if (!symbol) return "there is no name here that can be renamed";
  if (symbol->alias) return symbol->alias->file->is_library() ? "this file is part of the standard library" : "";
  bool language = symbol->kind == SymbolKind::Builtin || symbol->kind == SymbolKind::Word;
  if (language) return fmt::format("'{}' is part of the language", symbol->name);
  bool library = symbol->file && symbol->file->is_library();
  if (library) return fmt::format("'{}' is part of the standard library", symbol->name);
  bool file = symbol->kind == SymbolKind::File || symbol->kind == SymbolKind::Namespace;
  if (file) return fmt::format("'{}' is the name of a file", symbol->name);
  if (symbol->kind == SymbolKind::Self) return "a method is given its instance as 'self'";
  return symbol->name == "__call__" ? "'__call__' is the method that calls of an instance call" : "";
}

/// The same for names that the text alone does not resolve.
std::string refuse_unseen(Context& context, FileModel& file, std::string_view name,
                          const std::optional<Symbol>& symbol) {
  bool lacks_include = false;
  for (FileModel* part : context.workspace.scope_of(file)) {
    for (const std::shared_ptr<Piece>& piece : part->pieces()) {
      const std::vector<std::string>& macros = piece->macros;
      bool is_macro = std::find(macros.begin(), macros.end(), name) != macros.end();
      if (is_macro) return fmt::format("'{}' is a macro", name);
      lacks_include |= std::any_of(piece->diagnostics.begin(), piece->diagnostics.end(),
                                   [](const Diagnostic& said) { return said.id == diag::include_not_found.id; });
    }
  }
  bool may_be_included = lacks_include && symbol && symbol->kind == SymbolKind::Size;
  return may_be_included ? fmt::format("a file that is included and not found may declare '{}'", name) : "";
}

std::optional<Renamed> renamed(Context& context, const Json& params, std::string& error) {
  FileModel* file = file_of(context, params);
  // Files that include this one have to be known.
  context.workspace.all_files();
  Resolver resolver(context.workspace);
  auto place = file ? resolver.name_at(*file, offset_of(context, *file, params)) : std::nullopt;
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  if (place) error = refuse_unseen(context, *file, place->piece->text(place->occurrence->range), symbol);
  if (error.empty()) error = refuse(symbol);
  if (!error.empty()) return std::nullopt;
  return Renamed{file, *place, std::move(*symbol)};
}

bool is_member(const Symbol& symbol) { return symbol.kind == SymbolKind::Field || symbol.kind == SymbolKind::Method; }

/// What the language has under a name that names of files therefore do not take; empty when there is nothing.
std::string_view language_meaning(const std::string& name, bool is_member) {
  if (find_word(name, WordKind::Keyword)) return "a keyword";
  if (is_member) return "";  // it stands behind a dot
  if (find_word(name, WordKind::DType)) return "a dtype";
  for (WordKind kind : {WordKind::Type, WordKind::Policy, WordKind::Layout}) {
    if (find_word(name, kind)) return "a word of types";
  }
  if (find_op(name)) return "a function of the language";
  if (find_word(name, WordKind::Constant) || find_word(name, WordKind::Device)) return "a constant of the language";
  return find_word(name, WordKind::Namespace) ? "a namespace of the language" : "";
}

/// Why a text is no new name of a symbol; empty when it is one.
std::string refuse_name(const std::string& name, const Symbol& symbol) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  LexedFile lexed = lex_file(sources.add("name", name), sources, diagnostics);
  bool is_name = lexed.tokens.size() == 1 && lexed.tokens[0].kind == TokenKind::Name && !diagnostics.has_errors();
  if (is_name && name == "self") return "'self' is the instance that a method is given";
  std::string_view meaning = is_name ? language_meaning(name, is_member(symbol)) : "";
  if (!meaning.empty()) return fmt::format("'{}' is {}", name, meaning);
  if (is_name) return "";
  bool keyword = lexed.tokens.size() == 1 && is_keyword(lexed.tokens[0].kind);
  return keyword ? fmt::format("'{}' is a keyword", name) : fmt::format("'{}' is not a name", name);
}

std::string with_article(std::string_view noun) {
  bool vowel = !noun.empty() && std::string_view("aeiou").find(noun[0]) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", noun);
}

/// Looks for names that would mean something else under the new name of another.
class Clashes {
 public:
  Clashes(Context& context, const Symbol& symbol, const std::string& name)
      : workspace_(context.workspace), resolver_(context.workspace), symbol_(symbol), name_(name) {}

  /// The first one in words; empty when there is none.
  std::string find(const std::vector<Usage>& usages) {
    find_files(usages);
    std::string clash = at_declaration();
    for (const Usage& usage : usages) {
      if (clash.empty()) clash = at_use(usage);
    }
    for (FileModel* file : files_) {
      if (clash.empty()) clash = in_scope(*file);
    }
    return clash;
  }

 private:
  /// Where the name is declared, or gets its other name.
  FileModel& home() const { return symbol_.alias ? *symbol_.alias->file : *symbol_.file; }
  std::string line_of(const NamePlace& place) const {
    return fmt::format("line {}{}", place.file->lines().line_of(place.range().begin) + 1, in_other(*place.file));
  }
  std::string in_other(const FileModel& file) const {
    return &file == &home() ? "" : fmt::format(" of {}", std::filesystem::path(file.path()).filename().string());
  }
  void find_files(const std::vector<Usage>& usages);
  std::string owner() const;
  std::string at_member(const std::string& owner);
  std::string at_declaration();
  std::string at_use(const Usage& usage);
  std::string in_scope(FileModel& file);

  Workspace& workspace_;
  Resolver resolver_;
  const Symbol& symbol_;
  const std::string& name_;
  std::vector<FileModel*> files_;  ///< at whose top level the name is, declared, included or imported
};

void Clashes::find_files(const std::vector<Usage>& usages) {
  std::vector<FileModel*> homes = {&home()};
  for (const Usage& usage : usages) {
    bool imports = usage.place.occurrence->kind == OccurrenceKind::Imported && usage.place.occurrence->writes;
    if (imports) homes.push_back(&usage.file());
  }
  for (FileModel* file : homes) {
    for (FileModel* part : workspace_.scope_of(*file)) {
      if (std::find(files_.begin(), files_.end(), part) == files_.end()) files_.push_back(part);
    }
  }
}

/// The module that the name is a member or a parameter of; empty when there is none.
std::string Clashes::owner() const {
  if (symbol_.local) {
    const Declared* callable = symbol_.file->find(symbol_.local->callable);
    return callable && callable->kind == SymbolKind::Module ? callable->name : "";
  }
  // The key of a member names its module.
  std::string key = symbol_.alias ? "" : symbol_.key.substr(symbol_.file->path().size() + 1);
  size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

/// The module's member with the new name.
std::string Clashes::at_member(const std::string& owner) {
  auto module = resolver_.resolve_name(*symbol_.file, owner, symbol_.range.begin);
  bool clashes = module && resolver_.member({ValueSort::Instance, module}, name_);
  return clashes ? fmt::format("'{}' is already a member of '{}'", name_, owner) : "";
}

/// The declaration with the new name where the old one is declared.
std::string Clashes::at_declaration() {
  std::string module = owner();
  std::string clash = module.empty() ? "" : at_member(module);
  if (is_member(symbol_) || !clash.empty()) return clash;
  auto taken = [&](SymbolKind kind, const FileModel& file) {
    std::string here = &file == &home() ? " here" : in_other(file);
    return fmt::format("'{}' is already the name of {}{}", name_, with_article(describe(kind)), here);
  };
  if (symbol_.local) {
    auto other = resolver_.resolve_name(home(), name_, symbol_.range.begin);
    return other && other->local ? taken(other->kind, home()) : "";
  }
  for (FileModel* file : files_) {
    const Piece* piece = nullptr;
    const Declared* found = file->find(name_, &piece);
    auto other = found ? resolver_.declared(*file, *piece, *found) : std::nullopt;
    if (other) return taken(other->kind, *file);
  }
  return "";
}

/// The declaration that hides the new name where the old one is used.
std::string Clashes::at_use(const Usage& usage) {
  const Occurrence& occurrence = *usage.place.occurrence;
  bool by_scope = occurrence.kind == OccurrenceKind::Free || occurrence.kind == OccurrenceKind::Local;
  int32_t index = by_scope ? usage.place.piece->names.visible(name_, occurrence.range.begin) : -1;
  if (index < 0) return "";
  const Local& hiding = usage.place.piece->names.locals[size_t(index)];
  return fmt::format("'{}' means {} in {}, where '{}' is used", name_, with_article(describe(hiding.kind)),
                     line_of(usage.place), symbol_.written());
}

/// A name of a file that would stand for the renamed one.
std::string Clashes::in_scope(FileModel& file) {
  if (is_member(symbol_) || (symbol_.local && &file != &home())) return "";
  for (const std::shared_ptr<Piece>& piece : file.pieces()) {
    if (symbol_.local && piece.get() != symbol_.piece) continue;
    for (const Occurrence& occurrence : piece->names.occurrences) {
      if (piece->text(occurrence.range) != name_) continue;
      bool size = occurrence.kind == OccurrenceKind::Local &&
                  piece->names.locals[size_t(occurrence.local)].kind == SymbolKind::Size;
      bool inside = !symbol_.local || symbol_.local->scope.contains(occurrence.range.begin);
      if (!inside || (occurrence.kind != OccurrenceKind::Free && !size)) continue;
      return fmt::format("'{}' means something else in {}", name_, line_of({&file, piece.get(), &occurrence}));
    }
  }
  return "";
}

}  // namespace

Json prepare_rename(Context& context, const Json& params, std::string& error) {
  auto found = renamed(context, params, error);
  if (!found) return nullptr;
  return {{"range", range_json(context, *found->file, found->place.range())}, {"placeholder", found->symbol.written()}};
}

Json rename(Context& context, const Json& params, std::string& error) {
  std::string name = text_at(params, "newName");
  auto found = renamed(context, params, error);
  if (!found) return nullptr;
  if (name != found->symbol.written()) error = refuse_name(name, found->symbol);
  if (!error.empty()) return nullptr;
  std::vector<Usage> usages = all_usages(context, found->symbol, *found->file);
  if (name != found->symbol.written()) error = Clashes(context, found->symbol, name).find(usages);
  if (!error.empty()) return nullptr;
  std::map<std::string, Json> edits;
  std::map<std::string, Json> versions;
  for (const Usage& usage : usages) {
    std::string uri = context.workspace.uri(usage.file());
    Document* open = context.workspace.document(uri);
    versions[uri] = open ? Json(open->version) : Json();
    auto [at, fresh] = edits.try_emplace(uri, Json::array());
    at->second.push_back({{"range", range_json(context, usage.file(), usage.range())}, {"newText", name}});
  }
  if (!context.client.document_changes) return {{"changes", edits}};
  Json changes = Json::array();
  for (auto& [uri, list] : edits) {
    changes.push_back({{"textDocument", {{"uri", uri}, {"version", versions[uri]}}}, {"edits", std::move(list)}});
  }
  return {{"documentChanges", std::move(changes)}};
}

}  // namespace tessera::lsp
