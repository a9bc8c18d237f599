// Renaming a name everywhere. What is not ours to rename (keywords, functions of the language, the
// library), and names that would clash, are refused with the reason.

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/syntax/lexer.h"
#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"
#include "lsp/features/usages.h"

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

std::optional<Renamed> renamed(Context& context, const Json& params, std::string& error) {
  FileModel* file = file_of(context, params);
  Resolver resolver(context.workspace);
  auto place = file ? resolver.name_at(*file, offset_of(context, *file, params)) : std::nullopt;
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  error = refuse(symbol);
  if (!error.empty()) return std::nullopt;
  return Renamed{file, *place, std::move(*symbol)};
}

/// Why a text is no new name; empty when it is one.
std::string refuse_name(const std::string& name) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  LexedFile lexed = lex_file(sources.add("name", name), sources, diagnostics);
  bool is_name = lexed.tokens.size() == 1 && lexed.tokens[0].kind == TokenKind::Name && !diagnostics.has_errors();
  if (is_name) return "";
  bool keyword = lexed.tokens.size() == 1 && is_keyword(lexed.tokens[0].kind);
  return keyword ? fmt::format("'{}' is a keyword", name) : fmt::format("'{}' is no name", name);
}

std::string with_article(std::string_view noun) {
  bool vowel = !noun.empty() && std::string_view("aeiou").find(noun[0]) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", noun);
}

/// Looks for names that would mean something else under the new name of another.
class Clashes {
 public:
  Clashes(Context& context, const Symbol& symbol, const std::string& name)
      : resolver_(context.workspace), symbol_(symbol), name_(name) {}

  /// The first one in words; empty when there is none.
  std::string find(const std::vector<Usage>& usages) {
    std::string clash = at_declaration();
    for (const Usage& usage : usages) {
      if (clash.empty()) clash = at_use(usage);
    }
    return clash.empty() ? in_scope() : clash;
  }

 private:
  std::string line_of(const NamePlace& place) const {
    return fmt::format("line {}", place.file->lines().line_of(place.range().begin) + 1);
  }
  bool is_member() const { return symbol_.kind == SymbolKind::Field || symbol_.kind == SymbolKind::Method; }
  std::string at_member();
  std::string at_declaration();
  std::string at_use(const Usage& usage);
  std::string in_scope();

  Resolver resolver_;
  const Symbol& symbol_;
  const std::string& name_;
};

/// What the module has under the new name.
std::string Clashes::at_member() {
  // The key of a member names its module.
  std::string owner = symbol_.key.substr(symbol_.file->path().size() + 1);
  owner.resize(owner.rfind('.'));
  auto module = resolver_.resolve_name(*symbol_.file, owner, symbol_.range.begin);
  bool clashes = module && resolver_.member({ValueSort::Instance, module}, name_);
  return clashes ? fmt::format("'{}' is already a member of '{}'", name_, owner) : "";
}

/// What has the new name where the old one is declared.
std::string Clashes::at_declaration() {
  if (is_member()) return at_member();
  FileModel& file = symbol_.alias ? *symbol_.alias->file : *symbol_.file;
  uint32_t place = symbol_.alias ? symbol_.alias->range.begin : symbol_.range.begin;
  auto other = resolver_.resolve_name(file, name_, place);
  bool top_level = !symbol_.local;
  bool clashes = other && (other->alias ? other->alias->file : other->file) == &file && top_level == !other->local;
  return clashes ? fmt::format("'{}' is already the name of {} here", name_, with_article(describe(other->kind))) : "";
}

/// What hides the new name where the old one is used.
std::string Clashes::at_use(const Usage& usage) {
  const Occurrence& occurrence = *usage.place.occurrence;
  bool by_scope = occurrence.kind == OccurrenceKind::Free || occurrence.kind == OccurrenceKind::Local;
  int32_t index = by_scope ? usage.place.piece->names.visible(name_, occurrence.range.begin) : -1;
  if (index < 0) return "";
  const Local& hiding = usage.place.piece->names.locals[size_t(index)];
  return fmt::format("'{}' means {} in {}, where '{}' is used", name_, with_article(describe(hiding.kind)),
                     line_of(usage.place), symbol_.written());
}

/// A name that would stand for the renamed one.
std::string Clashes::in_scope() {
  if (is_member()) return "";
  FileModel& file = symbol_.alias ? *symbol_.alias->file : *symbol_.file;
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
  error = refuse_name(name);
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
