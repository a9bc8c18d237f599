// Lists of what files declare.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"

namespace tessera::lsp {

namespace {

constexpr size_t most_workspace_symbols = 500;

bool is_import(const Declared& declared) {
  return declared.kind == SymbolKind::File || declared.kind == SymbolKind::Namespace ||
         declared.kind == SymbolKind::Import;
}

Json symbol_json(Context& context, const FileModel& file, const Piece& piece, const Declared& declared) {
  Json made = {{"name", declared.name},
               {"kind", protocol_kind(declared.kind)},
               {"detail", describe(declared.kind)},
               {"range", range_json(context, file, piece.in_document(declared.range))},
               {"selectionRange", range_json(context, file, piece.in_document(declared.name_range))}};
  if (declared.members.empty()) return made;
  Json children = Json::array();
  for (const Declared& member : declared.members) children.push_back(symbol_json(context, file, piece, member));
  made["children"] = std::move(children);
  return made;
}

Json information(Context& context, const FileModel& file, const Piece& piece, const Declared& declared,
                 const std::string& container) {
  Json made = {{"name", declared.name},
               {"kind", protocol_kind(declared.kind)},
               {"location", location_json(context, file, piece.in_document(declared.name_range))}};
  if (!container.empty()) made["containerName"] = container;
  return made;
}

}  // namespace

Json document_symbols(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  Json symbols = Json::array();
  if (!file) return symbols;
  for (const std::shared_ptr<Piece>& piece : file->pieces()) {
    for (const Declared& declared : piece->names.declared) {
      if (is_import(declared)) continue;
      if (context.client.hierarchical_symbols) {
        symbols.push_back(symbol_json(context, *file, *piece, declared));
        continue;
      }
      symbols.push_back(information(context, *file, *piece, declared, ""));
      for (const Declared& member : declared.members) {
        symbols.push_back(information(context, *file, *piece, member, declared.name));
      }
    }
  }
  return symbols;
}

Json workspace_symbols(Context& context, const Json& params) {
  std::string query = text_at(params, "query");
  Json symbols = Json::array();
  for (FileModel* file : context.workspace.all_files()) {
    if (context.is_cancelled()) break;
    for (const std::shared_ptr<Piece>& piece : file->pieces()) {
      for (const Declared& declared : piece->names.declared) {
        if (symbols.size() >= most_workspace_symbols) return symbols;
        if (is_import(declared)) continue;
        if (matches(query, declared.name)) symbols.push_back(information(context, *file, *piece, declared, ""));
        for (const Declared& member : declared.members) {
          if (!matches(query, member.name)) continue;
          symbols.push_back(information(context, *file, *piece, member, declared.name));
        }
      }
    }
  }
  return symbols;
}

}  // namespace tessera::lsp
