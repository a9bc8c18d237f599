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

std::optional<Renamed> renamed(Context& context, const Json& params, std::string& error) {
  FileModel* file = file_of(context, params);
  Resolver resolver(context.workspace);
  auto place = file ? resolver.name_at(*file, offset_of(context, *file, params)) : std::nullopt;
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  if (!symbol) {
    error = "there is no name here that can be renamed";
  } else if (symbol->kind == SymbolKind::Builtin || symbol->kind == SymbolKind::Word) {
    error = fmt::format("'{}' is part of the language", symbol->name);
  } else if (symbol->file && symbol->file->is_library()) {
    error = fmt::format("'{}' is part of the standard library", symbol->name);
  } else if (symbol->kind == SymbolKind::File || symbol->kind == SymbolKind::Namespace) {
    error = fmt::format("'{}' is the name of a file", symbol->name);
  } else if (symbol->name == "__call__") {
    error = "'__call__' is the method that calls of an instance call";
  }
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

/// What has the new name already where the old one is declared; empty when nothing has.
std::string refuse_clash(Context& context, const Symbol& symbol, const std::string& name) {
  Resolver resolver(context.workspace);
  if (symbol.kind == SymbolKind::Field || symbol.kind == SymbolKind::Method) return "";
  auto other = resolver.resolve_name(*symbol.file, name, symbol.range.begin);
  bool top_level = symbol.declared != nullptr;
  if (!other || (top_level && other->local)) return "";
  bool same_level = top_level == (other->declared != nullptr) && other->file == symbol.file;
  return same_level ? fmt::format("'{}' is already the name of a {} here", name, describe(other->kind)) : "";
}

}  // namespace

Json prepare_rename(Context& context, const Json& params, std::string& error) {
  auto found = renamed(context, params, error);
  if (!found) return nullptr;
  return {{"range", range_json(context, *found->file, found->place.range())}, {"placeholder", found->symbol.name}};
}

Json rename(Context& context, const Json& params, std::string& error) {
  std::string name = text_at(params, "newName");
  auto found = renamed(context, params, error);
  if (!found) return nullptr;
  error = refuse_name(name);
  if (error.empty() && name != found->symbol.name) error = refuse_clash(context, found->symbol, name);
  if (!error.empty()) return nullptr;
  std::map<std::string, Json> edits;
  std::map<std::string, Json> versions;
  for (const Usage& usage : all_usages(context, found->symbol, *found->file)) {
    std::string uri = context.workspace.uri(*usage.file);
    Document* open = context.workspace.document(uri);
    versions[uri] = open ? Json(open->version) : Json();
    auto [at, fresh] = edits.try_emplace(uri, Json::array());
    at->second.push_back({{"range", range_json(context, *usage.file, usage.range)}, {"newText", name}});
  }
  if (!context.client.document_changes) return {{"changes", edits}};
  Json changes = Json::array();
  for (auto& [uri, list] : edits) {
    changes.push_back({{"textDocument", {{"uri", uri}, {"version", versions[uri]}}}, {"edits", std::move(list)}});
  }
  return {{"documentChanges", std::move(changes)}};
}

}  // namespace tessera::lsp
